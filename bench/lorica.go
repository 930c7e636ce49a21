package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"lorica/engine/cpu"
	"lorica/model"
)

func (c *config) backend() (backends.Backend, error) {
	return cpu.New(fmt.Sprintf("threads=%d", c.threads))
}

// images are random, in [0,1], and the same for all sides.
func (c *config) images(s model.Shape) []float32 {
	r := rand.New(rand.NewPCG(1, 2))
	x := make([]float32, c.batch*s.Size())
	for i := range x {
		x[i] = r.Float32()
	}
	return x
}

// forward races forward passes of one ONNX file.
func (c *config) forward(w io.Writer, file string) error {
	m, err := model.Load(file)
	if err != nil {
		return err
	}
	b, err := c.backend()
	if err != nil {
		return err
	}
	defer b.Finalize()
	s := m.Image
	data := c.images(s)
	exec, err := context.NewExec(b, context.New(), func(ctx *context.Context, x *graph.Node) *graph.Node {
		return m.Logits(ctx, x, model.Lowering{Constants: true})
	})
	if err != nil {
		return err
	}
	defer exec.Finalize()
	x := tensors.FromFlatDataAndDimensions(data, c.batch, s.C, s.H, s.W)
	var logits []float32
	sides := []side{timed("lorica", func() error {
		out, err := exec.Exec(x)
		if err != nil {
			return err
		}
		return out[0].ConstFlatData(func(flat any) { logits = append(logits[:0], flat.([]float32)...) })
	})}
	if c.runtime != "" {
		o, err := newORT(file, c.batch, c.threads)
		if err != nil {
			return err
		}
		copy(o.in.GetData(), data)
		sides = append(sides, timed("onnxruntime", o.run))
		defer func() {
			worst := 0.0
			for i, v := range o.out.GetData() {
				worst = max(worst, math.Abs(float64(v-logits[i])))
			}
			fmt.Fprintf(w, "  logits differ by at most %.1e\n", worst)
		}()
	}
	return c.race(w, "forward "+filepath.Base(file), sides)
}
