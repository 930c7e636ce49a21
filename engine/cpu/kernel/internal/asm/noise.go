package main

// Coefficients of the noise; package kernel's portable version has the same.
var (
	noiseLog = []float64{0.333333313, -0.249999896, 0.200007126, -0.166684926, 0.142497614, -0.124106489, 0.116630226, -0.115748286, 0.071498476}
	noiseSin = []float64{-0.0807455108, 0.00249039428, -3.6574118e-05, 3.09920438e-07}
	noiseCos = []float64{-0.308425128, 0.0158543382, -0.000325961999, 3.54230201e-06}
)

const quarterPi = 0.785398185 // sin(pi/4 z) = z*quarterPi + z*z^2*noiseSin(z^2)

// noise writes func noiseN(dst, seed, phase, example, index, block, groups): one
// group is 16 (8) blocks of four values. The words of a counter stand in
// 64-bit lanes, counters with an even lane number in registers 0-3 and with an
// odd one in 4-7; then pairs are turned into normal values by plain products
// and sums in a fixed order, so that every level gives the same bits.
func noise(v *vec) {
	isa, lanes := "512", 16
	if !v.wide {
		isa, lanes = "256", 8
	}
	v.raw("")
	v.raw("// func noise%s(dst *float32, seed uint64, phase, example, index, block uint32, groups int)", isa)
	v.raw("TEXT ·noise%s(SB), NOSPLIT, $128-40", isa)
	v.op("MOVQ dst+0(FP), DI")
	v.op("MOVL block+28(FP), R8")
	v.op("MOVQ groups+32(FP), CX")
	loop, done := v.fresh(), v.fresh()
	v.op("TESTQ CX, CX")
	v.op("JEQ %s", done)
	v.label(loop)
	// Lane 4j+i computes block (lanes/4)i + j, so that interleaving the four
	// values of a block within 128 bits puts blocks in order.
	v.op("VMOVD R8, X0")
	v.op("VPBROADCASTD X0, %s", v.r(8))
	v.o("VPADDD", "laneOrder"+isa+"<>(SB)", 8, 0)
	v.o("VPSRLQ", "$32", 0, 4)
	for i, name := range []string{"index+24", "example+20", "phase+16"} {
		v.op("MOVL %s(FP), AX", name)
		v.op("VMOVD AX, X%d", 1+i)
		v.op("VPBROADCASTD X%d, %s", 1+i, v.r(1+i))
		v.o("VMOVAPS", 1+i, 5+i)
	}
	v.op("MOVQ seed+8(FP), R9")
	v.op("MOVQ R9, R10")
	v.op("SHRQ $32, R10")
	v.op("VMOVD R9, X10")
	v.op("VMOVD R10, X11")
	v.op("VPBROADCASTD X10, %s", v.r(10))
	v.op("VPBROADCASTD X11, %s", v.r(11))
	v.setBits(0xD2511F53, 8)
	v.setBits(0xCD9E8D57, 9)
	for round := range 10 {
		for h := 0; h < 8; h += 4 {
			// c0..c3 in h..h+3; products in 12, 13; the old c1 and c3 go into the new c0, c2.
			v.o("VPMULUDQ", 8, h, 12)
			v.o("VPMULUDQ", 9, h+2, 13)
			v.o("VPSRLQ", "$32", 13, h)
			v.o("VPSRLQ", "$32", 12, h+2)
			if v.wide {
				v.o("VPTERNLOGD", "$0x96", 10, h+1, h)
				v.o("VPTERNLOGD", "$0x96", 11, h+3, h+2)
			} else {
				v.logic("VPXOR", h+1, h, h)
				v.logic("VPXOR", 10, h, h)
				v.logic("VPXOR", h+3, h+2, h+2)
				v.logic("VPXOR", 11, h+2, h+2)
			}
			v.o("VMOVAPS", 13, h+1)
			v.o("VMOVAPS", 12, h+3)
		}
		if round < 9 {
			v.kbits("VPADDD", 0x9E3779B9, 10, 10)
			v.kbits("VPADDD", 0xBB67AE85, 11, 11)
		}
	}
	// Bring the odd counters' words beside the even ones'.
	if v.wide {
		v.op("MOVL $0xaaaa, AX")
		v.op("KMOVW AX, K1")
	}
	for i := range 4 {
		v.o("VPSLLQ", "$32", 4+i, 4+i)
		if v.wide {
			v.o("VMOVDQA32", 4+i, "K1", i)
		} else {
			v.o("VPBLENDD", "$0xaa", 4+i, i, i)
		}
	}
	if v.wide { // plenty of registers: keep the second pair in 16 and 17
		v.op("VMOVAPS Z2, Z16")
		v.op("VMOVAPS Z3, Z17")
		boxMuller(v)
		v.op("VMOVAPS Z0, Z18")
		v.op("VMOVAPS Z1, Z19")
		v.op("VMOVAPS Z16, Z0")
		v.op("VMOVAPS Z17, Z1")
		boxMuller(v)
		v.op("VMOVAPS Z18, Z2")
		v.op("VMOVAPS Z19, Z3")
	} else {
		v.op("VMOVUPS Y2, tmp-32(SP)")
		v.op("VMOVUPS Y3, tmp-64(SP)")
		boxMuller(v)
		v.op("VMOVUPS Y0, tmp-96(SP)")
		v.op("VMOVUPS Y1, tmp-128(SP)")
		v.op("VMOVUPS tmp-32(SP), Y0")
		v.op("VMOVUPS tmp-64(SP), Y1")
		boxMuller(v)
		v.op("VMOVUPS tmp-96(SP), Y2")
		v.op("VMOVUPS tmp-128(SP), Y3")
	}
	v.o("VUNPCKLPS", 3, 2, 4)
	v.o("VUNPCKHPS", 3, 2, 5)
	v.o("VUNPCKLPS", 1, 0, 6)
	v.o("VUNPCKHPS", 1, 0, 7)
	v.o("VUNPCKLPD", 6, 4, 0)
	v.o("VUNPCKHPD", 6, 4, 1)
	v.o("VUNPCKLPD", 7, 5, 2)
	v.o("VUNPCKHPD", 7, 5, 3)
	for i := range 4 {
		v.o("VMOVUPS", i, "(DI)")
		v.op("ADDQ $%d, DI", 4*lanes)
	}
	v.op("ADDL $%d, R8", lanes)
	v.op("DECQ CX")
	v.op("JNE %s", loop)
	v.label(done)
	v.op("VZEROUPPER")
	v.op("RET")
	v.raw("")
	for j := range lanes / 2 {
		lane := func(l int) int { return lanes/4*(l%4) + l/4 }
		v.raw("DATA laneOrder%s<>+%d(SB)/8, $0x%08x%08x", isa, 8*j, lane(2*j+1), lane(2*j))
	}
	v.raw("GLOBL laneOrder%s<>(SB), RODATA|NOPTR, $%d", isa, 4*lanes)
}

// boxMuller turns words in registers 0 and 1 into normal values in 0 and 1; it
// spoils 2 to 11.
func boxMuller(v *vec) {
	// The angle: 24 bits, to the nearest quarter turn and the rest z in [-1, 1].
	v.o("VPSRLD", "$8", 1, 1)
	v.kbits("VPADDD", 1<<21, 1, 2)
	v.o("VPSRLD", "$22", 2, 2) // quarter turns, 0 to 4
	v.o("VPSLLD", "$22", 2, 3)
	v.o("VPSUBD", 3, 1, 3)
	v.o("VCVTDQ2PS", 3, 3)
	v.k("VMULPS", 1.0/(1<<21), 3, 3)
	v.o("VMULPS", 3, 3, 4) // z^2
	v.hornerPlain(4, 5, noiseSin)
	v.o("VMULPS", 4, 5, 5)
	v.o("VMULPS", 3, 5, 5)
	v.k("VMULPS", quarterPi, 3, 6)
	v.o("VADDPS", 6, 5, 5) // sine of the rest
	v.hornerPlain(4, 6, noiseCos)
	v.o("VMULPS", 4, 6, 6)
	v.k("VADDPS", 1, 6, 6) // its cosine
	// An odd number of quarter turns exchanges the two.
	v.o("VPSLLD", "$31", 2, 7)
	if v.wide {
		v.o("VPMOVD2M", 7, "K2")
		v.o("VBLENDMPS", 5, 6, "K2", 8)
		v.o("VBLENDMPS", 6, 5, "K2", 9)
	} else {
		v.o("VBLENDVPS", 7, 5, 6, 8) // cosine
		v.o("VBLENDVPS", 7, 6, 5, 9) // sine
	}
	// The sine is negative from two quarter turns on, the cosine from one to two.
	v.logicK("VPAND", 2, 2, 7)
	v.o("VPSLLD", "$30", 7, 7)
	v.logic("VPXOR", 7, 9, 9)
	v.kbits("VPADDD", 1, 2, 7)
	v.logicK("VPAND", 2, 7, 7)
	v.o("VPSLLD", "$30", 7, 7)
	v.logic("VPXOR", 7, 8, 8)

	// The radius: u = (a + 1/2) / 2^32. From sqrt(1/2) on, u-1 is formed from the
	// complement of a, exactly where it is small.
	v.logicK("VPXOR", 0xffffffff, 0, 1)
	unsigned(v, 1, 2, 3)
	v.k("VADDPS", 0.5, 2, 2)
	v.k("VMULPS", -1.0/(1<<32), 2, 2) // u - 1
	unsigned(v, 0, 4, 3)
	v.k("VADDPS", 0.5, 4, 4)
	v.kbits("VPSUBD", sqrtHlf, 4, 5)
	v.o("VPSRAD", "$23", 5, 6)
	v.o("VCVTDQ2PS", 6, 6)
	v.k("VADDPS", -32, 6, 6) // exponent
	v.logicK("VPAND", 0x007fffff, 5, 5)
	v.kbits("VPADDD", sqrtHlf, 5, 5)
	v.k("VADDPS", -1, 5, 5)
	v.o("VXORPS", 7, 7, 7)
	v.blendIf(eq, 6, 7, 2, 5) // exponent zero: the exact one
	v.hornerPlain(5, 10, noiseLog)
	v.o("VMULPS", 5, 10, 10)
	v.k("VADDPS", -0.5, 10, 10)
	v.o("VMULPS", 5, 5, 11)
	v.o("VMULPS", 11, 10, 10)
	v.k("VMULPS", ln2Lo, 6, 11)
	v.o("VADDPS", 11, 10, 10)
	v.o("VADDPS", 5, 10, 10)
	v.k("VMULPS", ln2Hi, 6, 11)
	v.o("VADDPS", 11, 10, 10)
	v.k("VMULPS", -2, 10, 10)
	v.o("VSQRTPS", 10, 10)
	v.o("VMULPS", 8, 10, 0)
	v.o("VMULPS", 9, 10, 1)
}

// unsigned converts unsigned words to the nearest floats; it spoils tmp.
func unsigned(v *vec, src, dst, tmp int) {
	if v.wide {
		v.o("VCVTUDQ2PS", src, dst)
		return
	}
	v.o("VPSRLD", "$16", src, dst)
	v.o("VCVTDQ2PS", dst, dst)
	v.k("VMULPS", 65536, dst, dst)
	v.logicK("VPAND", 0xffff, src, tmp)
	v.o("VCVTDQ2PS", tmp, tmp)
	v.o("VADDPS", tmp, dst, dst)
}
