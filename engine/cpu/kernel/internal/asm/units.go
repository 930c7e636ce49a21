package main

// units writes the two kernels that bring operands into packed form.
func units(e *emitter) {
	e.raw("")
	e.raw("// func copyUnits512(dst unsafe.Pointer, dstStep int, src unsafe.Pointer, srcStep, n int, mask uint)")
	e.raw("TEXT ·copyUnits512(SB), NOSPLIT, $0-48")
	e.op("MOVQ dst+0(FP), DI")
	e.op("MOVQ dstStep+8(FP), R8")
	e.op("MOVQ src+16(FP), SI")
	e.op("MOVQ srcStep+24(FP), R9")
	e.op("MOVQ n+32(FP), CX")
	e.op("MOVQ mask+40(FP), AX")
	e.op("KMOVW AX, K1")
	loop := e.fresh()
	e.label(loop)
	e.op("VMOVUPS.Z (SI), K1, Z0")
	e.op("VMOVUPS Z0, (DI)")
	e.op("ADDQ R9, SI")
	e.op("ADDQ R8, DI")
	e.op("DECQ CX")
	e.op("JNE %s", loop)
	e.op("VZEROUPPER")
	e.op("RET")
	transpose(e)
}

func transpose(e *emitter) {
	e.raw("")
	e.raw("// func transposeUnits512(dst unsafe.Pointer, dstStep int, src unsafe.Pointer, srcStep, n, lanes int, mask uint)")
	e.raw("TEXT ·transposeUnits512(SB), NOSPLIT, $0-56")
	e.op("MOVQ dst+0(FP), DI")
	e.op("MOVQ dstStep+8(FP), R8")
	e.op("MOVQ src+16(FP), SI")
	e.op("MOVQ srcStep+24(FP), R9")
	e.op("MOVQ n+32(FP), CX")
	e.op("MOVQ lanes+40(FP), DX")
	e.op("MOVQ mask+48(FP), AX")
	e.op("KMOVW AX, K1")
	e.op("MOVL $0xffff, AX")
	e.op("KMOVW AX, K2")
	block, full, loaded, done := e.fresh(), e.fresh(), e.fresh(), e.fresh()
	e.label(block)
	e.op("CMPQ CX, $16")
	e.op("JGE %s", full)
	e.op("MOVL $1, AX") // fewer than 16 columns left: load no more than them
	e.op("SHLL CX, AX")
	e.op("DECL AX")
	e.op("KMOVW AX, K2")
	e.label(full)
	for l := range 16 {
		e.op("VXORPS Z%d, Z%d, Z%d", l, l, l)
	}
	e.op("MOVQ SI, R10")
	for l := range 16 {
		if l > 0 {
			e.op("CMPQ DX, $%d", l)
			e.op("JLE %s", loaded)
			e.op("ADDQ R9, R10")
		}
		e.op("VMOVUPS.Z (R10), K2, Z%d", l)
	}
	e.label(loaded)
	for g := 0; g < 16; g += 4 { // pairs of rows, then fours: Z16-Z31, then Z0-Z15
		for h := 0; h < 4; h += 2 {
			e.op("VUNPCKLPS Z%d, Z%d, Z%d", g+h+1, g+h, 16+g+h)
			e.op("VUNPCKHPS Z%d, Z%d, Z%d", g+h+1, g+h, 16+g+h+1)
		}
		e.op("VUNPCKLPD Z%d, Z%d, Z%d", 16+g+2, 16+g, g)
		e.op("VUNPCKHPD Z%d, Z%d, Z%d", 16+g+2, 16+g, g+1)
		e.op("VUNPCKLPD Z%d, Z%d, Z%d", 16+g+3, 16+g+1, g+2)
		e.op("VUNPCKHPD Z%d, Z%d, Z%d", 16+g+3, 16+g+1, g+3)
	}
	for j := range 4 { // then the 128-bit parts
		e.op("VSHUFF32X4 $0x88, Z%d, Z%d, Z%d", 4+j, j, 16+j)
		e.op("VSHUFF32X4 $0x88, Z%d, Z%d, Z%d", 12+j, 8+j, 20+j)
		e.op("VSHUFF32X4 $0xdd, Z%d, Z%d, Z%d", 4+j, j, 24+j)
		e.op("VSHUFF32X4 $0xdd, Z%d, Z%d, Z%d", 12+j, 8+j, 28+j)
	}
	for j := range 4 {
		e.op("VSHUFF32X4 $0x88, Z%d, Z%d, Z%d", 20+j, 16+j, j)
		e.op("VSHUFF32X4 $0xdd, Z%d, Z%d, Z%d", 20+j, 16+j, 8+j)
		e.op("VSHUFF32X4 $0x88, Z%d, Z%d, Z%d", 28+j, 24+j, 4+j)
		e.op("VSHUFF32X4 $0xdd, Z%d, Z%d, Z%d", 28+j, 24+j, 12+j)
	}
	for l := range 16 {
		if l > 0 {
			e.op("CMPQ CX, $%d", l)
			e.op("JLE %s", done)
		}
		e.op("VMOVUPS Z%d, K1, (DI)", l)
		e.op("ADDQ R8, DI")
	}
	e.op("ADDQ $64, SI")
	e.op("SUBQ $16, CX")
	e.op("JG %s", block)
	e.label(done)
	e.op("VZEROUPPER")
	e.op("RET")
}
