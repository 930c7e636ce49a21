package main

import "fmt"

// A tile kernel multiplies P rows by V vectors of columns and keeps the P*V
// sums in registers. It walks a list of taps; each tap names where its rows
// begin in the packed left operand and how many steps of the sum it has, and
// the packed right operand is read straight through.
//
// Two orders of the left operand, which is always packed in units of 16
// floats: "point" kernels have a row every 64 bytes and a step every 4 (a row
// is a pixel, a step a channel); "field" kernels have a row every 4 bytes and
// a step every 64 (a row is a channel, a step a pixel).
type tile struct {
	p, v    int
	field   bool
	avx2    bool
	unroll  int
	rowDisp int
	step    int
}

// The argument struct's fields; package kernel's tileArgs has the same order.
const (
	argIn = 8 * iota
	argTaps
	argNTaps
	argW
	argOut
	argStride
	argBias
	argRes
	argMask
	argAcc
	argRelu
)

func (t tile) name() string {
	kind, isa := "Point", "512"
	if t.field {
		kind = "Field"
	}
	if t.avx2 {
		isa = "256"
	}
	return fmt.Sprintf("tile%s%s_%dx%d", kind, isa, t.v, t.p)
}

func (t tile) reg(i int) string {
	if t.avx2 {
		return fmt.Sprintf("Y%d", i)
	}
	return fmt.Sprintf("Z%d", i)
}

// width is the bytes of a vector register.
func (t tile) width() int {
	if t.avx2 {
		return 32
	}
	return 64
}

func (t tile) acc(p, v int) string {
	if t.avx2 {
		return t.reg(4 + p*t.v + v)
	}
	return t.reg(32 - t.p*t.v + p*t.v + v)
}

// step k of the sum, the left operand at AX and the right one at BX.
func (t tile) body(e *emitter, k int) {
	for v := range t.v {
		e.op("VMOVUPS %d(BX), %s", k*t.v*t.width()+v*t.width(), t.reg(v))
	}
	for p := range t.p {
		at := p*t.rowDisp + k*t.step
		if t.v == 1 && !t.avx2 {
			e.op("VFMADD231PS.BCST %d(AX), %s, %s", at, t.reg(0), t.acc(p, 0))
			continue
		}
		b := t.reg(2 + p%2)
		e.op("VBROADCASTSS %d(AX), %s", at, b)
		for v := range t.v {
			e.op("VFMADD231PS %s, %s, %s", t.reg(v), b, t.acc(p, v))
		}
	}
}

// emit writes func name(a *tileArgs).
func (t tile) emit(e *emitter) {
	t.rowDisp, t.step = 64, 4
	if t.field {
		t.rowDisp, t.step = 4, 64
	}
	e.raw("")
	e.raw("// func %s(a *tileArgs)", t.name())
	e.raw("TEXT ·%s(SB), NOSPLIT, $0-8", t.name())
	e.op("MOVQ a+0(FP), DI")
	e.op("MOVQ %d(DI), R8  // out", argOut)
	e.op("MOVQ %d(DI), R9  // bytes between rows of out", argStride)
	t.loadMask(e)
	bias, zero, ready := e.fresh(), e.fresh(), e.fresh()
	e.op("CMPQ %d(DI), $0", argAcc)
	e.op("JEQ %s", bias)
	t.rows(e, "R8", func(p, v int, at string) { t.load(e, at, t.acc(p, v), v) })
	e.op("JMP %s", ready)
	e.label(bias)
	e.op("MOVQ %d(DI), R10", argBias)
	e.op("TESTQ R10, R10")
	e.op("JEQ %s", zero)
	for v := range t.v {
		for p := range t.p {
			if p == 0 {
				e.op("VMOVUPS %d(R10), %s", v*t.width(), t.acc(0, v))
			} else {
				e.op("VMOVAPS %s, %s", t.acc(0, v), t.acc(p, v))
			}
		}
	}
	e.op("JMP %s", ready)
	e.label(zero)
	for p := range t.p {
		for v := range t.v {
			e.op("VXORPS %s, %s, %s", t.acc(p, v), t.acc(p, v), t.acc(p, v))
		}
	}
	e.label(ready)
	e.op("MOVQ %d(DI), SI  // taps", argTaps)
	e.op("MOVQ %d(DI), CX", argNTaps)
	e.op("MOVQ %d(DI), BX  // right operand", argW)
	e.op("MOVQ %d(DI), R11 // left operand", argIn)
	tap, many, few, one, next, done := e.fresh(), e.fresh(), e.fresh(), e.fresh(), e.fresh(), e.fresh()
	e.op("TESTQ CX, CX")
	e.op("JEQ %s", done)
	e.label(tap)
	e.op("MOVQ (SI), AX")
	e.op("ADDQ R11, AX")
	e.op("MOVQ 8(SI), DX")
	e.op("SUBQ $%d, DX", t.unroll)
	e.op("JLT %s", few)
	e.label(many)
	for k := range t.unroll {
		t.body(e, k)
	}
	e.op("ADDQ $%d, AX", t.unroll*t.step)
	e.op("ADDQ $%d, BX", t.unroll*t.v*t.width())
	e.op("SUBQ $%d, DX", t.unroll)
	e.op("JGE %s", many)
	e.label(few)
	e.op("ADDQ $%d, DX", t.unroll)
	e.op("JEQ %s", next)
	e.label(one)
	t.body(e, 0)
	e.op("ADDQ $%d, AX", t.step)
	e.op("ADDQ $%d, BX", t.v*t.width())
	e.op("DECQ DX")
	e.op("JNE %s", one)
	e.label(next)
	e.op("ADDQ $16, SI")
	e.op("DECQ CX")
	e.op("JNE %s", tap)
	e.label(done)
	t.finish(e)
}

// finish adds the residual, applies the rectifier and stores.
func (t tile) finish(e *emitter) {
	relu, store := e.fresh(), e.fresh()
	e.op("MOVQ %d(DI), R10", argRes)
	e.op("TESTQ R10, R10")
	e.op("JEQ %s", relu)
	t.rows(e, "R10", func(p, v int, at string) {
		t.load(e, at, t.reg(v), v)
		e.op("VADDPS %s, %s, %s", t.reg(v), t.acc(p, v), t.acc(p, v))
	})
	e.label(relu)
	e.op("CMPQ %d(DI), $0", argRelu)
	e.op("JEQ %s", store)
	e.op("VXORPS %s, %s, %s", t.reg(0), t.reg(0), t.reg(0))
	for p := range t.p {
		for v := range t.v { // the sum as second source: NaN stays NaN
			e.op("VMAXPS %s, %s, %s", t.acc(p, v), t.reg(0), t.acc(p, v))
		}
	}
	e.label(store)
	t.rows(e, "R8", func(p, v int, at string) { t.store(e, at, t.acc(p, v), v) })
	e.op("VZEROUPPER")
	e.op("RET")
}

// rows calls f with the address of every vector of the tile in the matrix at
// base; it moves base.
func (t tile) rows(e *emitter, base string, f func(p, v int, at string)) {
	for p := range t.p {
		for v := range t.v {
			f(p, v, fmt.Sprintf("%d(%s)", v*t.width(), base))
		}
		if p+1 < t.p {
			e.op("ADDQ R9, %s", base)
		}
	}
	if base == "R8" && t.p > 1 {
		e.op("MOVQ %d(DI), R8", argOut)
	}
}

// Masks: AVX-512 keeps them in K1, K2; AVX2 reads vectors of -1 and 0 at R12.
func (t tile) loadMask(e *emitter) {
	e.op("MOVQ %d(DI), R12 // mask", argMask)
	if t.avx2 {
		return
	}
	e.op("KMOVW R12, K1")
	if t.v == 2 {
		e.op("SHRQ $16, R12")
		e.op("KMOVW R12, K2")
	}
}

func (t tile) load(e *emitter, at, reg string, v int) {
	if t.avx2 {
		e.op("VMOVUPS %d(R12), Y2", v*32)
		e.op("VMASKMOVPS %s, Y2, %s", at, reg)
		return
	}
	e.op("VMOVUPS.Z %s, K%d, %s", at, v+1, reg)
}

func (t tile) store(e *emitter, at, reg string, v int) {
	if t.avx2 {
		e.op("VMOVUPS %d(R12), Y2", v*32)
		e.op("VMASKMOVPS %s, Y2, %s", reg, at)
		return
	}
	e.op("VMOVUPS %s, K%d, %s", reg, v+1, at)
}

// Tile shapes: the largest P of each kind keeps the sums, V right vectors and
// two broadcasts in the register file.
const (
	maxPoint512x1 = 16
	maxPoint512x2 = 14
	maxField512x1 = 16
	maxField512x2 = 14
	max256        = 6
)

func tiles() []tile {
	var ts []tile
	for _, k := range []struct {
		v, p        int
		field, avx2 bool
		unroll      int
	}{
		{1, maxPoint512x1, false, false, 4}, {2, maxPoint512x2, false, false, 4},
		{1, maxField512x1, true, false, 2}, {2, maxField512x2, true, false, 2},
		{2, max256, false, true, 4}, {2, max256, true, true, 2},
	} {
		for p := 1; p <= k.p; p++ {
			ts = append(ts, tile{p: p, v: k.v, field: k.field, avx2: k.avx2, unroll: k.unroll})
		}
	}
	return ts
}
