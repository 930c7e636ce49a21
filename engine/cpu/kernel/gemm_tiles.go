package kernel

import "sync"

// Blocking of the matrix product: a task multiplies a block of rows by a chunk
// of columns, blockK steps of the sum at a time. Its packed left block (about
// 128 KiB) stays in the second-level cache, and a panel of the right operand
// (32 KiB) in the first.
const (
	blockK   = 256
	chunkN   = 512
	sweepN   = 4096 // columns of the right operand packed at a time
	smallMNK = 4096 // products below this are not worth packing
	fewBatch = 4    // from here on a batch is spread whole products at a time
)

// gemmPool keeps packing buffers between calls: it is a cache, it holds no
// state.
var gemmPool sync.Pool

func gemm(p Par, g GemmSpec, ts *tileSet, a, b, c []float32) {
	if g.M == 0 || g.N == 0 {
		return
	}
	one := func(p Par, t int) {
		gemmOne(p, &g, ts, a[min(t*g.StrideA, len(a)):], b[min(t*g.StrideB, len(b)):], c[t*g.StrideC:])
	}
	if g.Batch >= fewBatch {
		p.Run(g.Batch, func(t, _ int) { one(Serial{}, t) })
		return
	}
	for t := range g.Batch {
		one(p, t)
	}
}

// product is one matrix product under way.
type product struct {
	*GemmSpec
	a, b, c  []float32
	am, ak   int // strides of the left operand
	bk, bn   int // and of the right one
	field    bool
	kernels  []func(*tileArgs)
	ts       *tileSet
	cols     int // columns of a tile
	rows     int // rows of a block
	k0, kLen int
	j0, jLen int
	packedB  []float32
}

func gemmOne(p Par, g *GemmSpec, ts *tileSet, a, b, c []float32) {
	q := &product{GemmSpec: g, a: a, b: b, c: c, ts: ts, am: g.LDA, ak: 1, bk: g.LDB, bn: 1}
	if g.TransA {
		q.am, q.ak = 1, g.LDA
	}
	if g.TransB {
		q.bk, q.bn = 1, g.LDB
	}
	if g.M*g.N*g.K < smallMNK {
		q.simple()
		return
	}
	// The left operand is packed the way it lies in memory.
	q.field = q.am == 1 && g.M > 1
	q.cols = unit
	if ts.wide(g.N) {
		q.cols = 2 * unit
	}
	switch {
	case q.field && q.cols == unit:
		q.kernels, q.rows = ts.field, 8*unit
	case q.field:
		q.kernels, q.rows = ts.field2, 8*unit
	case q.cols == unit:
		q.kernels, q.rows = ts.point, 8*len(ts.point)
	default:
		q.kernels, q.rows = ts.point2, 8*len(ts.point2)
	}
	ws := takeWorkspace(&gemmPool, p.Workers())
	for q.j0 = 0; q.j0 < g.N; q.j0 += sweepN {
		q.jLen = min(sweepN, g.N-q.j0)
		for q.k0 = 0; q.k0 < g.K; q.k0 += blockK {
			q.kLen = min(blockK, g.K-q.k0)
			q.sweep(p, ws)
		}
	}
	ws.blank()
	gemmPool.Put(ws)
}

// sweep adds kLen steps of the sum to jLen columns of the product.
func (q *product) sweep(p Par, ws *workspace) {
	panels := (q.jLen + q.cols - 1) / q.cols
	ws.shared = aligned(ws.shared, panels*q.kLen*q.cols)
	q.packedB = ws.shared
	p.Run(panels, func(t, _ int) { q.packPanel(t) })
	chunks := (q.jLen + chunkN - 1) / chunkN
	blocks := (q.M + q.rows - 1) / q.rows
	p.Run(blocks*chunks, func(t, worker int) {
		i0, j0 := t/chunks*q.rows, t%chunks*chunkN
		q.block(ws.workers[worker], i0, min(q.rows, q.M-i0), j0, min(chunkN, q.jLen-j0))
	})
}

// packPanel packs one tile's columns of the right operand, step by step.
func (q *product) packPanel(t int) {
	dst := q.packedB[t*q.kLen*q.cols:][:q.kLen*q.cols]
	j := q.j0 + t*q.cols
	live := min(q.cols, q.N-j)
	for u := 0; u < q.cols; u += unit {
		gather(q.ts, dst[u:], q.cols, q.b[min(q.k0*q.bk+(j+u)*q.bn, len(q.b)):], min(unit, live-u), q.bn, q.kLen, q.bk)
	}
}

// block multiplies m rows from i0 on by n columns from j0 on (counted within
// the sweep).
func (q *product) block(sc *scratch, i0, m, j0, n int) {
	kUnits := (q.kLen + unit - 1) / unit
	a := &sc.args
	*a = tileArgs{stride: 4 * q.LDC}
	if q.Accumulate || q.k0 > 0 {
		a.acc = 1
	}
	var taps [blockK / unit]tap
	var widths []int
	if q.field {
		units := (m + unit - 1) / unit
		sc.pack = aligned(sc.pack, units*q.kLen*unit)
		for u := range units {
			pl := plane{ts: q.ts, src: q.a, lanes: min(unit, m-u*unit), lane: q.am}
			pl.packRun(sc.pack[u*q.kLen*unit:][:q.kLen*unit], i0+u*unit+q.k0*q.ak, q.kLen, q.ak)
		}
		taps[0].n = q.kLen
		a.ntaps = 1
		for u := range units {
			widths = append(widths, split(min(unit, m-u*unit), len(q.kernels))...)
		}
	} else {
		sc.pack = aligned(sc.pack, kUnits*m*unit)
		for u := range kUnits {
			lanes := min(unit, q.kLen-u*unit)
			pl := plane{ts: q.ts, src: q.a, lanes: lanes, lane: q.ak}
			pl.packRun(sc.pack[u*m*unit:][:m*unit], i0*q.am+(q.k0+u*unit)*q.ak, m, q.am)
			taps[u] = tap{4 * u * m * unit, lanes}
		}
		a.ntaps = kUnits
		widths = split(m, len(q.kernels))
	}
	sc.taps = append(sc.taps[:0], taps[:a.ntaps]...)
	a.taps = &sc.taps[0]
	for j := j0; j < j0+n; j += q.cols {
		a.w = at(q.packedB, j/q.cols*q.kLen*q.cols)
		a.mask = q.ts.mask(min(q.cols, q.N-q.j0-j))
		i := 0
		for _, r := range widths {
			in := i * unit
			if q.field {
				in = i/unit*q.kLen*unit + i%unit
			}
			a.in, a.out = at(sc.pack, in), at(q.c, (i0+i)*q.LDC+q.j0+j)
			q.kernels[r-1](a)
			i += r
		}
	}
}

// simple is the definition, k in order.
func (q *product) simple() {
	for i := range q.M {
		row := q.c[i*q.LDC:][:q.N]
		if !q.Accumulate {
			clear(row)
		}
		for k := range q.K {
			x, o := q.a[i*q.am+k*q.ak], k*q.bk
			for j := range row {
				row[j] += x * q.b[o+j*q.bn]
			}
		}
	}
}
