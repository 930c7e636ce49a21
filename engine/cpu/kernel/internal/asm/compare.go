package main

import "fmt"

// comparisons by name; the predicates are ordered except for ne, so that NaN
// compares as false.
var comparisons = []struct{ name, pred string }{{"equal", eq}, {"notEqual", ne}, {"less", lt}, {"lessEqual", le}}

const (
	compareSignature = "dst *bool, a, b *float32, blocks int"
	selectSignature  = "dst *float32, cond *bool, a, b *float32, blocks int"
)

// compare writes a comparison: 16 floats to 16 bytes of 0 or 1.
func compare(v *vec, name, pred string) {
	isa := map[bool]string{true: "512", false: "256"}[v.wide]
	v.raw("")
	v.raw("// func %s%s(%s)", name, isa, compareSignature)
	v.raw("TEXT ·%s%s(SB), NOSPLIT, $0-32", name, isa)
	v.op("MOVQ dst+0(FP), DI")
	v.op("MOVQ a+8(FP), SI")
	v.op("MOVQ b+16(FP), DX")
	v.op("MOVQ blocks+24(FP), CX")
	v.consts[0x01010101] = true
	v.op("VMOVDQU k01010101<>(SB), X8")
	loop := v.fresh()
	v.label(loop)
	if v.wide {
		v.op("VMOVUPS (SI), Z0")
		v.op("VCMPPS %s, (DX), Z0, K1", pred)
		v.op("VMOVDQU8.Z X8, K1, X0")
	} else {
		for h := range 2 {
			v.op("VMOVUPS %d(SI), Y%d", 32*h, h)
			v.op("VCMPPS %s, %d(DX), Y%d, Y%d", pred, 32*h, h, h)
		}
		v.op("VPACKSSDW Y1, Y0, Y0")
		v.op("VPERMQ $0xd8, Y0, Y0")
		v.op("VEXTRACTI128 $1, Y0, X1")
		v.op("VPACKSSWB X1, X0, X0")
		v.op("VPAND X8, X0, X0")
	}
	v.op("VMOVDQU X0, (DI)")
	v.op("ADDQ $64, SI")
	v.op("ADDQ $64, DX")
	v.op("ADDQ $16, DI")
	v.op("DECQ CX")
	v.op("JNE %s", loop)
	v.op("VZEROUPPER")
	v.op("RET")
}

// selection writes dst = cond ? a : b.
func selection(v *vec) {
	isa := map[bool]string{true: "512", false: "256"}[v.wide]
	v.raw("")
	v.raw("// func select%s(%s)", isa, selectSignature)
	v.raw("TEXT ·select%s(SB), NOSPLIT, $0-40", isa)
	v.op("MOVQ dst+0(FP), DI")
	v.op("MOVQ cond+8(FP), R8")
	v.op("MOVQ a+16(FP), SI")
	v.op("MOVQ b+24(FP), DX")
	v.op("MOVQ blocks+32(FP), CX")
	loop := v.fresh()
	v.label(loop)
	if v.wide {
		v.op("VMOVDQU (R8), X0")
		v.op("VPTESTMB X0, X0, K1")
		v.op("VMOVUPS (DX), Z1")
		v.op("VMOVUPS (SI), K1, Z1")
		v.op("VMOVUPS Z1, (DI)")
	} else {
		v.op("VPXOR Y3, Y3, Y3")
		for h := range 2 {
			v.op("VPMOVZXBD %d(R8), Y0", 8*h)
			v.op("VPCMPEQD Y3, Y0, Y0") // where the condition is false
			v.op("VMOVUPS %d(SI), Y1", 32*h)
			v.op("VMOVUPS %d(DX), Y2", 32*h)
			v.op("VBLENDVPS Y0, Y2, Y1, Y1")
			v.op("VMOVUPS Y1, %d(DI)", 32*h)
		}
	}
	v.op("ADDQ $16, R8")
	v.op("ADDQ $64, SI")
	v.op("ADDQ $64, DX")
	v.op("ADDQ $64, DI")
	v.op("DECQ CX")
	v.op("JNE %s", loop)
	v.op("VZEROUPPER")
	v.op("RET")
}

// compareStubs declares them for one width.
func compareStubs(isa string) string {
	stub := ""
	for _, c := range comparisons {
		stub += fmt.Sprintf("\n//go:noescape\nfunc %s%s(%s)\n", c.name, isa, compareSignature)
	}
	return stub + fmt.Sprintf("\n//go:noescape\nfunc select%s(%s)\n", isa, selectSignature)
}

// compareSwitches writes the choice of the level.
func compareSwitches() string {
	text := ""
	for _, c := range comparisons {
		text += levelSwitch(c.name, compareSignature, "dst, a, b, blocks")
	}
	return text + levelSwitch("select", selectSignature, "dst, cond, a, b, blocks")
}

func levelSwitch(name, signature, args string) string {
	return fmt.Sprintf("\nfunc %sBlocks(l Level, %s) bool {\n\tswitch l {\n\tcase AVX512:\n\t\t%s512(%s)\n\tcase AVX2:\n\t\t%s256(%s)\n\tdefault:\n\t\treturn false\n\t}\n\treturn true\n}\n",
		name, signature, name, args, name, args)
}
