package train

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lorica/cost"
	"lorica/dataset"
	"lorica/engine"
	"lorica/model"
)

// smallData is real images made small: the middle of the images that the binary
// carries, at half their size.
func smallData(t *testing.T, count int) *Data {
	t.Helper()
	set, err := dataset.Open("builtin", "")
	if err != nil {
		t.Fatal(err)
	}
	var indices []int
	for i := range count {
		indices = append(indices, i)
	}
	d, err := Load(set, indices)
	if err != nil {
		t.Fatal(err)
	}
	s := d.Shape
	half := &Data{Shape: model.Shape{C: s.C, H: 12, W: 12}, Names: d.Names, Labels: d.Labels}
	for i := range count {
		image := d.Pixels[i*s.Size():]
		for c := range s.C {
			for y := 4; y < 28; y += 2 {
				for x := 4; x < 28; x += 2 {
					at := (c*s.H+y)*s.W + x
					sum := int(image[at]) + int(image[at+1]) + int(image[at+s.W]) + int(image[at+s.W+1])
					half.Pixels = append(half.Pixels, byte(sum/4))
				}
			}
		}
	}
	return half
}

func newTask(t *testing.T, e *engine.Engine, method, arch string, count int) Task {
	t.Helper()
	costs, err := cost.ParseExpr("3->*", 10, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := DefaultConfig(method)
	c.Arch, c.Cost, c.Sigma, c.Batch, c.Draws, c.Epochs = arch, "3->*", 0.12, 8, 2, 2
	c.Schedule, c.LR, c.Clip, c.Nesterov, c.AttackWarmup = "cosine", 0.05, 5, true, 1
	return Task{Config: c, Engine: e, Data: smallData(t, count), Identity: "builtin", Costs: costs, Dir: t.TempDir(), Keep: 2, SaveEvery: time.Hour}
}

func weightsOf(t *testing.T, file string) []byte {
	t.Helper()
	m, err := model.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for _, name := range []string{"conv.weight", "conv1.weight", "bn.running_var", "fc3.weight", "fc.weight"} {
		for _, v := range m.Weights[name].Data {
			bits := math.Float32bits(v)
			b.Write([]byte{byte(bits), byte(bits >> 8), byte(bits >> 16), byte(bits >> 24)})
		}
	}
	if b.Len() == 0 {
		t.Fatal("no weights to compare")
	}
	return b.Bytes()
}

// Every method lowers its loss on real images, without NaN; a run that was
// cancelled, and what a kill leaves of one, go on to the same weights bit for bit.
func TestEveryMethodTrainsAndResumes(t *testing.T) {
	e := openCPU(t)
	for _, method := range Methods() {
		t.Run(method, func(t *testing.T) {
			task := newTask(t, e, method, "lenet", 12)
			task.Batch, task.Epochs = 6, 6
			task.AttackSteps = min(task.AttackSteps, 2)
			whole, err := Run(context.Background(), task)
			if err != nil {
				t.Fatal(err)
			}
			first, last := whole.Epochs[0], whole.Epochs[len(whole.Epochs)-1]
			if len(whole.Epochs) != 6 || last.Step != 12 {
				t.Fatalf("%d epochs, %d steps", len(whole.Epochs), last.Step)
			}
			before, after := first.Loss, last.Loss
			if strings.HasPrefix(method, SmoothMix) {
				// The mixed term is of the examples that are right, which grow.
				before, after = first.Classification, last.Classification
			}
			if !(after < before) {
				t.Errorf("the loss went from %g to %g", before, after)
			}

			killed := t.TempDir()
			ctx, cancel := context.WithCancel(context.Background())
			part := task
			part.Dir, part.SaveEvery = t.TempDir(), 0
			part.Watch = func(p Progress) {
				if p.Step == 8 {
					if err := os.CopyFS(killed, os.DirFS(part.Dir)); err != nil {
						t.Error(err)
					}
					cancel()
				}
			}
			if _, err := Run(ctx, part); !errors.Is(err, context.Canceled) {
				t.Fatalf("cancelled run: %v", err)
			}
			for _, dir := range []string{part.Dir, killed} {
				rest := task
				rest.Dir = dir
				res, err := Run(context.Background(), rest)
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(weightsOf(t, whole.Model), weightsOf(t, res.Model)) {
					t.Error("the resumed run ended with other weights")
				}
				if len(res.Epochs) != 6 {
					t.Errorf("the resumed run has %d epochs in its journal", len(res.Epochs))
				}
			}
		})
	}
}

// A network with batch norms resumes exactly too, in the middle of an epoch, and
// its running estimate looks at it.
func TestBatchNormResumes(t *testing.T) {
	e := openCPU(t)
	task := newTask(t, e, MarginCS, "resnet20", 12)
	task.Batch, task.Epochs = 4, 2
	task.Held = &Held{Data: smallData(t, 10), Spread: 5, Eps: 0.1, Draws: 4}
	task.LookEvery = 1
	whole, err := Run(context.Background(), task)
	if err != nil {
		t.Fatal(err)
	}
	if whole.Epochs[1].Held == nil {
		t.Error("no running estimate")
	}
	part := task
	part.Dir = t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	r, err := newRun(part)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.compile(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := r.advance(); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if err := r.train(ctx, &Result{}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	r.close()
	if files, err := checkpoints(part.Dir); err != nil || len(files) != 1 || !strings.HasSuffix(files[0], "step-000000002.safetensors") {
		t.Fatalf("checkpoints %v, %v", files, err)
	}
	res, err := Run(context.Background(), part)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(weightsOf(t, whole.Model), weightsOf(t, res.Model)) {
		t.Error("the resumed run ended with other weights")
	}

	other := part
	other.LR = 0.01
	if _, err := Run(context.Background(), other); err == nil || !strings.Contains(err.Error(), "lr") {
		t.Errorf("going on with another rate: %v", err)
	}
}

// A loss that is not finite stops the run, names the step and its examples, and
// leaves the finite weights before it in the checkpoint that it names.
func TestNotFinite(t *testing.T) {
	task := newTask(t, openCPU(t), Gaussian, "lenet", 24)
	task.Schedule, task.LR, task.Clip, task.Momentum, task.Nesterov, task.Epochs = "multistep", 1e20, 0, 0, false, 3
	_, err := Run(context.Background(), task)
	var bad *NotFiniteError
	if !errors.As(err, &bad) {
		t.Fatalf("got %v", err)
	}
	if bad.Step < 1 || bad.Step > 3 || len(bad.Examples) != 8 {
		t.Errorf("step %d, examples %v", bad.Step, bad.Examples)
	}
	m, err := model.Load(bad.Checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	for name, a := range m.Weights {
		for _, v := range a.Data {
			if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
				t.Fatalf("%s holds %g", name, v)
			}
		}
	}
}

// Checkpoints are kept by count, the newest ones.
func TestKeep(t *testing.T) {
	task := newTask(t, openCPU(t), Gaussian, "lenet", 16)
	task.Epochs, task.SaveEvery = 5, 0
	if _, err := Run(context.Background(), task); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(task.Dir, "checkpoints", "*"))
	if err != nil || len(files) != 2 || !strings.HasSuffix(files[1], "step-000000010.safetensors") {
		t.Errorf("checkpoints %v, %v", files, err)
	}
}
