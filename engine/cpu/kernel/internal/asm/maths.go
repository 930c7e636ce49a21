package main

import "math"

// Coefficients are least-squares fits at Chebyshev nodes, rounded to float32.
var (
	// (e^r - 1 - r) / r^2 for |r| <= ln2/2
	expCoef = []float64{0.5, 0.166666672, 0.0416664556, 0.00833329745, 0.0013934545, 0.00019900444}
	// (ln(1+f) - f + f^2/2) / f^3 for sqrt(1/2) <= 1+f <= sqrt(2)
	logCoef = []float64{0.333333313, -0.249999896, 0.200007126, -0.166684926, 0.142497614, -0.124106489, 0.116630226, -0.115748286, 0.071498476}
	// erf(x)/x - 1 as a function of x^2 for |x| <= 1
	erfCoef = []float64{0.128379166, -0.376126379, 0.112837829, -0.0268654376, 0.00522105349, -0.000848439639, 0.000112682537, -9.67359119e-06}
	// -ln(1 - erf(x)) for 1 <= x <= 4
	erfcCoef = []float64{-0.000303212932, 1.13016665, 0.631937087, 0.109978244, -0.0263647176, 0.00474022236, -0.000592769531, 4.55906193e-05, -1.61406149e-06}
)

const (
	ln2Hi   = 0.693359375 // few bits: its product with an exponent is exact
	ln2Lo   = -0.000212194442
	sqrtHlf = 0x3f3504f3 // the bits of sqrt(1/2)
	signBit = 0x80000000
	nanBits = 0x7fc00000
)

// clamp keeps register 0 between lo and hi; NaN passes. It spoils register 3.
func (v *vec) clamp(lo, hi float64) {
	v.set(hi, 3)
	v.o("VMINPS", 0, 3, 0) // the value as second source: NaN stays
	v.set(lo, 3)
	v.o("VMAXPS", 0, 3, 0)
}

// expParts takes x in register 0 and leaves e^r - 1 in 1 and n in 2 (as
// float), with x = n ln2 + r. It spoils 0 and 4.
func (v *vec) expParts() {
	v.k("VMULPS", math.Log2E, 0, 2)
	v.round(2, 2)
	v.k("VFNMADD231PS", ln2Hi, 2, 0)
	v.k("VFNMADD231PS", ln2Lo, 2, 0)
	v.horner(0, 1, expCoef)
	v.o("VMULPS", 0, 0, 4)
	v.o("VFMADD213PS", 0, 4, 1)
}

// exp is e^x of register 0, in 0. It spoils 1 to 6.
func (v *vec) exp() {
	v.clamp(-104, 89)
	v.expParts()
	v.k("VADDPS", 1, 1, 0)
	v.o("VCVTPS2DQ", 2, 5) // 2^n in two factors: one could overflow
	v.o("VPSRAD", "$1", 5, 6)
	v.o("VPSUBD", 6, 5, 5)
	for _, r := range []int{5, 6} {
		v.kbits("VPADDD", 127, r, r)
		v.o("VPSLLD", "$23", r, r)
		v.o("VMULPS", r, 0, 0)
	}
}

// expm1 is e^x - 1 of register 0, in 0. It spoils 1 to 6.
func (v *vec) expm1() {
	v.clamp(-40, 89)
	v.expParts()
	v.o("VCVTPS2DQ", 2, 5)
	v.kbits("VPADDD", 126, 5, 5)
	v.o("VPSLLD", "$23", 5, 5) // 2^(n-1), finite for every n
	v.k("VADDPS", -0.5, 5, 0)
	v.o("VFMADD231PS", 5, 1, 0)
	v.o("VADDPS", 0, 0, 0)
}

// logOf is ln x of register 0, in 0. Where the exponent is zero the reduced
// argument is taken from register f, if f >= 0. It spoils 1 to 8.
func (v *vec) logOf(f int) {
	v.o("VMOVAPS", 0, 7)
	v.o("VXORPS", 8, 8, 8)
	if f < 0 { // subnormals: scale up, and count it
		v.setBits(0x00800000, 1)
		v.k("VMULPS", 1<<23, 0, 2)
		v.set(-23, 3)
		v.blendIf(lt, 7, 1, 2, 0)
		v.blendIf(lt, 7, 1, 3, 8)
	}
	v.kbits("VPSUBD", sqrtHlf, 0, 1)
	v.o("VPSRAD", "$23", 1, 2)
	v.o("VCVTDQ2PS", 2, 2)
	v.o("VADDPS", 8, 2, 2) // exponent
	v.logicK("VPAND", 0x007fffff, 1, 1)
	v.kbits("VPADDD", sqrtHlf, 1, 1)
	v.k("VADDPS", -1, 1, 0)
	if f >= 0 {
		v.o("VXORPS", 3, 3, 3)
		v.blendIf(eq, 2, 3, f, 0)
	}
	v.horner(0, 1, logCoef)
	v.k("VFMADD213PS", -0.5, 0, 1)
	v.o("VMULPS", 0, 0, 4)
	v.k("VMULPS", ln2Lo, 2, 3)
	v.o("VFMADD231PS", 4, 1, 3)
	v.o("VADDPS", 0, 3, 0)
	v.k("VFMADD231PS", ln2Hi, 2, 0)
	v.set(math.Inf(1), 1)
	v.blendIf(nlt, 7, 1, 7, 0) // infinity and NaN
	v.setBits(nanBits, 1)
	v.o("VXORPS", 8, 8, 8)
	v.blendIf(lt, 7, 8, 1, 0)
	v.set(math.Inf(-1), 1)
	v.blendIf(eq, 7, 8, 1, 0)
}

// absSign leaves |x| of register 0 in 0 and its sign in s.
func (v *vec) absSign(s int) {
	v.logicK("VPAND", signBit, 0, s)
	v.logicK("VPAND", ^uint32(signBit), 0, 0)
}

func plain(op string) func(*vec) { return func(v *vec) { v.o(op, 1, 0, 0) } }

// reversed is the operation with its operands exchanged.
func reversed(op string) func(*vec) { return func(v *vec) { v.o(op, 0, 1, 0) } }

// extreme is max or min, NaN where an operand is NaN.
func extreme(op string) func(*vec) {
	return func(v *vec) {
		v.o("VADDPS", 0, 1, 2)
		v.o(op, 1, 0, 3)
		v.blendIf(unord, 0, 1, 2, 3)
		v.o("VMOVAPS", 3, 0)
	}
}

func vecKernels() []vecKernel {
	return []vecKernel{
		{"add", binary, plain("VADDPS")}, {"sub", binary, plain("VSUBPS")}, {"mul", binary, plain("VMULPS")}, {"div", binary, plain("VDIVPS")},
		{"max", binary, extreme("VMAXPS")}, {"min", binary, extreme("VMINPS")},
		{"addScalar", scalarOp, plain("VADDPS")}, {"subScalar", scalarOp, plain("VSUBPS")}, {"scalarSub", scalarOp, reversed("VSUBPS")},
		{"mulScalar", scalarOp, plain("VMULPS")}, {"divScalar", scalarOp, plain("VDIVPS")}, {"scalarDiv", scalarOp, reversed("VDIVPS")},
		{"maxScalar", scalarOp, extreme("VMAXPS")}, {"minScalar", scalarOp, extreme("VMINPS")},
		{"mulAdd", ternary, func(v *vec) { v.o("VFMADD213PS", 2, 1, 0) }},
		{"neg", unary, func(v *vec) { v.logicK("VPXOR", signBit, 0, 0) }},
		{"abs", unary, func(v *vec) { v.logicK("VPAND", ^uint32(signBit), 0, 0) }},
		{"relu", unary, func(v *vec) { v.o("VXORPS", 1, 1, 1); v.o("VMAXPS", 0, 1, 0) }},
		{"sqrt", unary, func(v *vec) { v.o("VSQRTPS", 0, 0) }},
		{"rsqrt", unary, func(v *vec) { v.o("VSQRTPS", 0, 0); v.set(1, 1); v.o("VDIVPS", 0, 1, 0) }},
		{"sign", unary, sign},
		{"floor", unary, func(v *vec) { v.roundTo("$1", 0, 0) }},
		{"ceil", unary, func(v *vec) { v.roundTo("$2", 0, 0) }},
		{"round", unary, func(v *vec) { v.roundTo("$0", 0, 0) }},
		{"exp", unary, (*vec).exp},
		{"expm1", unary, (*vec).expm1},
		{"log", unary, func(v *vec) { v.logOf(-1) }},
		{"log1p", unary, func(v *vec) { v.o("VMOVAPS", 0, 9); v.k("VADDPS", 1, 0, 0); v.logOf(9) }},
		{"tanh", unary, tanh},
		{"logistic", unary, logistic},
		{"erf", unary, erf},
	}
}

func sign(v *vec) {
	v.o("VXORPS", 2, 2, 2)
	v.logicK("VPAND", signBit, 0, 1)
	v.logicK("VPOR", 0x3f800000, 1, 1) // one with the sign of a
	v.o("VMOVAPS", 0, 3)
	v.blendIf(lt, 0, 2, 1, 3)
	v.blendIf(lt, 2, 0, 1, 3)
	v.o("VMOVAPS", 3, 0)
}

func tanh(v *vec) {
	v.absSign(7)
	v.clamp(0, 10)
	v.o("VADDPS", 0, 0, 0)
	v.expm1()
	v.k("VADDPS", 2, 0, 1)
	v.o("VDIVPS", 1, 0, 0)
	v.logic("VPOR", 7, 0, 0)
}

func logistic(v *vec) {
	v.o("VMOVAPS", 0, 8)
	v.logicK("VPOR", signBit, 0, 0)
	v.exp()
	v.set(1, 1)
	v.o("VADDPS", 0, 1, 2)
	v.o("VXORPS", 3, 3, 3)
	v.blendIf(lt, 8, 3, 0, 1)
	v.o("VDIVPS", 2, 1, 0)
}

func erf(v *vec) {
	v.o("VMOVAPS", 0, 8)
	v.absSign(7)
	v.o("VMOVAPS", 0, 9)
	v.o("VMULPS", 0, 0, 1)
	v.horner(1, 10, erfCoef)
	v.o("VFMADD213PS", 8, 8, 10) // |x| <= 1
	v.clamp(0, 4)
	v.horner(0, 1, erfcCoef)
	v.logicK("VPXOR", signBit, 1, 0)
	v.exp()
	v.set(1, 1)
	v.o("VSUBPS", 0, 1, 0)
	v.logic("VPOR", 7, 0, 0)
	v.blendIf(lt, 9, 1, 10, 0)
}
