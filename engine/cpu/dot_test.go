package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
)

// checkDot compares a random DotGeneral with its definition.
func checkDot(t *testing.T, b backends.Backend, seed uint64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 13))
	batch, contract, left, right := rng.IntN(3), rng.IntN(3), rng.IntN(3), rng.IntN(3)
	shared := make([]int, batch+contract)
	for i := range shared {
		shared[i] = 1 + rng.IntN(7)
	}
	side := func(own int) (dims, batchAxes, contractAxes []int) {
		order := rng.Perm(batch + contract + own)
		dims = make([]int, len(order))
		for i, axis := range order {
			switch {
			case i < batch:
				dims[axis] = shared[i]
				batchAxes = append(batchAxes, axis)
			case i < batch+contract:
				dims[axis] = shared[i]
				contractAxes = append(contractAxes, axis)
			default:
				dims[axis] = 1 + rng.IntN(9)
			}
		}
		return dims, batchAxes, contractAxes
	}
	ld, lb, lc := side(left)
	rd, rb, rc := side(right)
	x, y := random(rng, dtypes.Float64, -5, 5, ld...), random(rng, dtypes.Float64, -5, 5, rd...)
	fx, fy := tensors.MustCopyFlatData[float64](x), tensors.MustCopyFlatData[float64](y)
	xs, ys := denseStrides(ld), denseStrides(rd)
	var want, whole []float64 // of the values, and of their integer parts
	var walk func(level, at, bt int)
	free := [2][]int{otherAxes(len(ld), lb, lc), otherAxes(len(rd), rb, rc)}
	walk = func(level, at, bt int) {
		switch {
		case level < len(lb):
			for i := range ld[lb[level]] {
				walk(level+1, at+i*xs[lb[level]], bt+i*ys[rb[level]])
			}
		case level < len(lb)+left:
			axis := free[0][level-len(lb)]
			for i := range ld[axis] {
				walk(level+1, at+i*xs[axis], bt)
			}
		case level < len(lb)+left+right:
			axis := free[1][level-len(lb)-left]
			for i := range rd[axis] {
				walk(level+1, at, bt+i*ys[axis])
			}
		default:
			sum, ints := 0.0, 0.0
			var contractOver func(k, at, bt int)
			contractOver = func(k, at, bt int) {
				if k == len(lc) {
					sum += fx[at] * fy[bt]
					ints += math.Trunc(fx[at]) * math.Trunc(fy[bt])
					return
				}
				for i := range ld[lc[k]] {
					contractOver(k+1, at+i*xs[lc[k]], bt+i*ys[rc[k]])
				}
			}
			contractOver(0, at, bt)
			want, whole = append(want, sum), append(whole, ints)
		}
	}
	walk(0, 0, 0)
	got := evaluate(t, b, func(in []*Node) []*Node {
		as := func(d dtypes.DType) *Node {
			p := DotGeneral(ConvertDType(in[0], d), lc, lb, ConvertDType(in[1], d), rc, rb)
			return ConvertDType(p, dtypes.Float64)
		}
		return []*Node{as(dtypes.Float64), as(dtypes.Float32), as(dtypes.Int32)}
	}, args(x, y))
	for i, w := range [][]float64{want, want, whole} {
		if err := same(got[i], w, []float64{1e-12, 1e-4, 0}[i]); err != nil {
			t.Errorf("seed %d, output %d: %v (%v batch %v contract %v with %v %v %v)", seed, i, err, ld, lb, lc, rd, rb, rc)
		}
	}
}

func TestDot(t *testing.T) {
	b := newBackend(t, "threads=2")
	for seed := range uint64(80) {
		checkDot(t, b, seed)
	}
	rng := rand.New(rand.NewPCG(1, 14))
	differs(t, b, 1e-4, func(in []*Node) []*Node {
		return []*Node{Dot(in[0], in[1]), Dot(in[0], in[2]), Dot(in[2], in[2])}
	}, random(rng, dtypes.Float32, -1, 1, 67, 129), random(rng, dtypes.Float32, -1, 1, 129, 33), random(rng, dtypes.Float32, -1, 1, 129))
}

func FuzzDot(f *testing.F) {
	b := newBackend(f, "threads=2")
	f.Fuzz(func(t *testing.T, seed uint64) { checkDot(t, b, seed) })
}
