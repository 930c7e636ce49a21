package main

// sums writes the reductions: 64 partial sums in registers, and rows added up.
func sums(v *vec) {
	isa, w, regs := "512", 64, 4
	if !v.wide {
		isa, w, regs = "256", 32, 8
	}
	v.raw("")
	v.raw("// func sum%s(acc *[64]float32, x *float32, blocks int)", isa)
	v.raw("TEXT ·sum%s(SB), NOSPLIT, $0-24", isa)
	v.op("MOVQ acc+0(FP), DI")
	v.op("MOVQ x+8(FP), SI")
	v.op("MOVQ blocks+16(FP), CX")
	for i := range regs {
		v.op("VMOVUPS %d(DI), %s", i*w, v.r(i))
	}
	loop, done := v.fresh(), v.fresh()
	v.op("TESTQ CX, CX")
	v.op("JEQ %s", done)
	v.label(loop)
	for i := range regs {
		v.op("VADDPS %d(SI), %s, %s", i*w, v.r(i), v.r(i))
	}
	v.op("ADDQ $256, SI")
	v.op("DECQ CX")
	v.op("JNE %s", loop)
	v.label(done)
	for i := range regs {
		v.op("VMOVUPS %s, %d(DI)", v.r(i), i*w)
	}
	v.op("VZEROUPPER")
	v.op("RET")

	// One unit of 16 columns, rows in order: four independent sums, row i in
	// sum i%4, for a number of rows that is a multiple of 4.
	v.raw("")
	v.raw("// func sumRows%s(acc *[64]float32, x *float32, ld, rows int)", isa)
	v.raw("TEXT ·sumRows%s(SB), NOSPLIT, $0-32", isa)
	v.op("MOVQ acc+0(FP), DI")
	v.op("MOVQ x+8(FP), SI")
	v.op("MOVQ ld+16(FP), R8")
	v.op("MOVQ rows+24(FP), CX")
	v.op("SHLQ $2, R8")
	for i := range regs {
		v.op("VMOVUPS %d(DI), %s", i*w, v.r(i))
	}
	loop, done = v.fresh(), v.fresh()
	v.op("SUBQ $4, CX")
	v.op("JLT %s", done)
	v.label(loop)
	for i := range 4 {
		for j := range regs / 4 {
			r := i*(regs/4) + j
			v.op("VADDPS %d(SI), %s, %s", j*w, v.r(r), v.r(r))
		}
		v.op("ADDQ R8, SI")
	}
	v.op("SUBQ $4, CX")
	v.op("JGE %s", loop)
	v.label(done)
	for i := range regs {
		v.op("VMOVUPS %s, %d(DI)", v.r(i), i*w)
	}
	v.op("VZEROUPPER")
	v.op("RET")
}
