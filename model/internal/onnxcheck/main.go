// Command onnxcheck prepares a comparison of exported models with ONNX Runtime:
// it makes every architecture, saves it as a checkpoint, loads it, exports it,
// and writes images and lorica's own logits beside it. check.mjs then runs the
// exported files in ONNX Runtime. `make check-onnx` does both.
package main

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"lorica/engine"
	"lorica/model"
)

//go:embed check.mjs
var script []byte

type entry struct {
	Name  string `json:"name"`
	Shape []int  `json:"shape"`
}

func main() {
	out := flag.String("out", "", "folder to write")
	flag.Parse()
	if err := run(*out); err != nil {
		log.Fatal(err)
	}
}

func run(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	e, err := engine.Open("cpu", engine.Config{})
	if err != nil {
		return err
	}
	defer e.Close()
	var entries []entry
	for _, arch := range model.Architectures() {
		m, err := checkpointed(filepath.Join(dir, arch+".safetensors"), arch)
		if err != nil {
			return err
		}
		s, err := prepare(e, m, filepath.Join(dir, arch))
		if err != nil {
			return fmt.Errorf("%s: %w", arch, err)
		}
		entries = append(entries, entry{Name: arch, Shape: s})
	}
	for _, name := range model.Builtins() {
		m, err := model.Builtin(name)
		if err != nil {
			return err
		}
		s, err := prepare(e, m, filepath.Join(dir, name))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		entries = append(entries, entry{Name: name, Shape: s})
	}
	manifest, err := json.Marshal(entries)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "manifest.json"), manifest, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "check.mjs"), script, 0o644)
}

// checkpointed makes a model whose batch norms have seen data, and sends it
// through a checkpoint.
func checkpointed(file, arch string) (*model.Model, error) {
	m, err := model.New(model.Meta{Architecture: arch, Classes: 10, Seed: 7}, model.NormalisationFor("", channels(arch)))
	if err != nil {
		return nil, err
	}
	r := rand.New(rand.NewPCG(1, 2))
	for name, a := range m.Weights {
		for i := range a.Data {
			switch {
			case strings.HasSuffix(name, ".running_mean"):
				a.Data[i] = float32(0.2 * r.NormFloat64())
			case strings.HasSuffix(name, ".running_var"):
				a.Data[i] = float32(1 + r.Float64())
			}
		}
	}
	if err := m.Save(file, nil); err != nil {
		return nil, err
	}
	return model.Load(file)
}

func channels(arch string) int {
	if arch == "lenet" {
		return 1
	}
	return 3
}

// prepare writes base.onnx, base.images and base.logits.
func prepare(e *engine.Engine, m *model.Model, base string) ([]int, error) {
	if err := m.ExportONNX(base + ".onnx"); err != nil {
		return nil, err
	}
	const n = 2
	s := m.Image
	shape := []int{n, s.C, s.H, s.W}
	x := make([]float32, n*s.Size())
	r := rand.New(rand.NewPCG(3, 4))
	for i := range x {
		x[i] = r.Float32()
	}
	exec, err := context.NewExec(e.Backend(), context.New(), func(ctx *context.Context, x *graph.Node) *graph.Node {
		return m.Logits(ctx, x, model.Lowering{})
	})
	if err != nil {
		return nil, err
	}
	results, err := exec.Exec(tensors.FromFlatDataAndDimensions(x, shape...))
	if err != nil {
		return nil, err
	}
	var logits []float32
	if err := results[0].ConstFlatData(func(flat any) { logits = append(logits, flat.([]float32)...) }); err != nil {
		return nil, err
	}
	for suffix, data := range map[string][]float32{".images": x, ".logits": logits} {
		var b bytes.Buffer
		if err := binary.Write(&b, binary.LittleEndian, data); err != nil {
			return nil, err
		}
		if err := os.WriteFile(base+suffix, b.Bytes(), 0o644); err != nil {
			return nil, err
		}
	}
	return shape, nil
}
