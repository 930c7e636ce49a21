package train

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"

	"lorica/draw"
	"lorica/engine"
	"lorica/model"
)

// Two steps of SGD (gathering, noise by identity, clipping, decay, momentum,
// rates from the window) are those of PyTorch's formulas in float64, unrolled
// or one by one, and a step past the end changes nothing.
func TestStepsFollowTheFormulas(t *testing.T) {
	backend := openCPU(t).Backend()
	for _, unroll := range []int{1, 2, 3} {
		for _, nesterov := range []bool{false, true} {
			c := variants()["margin-cs mean-softmax"]
			c.Augment, c.Nesterov, c.Clip, c.WeightDecay, c.Batch, c.Draws, c.Unroll = "none", nesterov, 0.5, 0.01, 4, 2, unroll
			p := newProblem(t, c, 4, mustCost(t, "3->*"), 0.8)
			s := p.fast
			s.examples, s.window = 10, 3
			r := rand.New(rand.NewPCG(9, 9))
			pixels, labels, order := make([]byte, 50), make([]int32, 10), make([]int32, 12)
			for i := range pixels {
				pixels[i] = byte(r.IntN(256))
			}
			for i := range labels {
				labels[i] = int32(r.IntN(4))
			}
			for i := range order {
				order[i] = int32(r.IntN(10))
			}
			rates := []float32{0.5, 1, 0.25, 1, 1, 1}
			const first, seed = 40, 77 // the step of the window's beginning
			key := draw.Key(seed)

			theta, velocity := append([]float64(nil), p.theta...), make([]float64, len(p.theta))
			for step := range 2 {
				slow := &slowBatch{Config: c, net: p.slow.net, costs: p.slow.costs}
				for _, i := range order[step*4 : step*4+4] {
					x := make([]float64, 5)
					for j := range x {
						x[j] = float64(pixels[int(i)*5+j]) / 255
					}
					var noise [][]float64
					for k := range 2 {
						z := make([]float32, 5)
						draw.Noise(z, seed, phaseNoise, int(i), int64((first+step)*2+k))
						d := make([]float64, 5)
						for j := range z {
							d[j] = c.Sigma * float64(z[j])
						}
						noise = append(noise, d)
					}
					slow.x, slow.noise, slow.y = append(slow.x, x), append(slow.noise, noise), append(slow.y, int(labels[i]))
				}
				g := differences(slow.value, theta)
				scale := min(1, c.Clip/math.Sqrt(dot(g, g)))
				for i := range theta {
					d := scale*g[i] + c.WeightDecay*theta[i]
					velocity[i] = c.Momentum*velocity[i] + d
					move := velocity[i]
					if nesterov {
						move = d + c.Momentum*velocity[i]
					}
					theta[i] -= float64(rates[2*step]) * move
				}
			}

			prog, err := compile(backend, "step", s.inputs(), s.graph)
			if err != nil {
				t.Fatal(err)
			}
			values := map[string]*tensors.Tensor{}
			put := func(name string, v any, dims ...int) {
				tensor, err := upload(backend, v, dims...)
				if err != nil {
					t.Fatal(err)
				}
				values[name] = tensor
			}
			n := len(p.theta)
			put("theta", single(p.theta), n)
			put("velocity", make([]float32, n), n)
			put("stats", []float32{0}, 1)
			put("clock", []uint32{clockStep: first, clockBase: first, clockTotal: first + 2, clockBad: never, clockKey0: key[0], clockKey1: key[1]}, clockWords)
			put("tally", make([]float32, tallyWords), tallyWords)
			put("order", order, 12)
			put("rates", rates, 3, 2)
			put("pixels", pixels, 10, 5)
			put("labels", labels, 10)
			for range 3 { // at least one execution too many
				out, err := prog.run(values)
				if err != nil {
					t.Fatal(err)
				}
				for i, name := range outputs {
					values[name] = out[i]
				}
			}
			got := make([]float32, n)
			if err := download(backend, values["theta"], got); err != nil {
				t.Fatal(err)
			}
			for i := range got {
				if math.Abs(float64(got[i])-theta[i]) > 2e-4 {
					t.Fatalf("unroll %d, nesterov %v: weight %d is %g, want %g", unroll, nesterov, i, got[i], theta[i])
				}
			}
			tally, clock := make([]float32, tallyWords), make([]uint32, clockWords)
			if err := download(backend, values["tally"], tally); err != nil {
				t.Fatal(err)
			}
			if err := download(backend, values["clock"], clock); err != nil {
				t.Fatal(err)
			}
			if tally[tallySteps] != 2 || clock[clockStep] != first+2 || clock[clockBad] != never {
				t.Errorf("after 2 steps the tally has %g and the clock is %v", tally[tallySteps], clock)
			}
			prog.close()
		}
	}
}

// The noise that a host makes is that of the graph's identities.
func TestHostNoise(t *testing.T) {
	got, want := make([]float32, 3*50), make([]float32, 50)
	example, index := []uint32{7, 7, 9}, []uint32{1, 2, 2}
	engine.NoiseRows(got, 0.5, 1<<40+3, phaseNoise, example, index)
	for r := range example {
		draw.Noise(want, 1<<40+3, phaseNoise, int(example[r]), int64(index[r]))
		for j, w := range want {
			if math.Abs(float64(got[r*50+j]-0.5*w)) > 1e-5 {
				t.Fatalf("row %d value %d is %g, want %g", r, j, got[r*50+j], 0.5*w)
			}
		}
	}
}

// Crops, mirrors and resized crops are those of plain loops over pixels.
func TestAugment(t *testing.T) {
	backend := openCPU(t).Backend()
	s := model.Shape{C: 2, H: 6, W: 5}
	r := rand.New(rand.NewPCG(1, 2))
	const images, n = 3, 40
	pixels := make([]byte, images*s.Size())
	for i := range pixels {
		pixels[i] = byte(1 + r.IntN(255))
	}
	examples := make([]int32, n)
	words := make([]uint32, 4*n)
	for i := range examples {
		examples[i] = int32(r.IntN(images))
	}
	for i := range words {
		words[i] = r.Uint32()
	}
	at := func(image int32, c, y, x int) float64 {
		if y < 0 || y >= s.H || x < 0 || x >= s.W {
			return 0
		}
		return float64(pixels[int(image)*s.Size()+(c*s.H+y)*s.W+x]) / 255
	}
	want := map[string]func(i, c, y, x int) float64{
		"none": func(i, c, y, x int) float64 { return at(examples[i], c, y, x) },
		"flip": func(i, c, y, x int) float64 { return at(examples[i], c, y, x) },
		"crop": func(i, c, y, x int) float64 {
			return at(examples[i], c, y+int(words[i]%9)-4, x+int(words[n+i]%9)-4)
		},
		"resized": func(i, c, y, x int) float64 {
			unit := func(k int) float64 { return float64(words[k*n+i]>>8) / (1 << 24) }
			side := math.Sqrt(0.35 + 0.65*unit(3))
			place := func(v, k, size int) (int, float64) {
				p := (float64(v)+0.5)*side + unit(k)*float64(size)*(1-side) - 0.5
				p = min(max(p, 0), float64(size-1))
				return int(p), p - math.Floor(p)
			}
			y0, fy := place(y, 0, s.H)
			x0, fx := place(x, 1, s.W)
			y1, x1 := min(y0+1, s.H-1), min(x0+1, s.W-1)
			e := examples[i]
			return (1-fy)*((1-fx)*at(e, c, y0, x0)+fx*at(e, c, y0, x1)) + fy*((1-fx)*at(e, c, y1, x0)+fx*at(e, c, y1, x1))
		},
	}
	for kind, f := range want {
		prog, err := compile(backend, kind, []input{
			{name: "pixels", shape: shapes.Make(dtypes.Uint8, images, s.Size())}, {name: "examples", shape: shapes.Make(dtypes.Int32, n)}, {name: "words", shape: shapes.Make(dtypes.Uint32, 4, n)},
		}, func(in map[string]*Node) []*Node {
			var w [4]*Node
			for i := range w {
				w[i] = Reshape(Slice(in["words"], AxisElem(i), AxisRange()), n)
			}
			return []*Node{augmented(kind, in["pixels"], in["examples"], w, s)}
		})
		if err != nil {
			t.Fatal(err)
		}
		values := map[string]*tensors.Tensor{}
		for name, v := range map[string]any{"pixels": pixels, "examples": examples, "words": words} {
			dims := map[string][]int{"pixels": {images, s.Size()}, "examples": {n}, "words": {4, n}}[name]
			if values[name], err = upload(backend, v, dims...); err != nil {
				t.Fatal(err)
			}
		}
		out, err := prog.run(values)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]float32, n*s.Size())
		if err := download(backend, out[0], got); err != nil {
			t.Fatal(err)
		}
		for j, v := range got {
			i, c, y, x := j/s.Size(), j%s.Size()/(s.H*s.W), j%(s.H*s.W)/s.W, j%s.W
			if kind != "none" && words[2*n+i] >= 1<<31 {
				x = s.W - 1 - x
			}
			if w := f(i, c, y, x); math.Abs(float64(v)-w) > 1e-5 {
				t.Fatalf("%s: image %d channel %d (%d,%d) is %g, want %g", kind, i, c, y, x, v, w)
			}
		}
		prog.close()
	}
}

// The schedules at their corners.
func TestRates(t *testing.T) {
	c := DefaultConfig(Gaussian)
	c.LR, c.Milestones = 1, []int{2, 4}
	check := func(name string, step int, want float64) {
		t.Helper()
		if got := c.rate(step, 10, 100); math.Abs(got-want) > 1e-12 {
			t.Errorf("%s: rate at step %d is %g, want %g", name, step, got, want)
		}
	}
	check("multistep", 0, 1)
	check("multistep", 19, 1)
	check("multistep", 20, 0.1)
	check("multistep", 99, 0.01)
	c.Schedule, c.Warmup = "cosine", 4
	check("cosine", 0, 0.25)
	check("cosine", 50, 0.5)
	check("cosine", 100, 0)
	c.Schedule, c.Warmup = "onecycle", 0
	check("onecycle", 0, 1.0/25)
	check("onecycle", 15, 13.0/25)
	check("onecycle", 30, 1)
	check("onecycle", 65, 0.5)
	c.AttackWarmup = 4
	if a, b := c.ramp(0, 10), c.ramp(39, 10); a != 0.25 || b != 1 {
		t.Errorf("ramp %g and %g", a, b)
	}
}
