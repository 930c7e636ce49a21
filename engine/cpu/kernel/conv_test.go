package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
)

// levels are those that this processor can run.
func levels() []Level {
	var ls []Level
	for l := Portable; l <= best; l++ {
		ls = append(ls, l)
	}
	return ls
}

// team is a Par of n goroutines, with tasks handed out in a scrambled order.
type team int

func (t team) Workers() int { return int(t) }

func (t team) Run(n int, f func(task, worker int)) {
	tasks := make(chan int, n)
	for _, i := range rand.Perm(n) {
		tasks <- i
	}
	close(tasks)
	var wg sync.WaitGroup
	for w := range int(t) {
		wg.Go(func() {
			for i := range tasks {
				f(i, w)
			}
		})
	}
	wg.Wait()
}

func randomSlice(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// order returns the strides of a dense tensor of size (n, c, h, w) whose axes
// are permuted by perm, outermost first.
func order(perm []int, size [4]int) Layout {
	var st [4]int
	step := 1
	for i := 3; i >= 0; i-- {
		st[perm[i]] = step
		step *= size[perm[i]]
	}
	return Layout{st[0], st[1], st[2], st[3]}
}

// randomConv draws a convolution: any size, stride, padding, dilation, group
// and axis order.
func randomConv(r *rand.Rand) ConvSpec {
	pick := func(v ...int) int { return v[r.IntN(len(v))] }
	s := ConvSpec{Groups: 1, BatchGroups: 1}
	icg, ocg := pick(1, 2, 3, 5, 15, 16, 17, 20, 32, 33), pick(1, 2, 3, 10, 16, 17, 31, 32, 33, 50)
	s.Batch = pick(1, 1, 2, 3)
	switch r.IntN(5) {
	case 0:
		s.Groups = pick(2, 3)
	case 1:
		s.BatchGroups = pick(2, 3)
		s.Batch *= s.BatchGroups
	}
	s.InChannels, s.OutChannels = icg*s.Groups, ocg*s.Groups*s.BatchGroups
	for d := range 2 {
		s.InSize[d] = 1 + r.IntN(18)
		s.KernelSize[d] = pick(1, 1, 2, 3, 3, 3, 5, 7, s.InSize[d])
		s.Stride[d] = pick(1, 1, 1, 2, 3)
		s.InDilation[d] = pick(1, 1, 1, 2, 3)
		s.KernelDilation[d] = pick(1, 1, 1, 2)
		s.PadLow[d] = r.IntN(4) - 1
		s.PadHigh[d] = r.IntN(4) - 1
		s.ReverseKernel[d] = r.IntN(3) == 0
	}
	nhwc, nchw := []int{0, 2, 3, 1}, []int{0, 1, 2, 3}
	axes := func() []int {
		switch r.IntN(3) {
		case 0:
			return nhwc
		case 1:
			return nchw
		}
		return r.Perm(4)
	}
	h, w := s.OutSize()
	s.In = order(axes(), [4]int{s.Batch, s.InChannels, s.InSize[0], s.InSize[1]})
	s.Kernel = order(axes(), [4]int{s.OutChannels, s.InChannels / s.Groups, s.KernelSize[0], s.KernelSize[1]})
	s.Out = order(axes(), [4]int{s.Batch / s.BatchGroups, s.OutChannels, h, w})
	return s
}

// checkConv runs s at every level, on one worker and on three, against the
// definition; the vector levels must agree bit for bit.
func checkConv(t *testing.T, r *rand.Rand, s ConvSpec, ep Epilogue) {
	t.Helper()
	seed := r.Uint64()
	var first []float32
	for _, l := range levels() {
		got := checkConvAt(t, rand.New(rand.NewPCG(seed, 0)), s, l, ep)
		if l == AVX2 {
			first = got
		}
		for i := range first {
			if math.Float32bits(got[i]) != math.Float32bits(first[i]) {
				t.Fatalf("%+v: output %d is %v at %v and %v at %v", s, i, first[i], AVX2, got[i], l)
			}
		}
	}
}

func checkConvAt(t *testing.T, r *rand.Rand, s ConvSpec, level Level, ep Epilogue) []float32 {
	t.Helper()
	c, err := planConv(s, level)
	if err != nil {
		t.Fatal(err)
	}
	h, w := c.OutSize()
	in := randomSlice(r, s.Batch*s.InChannels*s.InSize[0]*s.InSize[1])
	kern := randomSlice(r, s.OutChannels*s.InChannels/max(s.Groups, 1)*s.KernelSize[0]*s.KernelSize[1])
	n := s.Batch / max(s.BatchGroups, 1) * s.OutChannels * h * w
	if ep.Residual != nil {
		ep.Residual = randomSlice(r, n)
	}
	if ep.Bias != nil {
		ep.Bias = randomSlice(r, s.OutChannels)
	}
	if ep.Scale != nil {
		ep.Scale = randomSlice(r, s.OutChannels)
	}
	want, got, again := make([]float32, n), randomSlice(r, n), randomSlice(r, n)
	c.runSimple(Serial{}, in, kern, want, ep)
	c.Run(Serial{}, in, kern, got, ep)
	c.RunPacked(team(3), in, c.Pack(team(2), kern), again, ep)
	terms := float64(s.InChannels / max(s.Groups, 1) * s.KernelSize[0] * s.KernelSize[1])
	for i := range want {
		if d := math.Abs(float64(got[i] - want[i])); !(d <= 4e-6*math.Sqrt(terms)*math.Log2(terms+2)*2) {
			t.Fatalf("%v %+v (epilogue bias %v residual %v relu %v): output %d is %v, want %v",
				level, s, ep.Bias != nil, ep.Residual != nil, ep.ReLU, i, got[i], want[i])
		}
		if math.Float32bits(got[i]) != math.Float32bits(again[i]) {
			t.Fatalf("%v %+v: output %d is %v with one worker and %v with three", level, s, i, got[i], again[i])
		}
	}
	return got
}

func randomEpilogue(r *rand.Rand) Epilogue {
	var ep Epilogue
	if r.IntN(2) == 0 {
		ep.Bias = []float32{}
	}
	if r.IntN(3) == 0 {
		ep.Residual = []float32{}
	}
	if r.IntN(4) == 0 {
		ep.Scale = []float32{}
	}
	ep.ReLU = r.IntN(2) == 0
	return ep
}

func TestConvRandomShapes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		s := randomConv(r)
		ep := randomEpilogue(r)
		checkConv(t, r, s, ep)
	}
}

// The convolutions of a residual network, and their two gradients as GoMLX's
// automatic differentiation writes them.
func TestConvResNetShapes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for i, nhwc := range []bool{true, false} {
		for j, k := range resnetConvs(1+i, 16, nhwc) {
			if j%2 == i { // every shape in one layout or the other
				continue
			}
			for _, s := range []ConvSpec{k, inputGradient(k), kernelGradient(k)} {
				checkConv(t, r, s, Epilogue{})
			}
		}
	}
}

// resnetConvs are the distinct convolutions of ResNet-20 on size x size images.
func resnetConvs(batch, size int, nhwc bool) []ConvSpec {
	var out []ConvSpec
	for _, k := range [][5]int{{3, 16, 1, 3, 1}, {16, 16, 1, 3, 1}, {16, 32, 1, 3, 2}, {16, 32, 1, 1, 2},
		{32, 32, 2, 3, 1}, {32, 64, 2, 3, 2}, {64, 64, 4, 3, 1}} {
		ic, oc, n, window, stride := k[0], k[1], size/k[2], k[3], k[4]
		s := ConvSpec{Batch: batch, InChannels: ic, OutChannels: oc, InSize: [2]int{n, n}, KernelSize: [2]int{window, window},
			Stride: [2]int{stride, stride}, PadLow: [2]int{window / 2, window / 2}, PadHigh: [2]int{window / 2, window / 2}}
		h, w := s.OutSize()
		if nhwc {
			s.In, s.Out = NHWC(ic, n, n), NHWC(oc, h, w)
			s.Kernel = order([]int{2, 3, 1, 0}, [4]int{oc, ic, window, window}) // rows, columns, in, out
		} else {
			s.In, s.Out, s.Kernel = NCHW(ic, n, n), NCHW(oc, h, w), NCHW(ic, window, window)
		}
		out = append(out, s)
	}
	return out
}

// inputGradient is the convolution that gives the gradient of k's input.
func inputGradient(k ConvSpec) ConvSpec {
	k = k.normal()
	h, w := k.OutSize()
	s := ConvSpec{Batch: k.Batch, InChannels: k.OutChannels, OutChannels: k.InChannels, InSize: [2]int{h, w}, KernelSize: k.KernelSize,
		InDilation: k.Stride, KernelDilation: k.KernelDilation, ReverseKernel: [2]bool{true, true}, In: k.Out, Out: k.In,
		Kernel: Layout{N: k.Kernel.C, C: k.Kernel.N, H: k.Kernel.H, W: k.Kernel.W}}
	for d, o := range []int{h, w} {
		window := (k.KernelSize[d]-1)*k.KernelDilation[d] + 1
		s.PadLow[d] = window - 1 - k.PadLow[d]
		s.PadHigh[d] = k.InSize[d] + window - 1 - s.PadLow[d] - ((o-1)*k.Stride[d] + 1)
	}
	return s
}

// kernelGradient is the convolution that gives the gradient of k's kernel.
func kernelGradient(k ConvSpec) ConvSpec {
	k = k.normal()
	h, w := k.OutSize()
	s := ConvSpec{Batch: k.InChannels, InChannels: k.Batch, OutChannels: k.OutChannels, InSize: k.InSize, KernelSize: [2]int{h, w},
		Stride: k.KernelDilation, KernelDilation: k.Stride, PadLow: k.PadLow,
		In:     Layout{N: k.In.C, C: k.In.N, H: k.In.H, W: k.In.W},
		Kernel: Layout{N: k.Out.C, C: k.Out.N, H: k.Out.H, W: k.Out.W},
		Out:    Layout{N: k.Kernel.C, C: k.Kernel.N, H: k.Kernel.H, W: k.Kernel.W}}
	for d, o := range []int{h, w} {
		s.PadHigh[d] = (k.KernelSize[d]-1)*k.KernelDilation[d] + (o-1)*k.Stride[d] + 1 - k.InSize[d] - k.PadLow[d]
	}
	return s
}

// The gradients above are the transposes of the convolution: <conv(x,w), v> is
// bilinear, so it equals <x, dx> and <w, dw>.
func TestGradientShapesAreAdjoint(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	dot := func(a, b []float32) (s float64) {
		for i := range a {
			s += float64(a[i]) * float64(b[i])
		}
		return s
	}
	run := func(s ConvSpec, in, kern []float32) []float32 {
		c, err := PlanConv(s)
		if err != nil {
			t.Fatal(err)
		}
		h, w := c.OutSize()
		out := make([]float32, s.Batch*s.OutChannels*h*w)
		c.Run(Serial{}, in, kern, out, Epilogue{})
		return out
	}
	for _, k := range resnetConvs(1, 32, true) {
		x := randomSlice(r, k.Batch*k.InChannels*k.InSize[0]*k.InSize[1])
		w := randomSlice(r, k.InChannels*k.OutChannels*k.KernelSize[0]*k.KernelSize[1])
		y := run(k, x, w)
		v := randomSlice(r, len(y))
		want := dot(y, v)
		for name, got := range map[string]float64{"input": dot(run(inputGradient(k), v, w), x), "kernel": dot(run(kernelGradient(k), x, v), w)} {
			if math.Abs(got-want) > 1e-4*math.Sqrt(float64(len(y)*k.InChannels*9)) {
				t.Errorf("%s gradient of %+v: %v, want %v", name, k, got, want)
			}
		}
	}
}

// largeConvs are convolutions of ImageNet-style networks, for benchmarks.
func largeConvs() []ConvSpec {
	var out []ConvSpec
	for _, k := range [][5]int{{3, 64, 224, 7, 2}, {64, 64, 56, 3, 1}, {128, 128, 28, 3, 1}, {256, 256, 14, 3, 1}, {512, 512, 7, 3, 1},
		{256, 64, 56, 1, 1}, {512, 2048, 7, 1, 1}, {512, 512, 2, 3, 1}} {
		s := ConvSpec{Batch: 2, InChannels: k[0], OutChannels: k[1], InSize: [2]int{k[2], k[2]}, KernelSize: [2]int{k[3], k[3]},
			Stride: [2]int{k[4], k[4]}, PadLow: [2]int{k[3] / 2, k[3] / 2}, PadHigh: [2]int{k[3] / 2, k[3] / 2}}
		h, w := s.OutSize()
		s.In, s.Out, s.Kernel = NHWC(k[0], k[2], k[2]), NHWC(k[1], h, w), order([]int{2, 3, 1, 0}, [4]int{k[1], k[0], k[3], k[3]})
		out = append(out, s)
	}
	return out
}

func BenchmarkConv(b *testing.B) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, k := range append(resnetConvs(8, 32, true), largeConvs()...) {
		h, w := k.OutSize()
		flop := 2 * float64(k.Batch*h*w*k.OutChannels*k.InChannels*k.KernelSize[0]*k.KernelSize[1])
		for _, g := range []struct {
			name string
			s    ConvSpec
		}{{"forward", k}, {"input", inputGradient(k)}, {"kernel", kernelGradient(k)}} {
			b.Run(fmt.Sprintf("%s/%d-%d_%d_%dx%d", g.name, k.InChannels, k.OutChannels, k.InSize[0], k.KernelSize[0], k.KernelSize[0]), func(b *testing.B) {
				c, err := PlanConv(g.s)
				if err != nil {
					b.Fatal(err)
				}
				h, w := c.OutSize()
				in := randomSlice(r, g.s.Batch*g.s.InChannels*g.s.InSize[0]*g.s.InSize[1])
				kern := randomSlice(r, g.s.OutChannels*g.s.InChannels*g.s.KernelSize[0]*g.s.KernelSize[1])
				out := make([]float32, g.s.Batch*g.s.OutChannels*h*w)
				rate(b, flop, "GFLOP/s", func() { c.Run(Serial{}, in, kern, out, Epilogue{}) })
			})
		}
	}
}

// FuzzConv computes convolutions of shapes that the fuzzer finds.
func FuzzConv(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, a, b uint64) {
		r := rand.New(rand.NewPCG(a, b))
		checkConv(t, r, randomConv(r), randomEpilogue(r))
	})
}
