package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// vec writes one kernel for one width: registers are numbered 0 to 15, of 512
// or of 256 bits. Register 15 is scratch for masks. Operands follow Intel's
// order with the destination last, as in Go's assembler.
type vec struct {
	*emitter
	wide   bool
	consts map[uint32]bool
}

func (v *vec) r(i int) string {
	if v.wide {
		return fmt.Sprintf("Z%d", i)
	}
	return fmt.Sprintf("Y%d", i)
}

// o writes an instruction; ints are registers, strings are taken as they are.
func (v *vec) o(op string, args ...any) {
	parts := make([]string, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case int:
			parts[i] = v.r(a)
		case string:
			parts[i] = a
		}
	}
	v.op("%s %s", op, strings.Join(parts, ", "))
}

func (v *vec) ref(bits uint32) string {
	v.consts[bits] = true
	return fmt.Sprintf("k%08x<>(SB)", bits)
}

// k writes an instruction whose first operand is the constant bits.
func (v *vec) kbits(op string, bits uint32, args ...any) {
	if v.wide {
		op += ".BCST"
	}
	v.o(op, append([]any{v.ref(bits)}, args...)...)
}

func (v *vec) k(op string, c float64, args ...any) {
	v.kbits(op, math.Float32bits(float32(c)), args...)
}

// set loads a constant into a register.
func (v *vec) set(c float64, dst int) { v.setBits(math.Float32bits(float32(c)), dst) }

func (v *vec) setBits(bits uint32, dst int) { v.o("VBROADCASTSS", v.ref(bits), dst) }

// logic writes a bitwise instruction on integers: VPAND, VPOR, VPXOR, VPANDN.
func (v *vec) logic(op string, args ...any) {
	if v.wide {
		op += "D"
	}
	v.o(op, args...)
}

func (v *vec) logicK(op string, bits uint32, args ...any) {
	if v.wide {
		op += "D"
	}
	v.kbits(op, bits, args...)
}

func (v *vec) round(src, dst int) { v.roundTo("$0", src, dst) }

// roundTo rounds to whole numbers: nearest even, down or up.
func (v *vec) roundTo(mode string, src, dst int) {
	if v.wide {
		v.o("VRNDSCALEPS", mode, src, dst)
	} else {
		v.o("VROUNDPS", mode, src, dst)
	}
}

// Comparison predicates.
const (
	eq    = "$0"
	lt    = "$1"
	le    = "$2"
	unord = "$3"
	ne    = "$4"
	nlt   = "$5"
)

// blendIf is dst = src where a pred b.
func (v *vec) blendIf(pred string, a, b, src, dst int) {
	if v.wide {
		v.o("VCMPPS", pred, b, a, "K1")
		v.o("VMOVAPS", src, "K1", dst)
	} else {
		v.o("VCMPPS", pred, b, a, 15)
		v.o("VBLENDVPS", 15, src, dst, dst)
	}
}

// horner is dst = polynomial of x with these coefficients, lowest first, with
// fused multiply-adds.
func (v *vec) horner(x, dst int, coef []float64) {
	v.set(coef[len(coef)-1], dst)
	for _, c := range slices.Backward(coef[:len(coef)-1]) {
		v.k("VFMADD213PS", c, x, dst)
	}
}

// hornerPlain is the same with every product rounded.
func (v *vec) hornerPlain(x, dst int, coef []float64) {
	v.set(coef[len(coef)-1], dst)
	for _, c := range slices.Backward(coef[:len(coef)-1]) {
		v.o("VMULPS", x, dst, dst)
		v.k("VADDPS", c, dst, dst)
	}
}

// constants writes the tables that the kernels refer to.
func constants(e *emitter, used map[uint32]bool) {
	keys := make([]uint32, 0, len(used))
	for k := range used {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	e.raw("")
	for _, k := range keys {
		for i := range 4 {
			e.raw("DATA k%08x<>+%d(SB)/8, $0x%08x%08x", k, 8*i, k, k)
		}
		e.raw("GLOBL k%08x<>(SB), RODATA|NOPTR, $32", k)
	}
}

// kernelKind is the shape of a kernel's arguments.
type kernelKind int

const (
	unary    kernelKind = iota // (dst, a, blocks)
	binary                     // (dst, a, b, blocks)
	scalarOp                   // (dst, a, s, blocks): s is broadcast to register 1
	ternary                    // (dst, a, b, c, blocks)
)

type vecKernel struct {
	name string
	kind kernelKind
	body func(v *vec) // operands in registers 0, 1, 2; result in 0
}

func (k vecKernel) signature() string {
	return [...]string{"dst, a *float32, blocks int", "dst, a, b *float32, blocks int",
		"dst, a *float32, s float32, blocks int", "dst, a, b, c *float32, blocks int"}[k.kind]
}

// emit writes the loop: one block is 16 floats.
func (k vecKernel) emit(v *vec) {
	isa, size, step := "512", map[kernelKind]int{unary: 24, binary: 32, scalarOp: 32, ternary: 40}[k.kind], 64
	if !v.wide {
		isa, step = "256", 32
	}
	v.raw("")
	v.raw("// func %s%s(%s)", k.name, isa, k.signature())
	v.raw("TEXT ·%s%s(SB), NOSPLIT, $0-%d", k.name, isa, size)
	v.op("MOVQ dst+0(FP), DI")
	v.op("MOVQ a+8(FP), SI")
	switch k.kind {
	case binary:
		v.op("MOVQ b+16(FP), DX")
	case scalarOp:
		v.op("VBROADCASTSS s+16(FP), %s", v.r(14))
	case ternary:
		v.op("MOVQ b+16(FP), DX")
		v.op("MOVQ c+24(FP), R8")
	}
	v.op("MOVQ blocks+%d(FP), CX", size-8)
	if !v.wide {
		v.op("ADDQ CX, CX")
	}
	loop, done := v.fresh(), v.fresh()
	v.op("TESTQ CX, CX")
	v.op("JEQ %s", done)
	v.label(loop)
	v.o("VMOVUPS", "(SI)", 0)
	v.op("ADDQ $%d, SI", step)
	if k.kind == scalarOp {
		v.o("VMOVAPS", 14, 1)
	}
	if k.kind == binary || k.kind == ternary {
		v.o("VMOVUPS", "(DX)", 1)
		v.op("ADDQ $%d, DX", step)
	}
	if k.kind == ternary {
		v.o("VMOVUPS", "(R8)", 2)
		v.op("ADDQ $%d, R8", step)
	}
	k.body(v)
	v.o("VMOVUPS", 0, "(DI)")
	v.op("ADDQ $%d, DI", step)
	v.op("DECQ CX")
	v.op("JNE %s", loop)
	v.label(done)
	v.op("VZEROUPPER")
	v.op("RET")
}
