package cpu

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"
)

// convCase is a random convolution that is well formed.
type convCase struct {
	axes                  backends.ConvolveAxesConfig
	in, ker               []int
	strides, inDil, kDil  []int
	pads                  [][2]int
	groups, batchGroups   int
	reverse, relu, addend bool
}

// randomConv draws a convolution with any order of axes.
func randomConv(rng *rand.Rand, rank int) convCase {
	c := convCase{groups: 1, batchGroups: 1}
	if rng.IntN(4) == 0 {
		c.groups = 1 + rng.IntN(3)
	} else if rng.IntN(4) == 0 {
		c.batchGroups = 1 + rng.IntN(3)
	}
	perm := func() []int { return rng.Perm(rank + 2) }
	i, k, o := perm(), perm(), perm()
	c.axes = backends.ConvolveAxesConfig{
		InputBatch: i[0], InputChannels: i[1], InputSpatial: i[2:],
		KernelInputChannels: k[0], KernelOutputChannels: k[1], KernelSpatial: k[2:],
		OutputBatch: o[0], OutputChannels: o[1], OutputSpatial: o[2:],
	}
	c.in, c.ker = make([]int, rank+2), make([]int, rank+2)
	perGroup := 1 + rng.IntN(9)
	c.in[i[0]] = (1 + rng.IntN(3)) * c.batchGroups
	c.in[i[1]] = perGroup * c.groups
	c.ker[k[0]] = perGroup
	c.ker[k[1]] = (1 + rng.IntN(12)) * c.groups * c.batchGroups
	for d := range rank {
		c.in[i[2+d]] = 1 + rng.IntN(15-3*rank)
		c.ker[k[2+d]] = 1 + rng.IntN(4)
		c.strides = append(c.strides, 1+rng.IntN(2))
		c.inDil = append(c.inDil, 1+rng.IntN(2))
		c.kDil = append(c.kDil, 1+rng.IntN(2))
		window := (c.ker[k[2+d]]-1)*c.kDil[d] + 1
		low := rng.IntN(4) - 1
		high := rng.IntN(4) - 1
		if size := (c.in[i[2+d]]-1)*c.inDil[d] + 1 + low + high; size < window {
			high += window - size
		}
		c.pads = append(c.pads, [2]int{low, high})
	}
	c.reverse, c.relu, c.addend = rng.IntN(2) == 0, rng.IntN(2) == 0, rng.IntN(2) == 0
	return c
}

// graph builds the convolution with what the passes draw into it.
func (c convCase) graph(in []*Node) []*Node {
	x, k := in[0], in[1]
	if c.reverse {
		k = Reverse(k, c.axes.KernelSpatial...)
	}
	y := ConvGeneral(x, k, c.axes, c.strides, c.pads, c.inDil, c.kDil, c.groups, c.batchGroups)
	if c.addend {
		dims := slices.Repeat([]int{1}, y.Rank())
		dims[c.axes.OutputChannels] = y.Shape().Dimensions[c.axes.OutputChannels]
		bias := Iota(x.Graph(), shapes.Make(x.DType(), dims...), c.axes.OutputChannels)
		y = Add(Add(y, bias), IotaFull(x.Graph(), y.Shape()))
	}
	if c.relu {
		y = Max(y, ScalarZero(x.Graph(), x.DType()))
	}
	return []*Node{y}
}

// naive computes the convolution from its definition, in float64.
func (c convCase) naive(x, k *tensors.Tensor) []float64 {
	xs, ks := denseStrides(c.in), denseStrides(c.ker)
	rank := len(c.strides)
	out := make([]int, rank+2)
	out[c.axes.OutputBatch] = c.in[c.axes.InputBatch] / c.batchGroups
	outChannels := c.ker[c.axes.KernelOutputChannels]
	out[c.axes.OutputChannels] = outChannels
	for d := range rank {
		size := (c.in[c.axes.InputSpatial[d]]-1)*c.inDil[d] + 1 + c.pads[d][0] + c.pads[d][1]
		window := (c.ker[c.axes.KernelSpatial[d]]-1)*c.kDil[d] + 1
		out[c.axes.OutputSpatial[d]] = (size-window)/c.strides[d] + 1
	}
	os := denseStrides(out)
	total := os[0] * out[0]
	result := make([]float64, total)
	fx, fk := tensors.MustCopyFlatData[float64](x), tensors.MustCopyFlatData[float64](k)
	for i := range result {
		b, o := i/os[c.axes.OutputBatch]%out[c.axes.OutputBatch], i/os[c.axes.OutputChannels]%outChannels
		b += o / (outChannels / c.batchGroups) * out[c.axes.OutputBatch]
		channels := c.ker[c.axes.KernelInputChannels]
		first := o / (outChannels / c.groups) * channels
		for ch := range channels {
			at := b*xs[c.axes.InputBatch] + (first+ch)*xs[c.axes.InputChannels]
			kat := o*ks[c.axes.KernelOutputChannels] + ch*ks[c.axes.KernelInputChannels]
			var walk func(d, at, kat int)
			walk = func(d, at, kat int) {
				if d == rank {
					result[i] += fx[at] * fk[kat]
					return
				}
				y := i / os[c.axes.OutputSpatial[d]] % out[c.axes.OutputSpatial[d]]
				size := c.ker[c.axes.KernelSpatial[d]]
				for w := range size {
					pos := y*c.strides[d] + w*c.kDil[d] - c.pads[d][0]
					if pos < 0 || pos%c.inDil[d] != 0 || pos/c.inDil[d] >= c.in[c.axes.InputSpatial[d]] {
						continue
					}
					tap := w
					if c.reverse {
						tap = size - 1 - w
					}
					walk(d+1, at+pos/c.inDil[d]*xs[c.axes.InputSpatial[d]], kat+tap*ks[c.axes.KernelSpatial[d]])
				}
			}
			walk(0, at, kat)
		}
		if c.addend {
			result[i] += float64(o + i)
		}
		if c.relu {
			result[i] = max(result[i], 0)
		}
	}
	return result
}

// checkConv runs a random convolution in float32 and in float64.
func checkConv(t *testing.T, b backends.Backend, seed uint64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 12))
	c := randomConv(rng, 1+rng.IntN(3))
	x, k := random(rng, dtypes.Float64, -1, 1, c.in...), random(rng, dtypes.Float64, -1, 1, c.ker...)
	want := c.naive(x, k)
	got := evaluate(t, b, func(in []*Node) []*Node {
		half := c.graph([]*Node{ConvertDType(in[0], dtypes.Float32), ConvertDType(in[1], dtypes.Float32)})
		return append(c.graph(in), ConvertDType(half[0], dtypes.Float64))
	}, args(x, k))
	if err := same(got[0], want, 1e-12); err != nil {
		t.Errorf("seed %d, float64: %v\n%+v", seed, err, c)
	}
	if err := same(got[1], want, 1e-4); err != nil {
		t.Errorf("seed %d, float32: %v\n%+v", seed, err, c)
	}
}

func TestConv(t *testing.T) {
	b := newBackend(t, "threads=2")
	for seed := range uint64(60) {
		checkConv(t, b, seed)
	}
}

func FuzzConv(f *testing.F) {
	b := newBackend(f, "threads=2")
	f.Fuzz(func(t *testing.T, seed uint64) { checkConv(t, b, seed) })
}
