package train

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/tensors"

	"lorica/draw"
	"lorica/engine"
	"lorica/model"
)

// newRun checks a task and puts its state on the device.
func newRun(task Task) (*run, error) {
	r := &run{task: task, backend: task.Engine.Backend()}
	if err := task.Validate(); err != nil {
		return nil, err
	}
	if task.Engine.Host() && task.Precision != engine.Float32 {
		return nil, fmt.Errorf("engine %s computes in float32 only: leave --precision out, or use an XLA engine", task.Engine.Spec())
	}
	r.perEpoch = task.Data.Len() / task.Batch
	if r.perEpoch == 0 {
		return nil, fmt.Errorf("a batch of %d is larger than the data of %d examples", task.Batch, task.Data.Len())
	}
	r.total = r.perEpoch * task.Epochs
	if task.MaxSteps > 0 {
		r.total = min(r.total, task.MaxSteps)
	}
	net, err := model.NewArchitecture(task.Arch, task.Data.Shape, len(task.Data.Names))
	if err != nil {
		return nil, err
	}
	r.stepper = stepper{Config: task.Config, net: net, costs: task.Costs, examples: task.Data.Len()}
	r.learned, r.fixed = layouts(net)
	if r.hostNoise = task.Engine.Host(); r.hostNoise {
		if task.Unroll > 1 {
			return nil, fmt.Errorf("engine %s makes one step at a time: leave --unroll out", task.Engine.Spec())
		}
		r.noise = make([]float32, task.Batch*task.Draws*task.Data.Shape.Size())
	}
	r.how = model.Lowering{DType: dtypes.Float32, ChannelsLast: task.Layout == "nhwc" || task.Layout == "" && !task.Engine.Host(), Wide: !task.Engine.Host()}
	if task.Precision == engine.BFloat16 {
		r.how.DType = dtypes.BFloat16
	}
	r.window = min(windowSteps, r.total)
	r.window += (r.Unroll - r.window%r.Unroll) % r.Unroll
	r.start = header{Config: task.Config, Engine: task.Engine.Description(), Data: task.Identity}
	return r, r.begin()
}

// normalisation is the usual one for the data that an identity names.
func normalisation(identity string, channels int) model.Normalisation {
	kind, _, _ := strings.Cut(identity, " ")
	if kind == "idx" && channels == 1 {
		kind = "mnist"
	}
	return model.NormalisationFor(kind, channels)
}

// begin puts the state of the last good checkpoint, or a fresh one, on the
// device, and the data with it.
func (r *run) begin() error {
	fresh, err := r.net.Init(r.Seed, normalisation(r.task.Identity, r.task.Data.Shape.C))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(r.task.Dir, "checkpoints"), 0o755); err != nil {
		return err
	}
	files, err := checkpoints(r.task.Dir)
	if err != nil {
		return err
	}
	if r.task.Init != nil {
		for name, a := range r.task.Init {
			fresh[name] = a
		}
		if err := r.net.Check(fresh); err != nil {
			return fmt.Errorf("the weights to begin with: %w", err)
		}
	}
	st := state{theta: r.learned.pack(fresh), velocity: make([]float32, r.learned.size), stats: r.fixed.pack(fresh)}
	if len(files) > 0 {
		last := files[len(files)-1]
		var warning string
		if st, warning, err = r.restore(last, r.start, fresh); err != nil {
			return err
		}
		if warning != "" && r.task.Warn != nil {
			r.task.Warn(last + ": " + warning)
		}
	}
	r.step, r.saved, r.savedAt = st.step, st.step, time.Now()
	if r.journal, err = openJournal(r.task.Dir, r.start, st.step); err != nil {
		return err
	}
	if len(st.stats) == 0 {
		st.stats = []float32{0}
	}
	size := r.task.Data.Shape.Size()
	r.values = map[string]*tensors.Tensor{}
	for _, v := range []struct {
		name   string
		values any
		dims   []int
	}{
		{"theta", st.theta, []int{len(st.theta)}}, {"velocity", st.velocity, []int{len(st.velocity)}}, {"stats", st.stats, []int{len(st.stats)}},
		{"pixels", r.task.Data.Pixels, []int{r.task.Data.Len(), size}}, {"labels", r.task.Data.Labels, []int{r.task.Data.Len()}},
	} {
		if err := r.put(v.name, v.values, v.dims...); err != nil {
			return err
		}
	}
	if r.attacks() {
		if r.zeros, err = upload(r.backend, make([]float32, r.Batch*size), r.Batch, size); err != nil {
			return err
		}
	}
	return errors.Join(r.put("tally", make([]float32, tallyWords), tallyWords), r.openWindow())
}

// put uploads an input in place of what was there.
func (r *run) put(name string, values any, dims ...int) error {
	t, err := upload(r.backend, values, dims...)
	if err != nil {
		return fmt.Errorf("uploading %s: %w", name, err)
	}
	if old := r.values[name]; old != nil {
		if err := old.FinalizeAll(); err != nil {
			return err
		}
	}
	r.values[name] = t
	return nil
}

// openWindow sends the orders and rates of the steps to come, and the clock.
func (r *run) openWindow() error {
	base := r.step / r.window * r.window
	batches, rates := make([]int32, 0, r.window*r.Batch), make([]float32, 0, 2*r.window)
	epoch, perm := -1, []int(nil)
	for step := base; step < base+r.window; step++ {
		rates = append(rates, float32(r.rate(step, r.perEpoch, r.total)), float32(r.ramp(step, r.perEpoch)))
		if e := step / r.perEpoch; e != epoch {
			epoch, perm = e, order(r.Seed, e, r.task.Data.Len())
		}
		from := step % r.perEpoch * r.Batch
		for _, i := range perm[from : from+r.Batch] {
			batches = append(batches, int32(i))
		}
	}
	r.batches = batches
	key := draw.Key(r.Seed)
	clock := []uint32{clockStep: uint32(r.step), clockBase: uint32(base), clockTotal: uint32(r.total), clockBad: never, clockKey0: key[0], clockKey1: key[1]}
	return errors.Join(
		r.put("order", batches, len(batches)),
		r.put("rates", rates, r.window, 2),
		r.put("clock", clock, clockWords))
}

// compile builds the programs. On a device the monitor's is built beside the
// first steps: a look is skipped until it is there.
func (r *run) compile() (err error) {
	if r.attacks() {
		if r.attack, err = compile(r.backend, "attack", r.attackInputs(), r.attackGraph); err != nil {
			return fmt.Errorf("compiling the attack: %w", err)
		}
	}
	if r.program, err = compile(r.backend, "step", r.inputs(), r.graph); err != nil {
		return fmt.Errorf("compiling the step: %w", err)
	}
	if r.task.Held == nil || r.task.LookEvery == 0 {
		return nil
	}
	r.monitor = make(chan *monitor, 1)
	build := func() error {
		defer close(r.monitor)
		m, err := newMonitor(r.task.Engine, &r.stepper, *r.task.Held)
		if err == nil {
			r.monitor <- m
		}
		return err
	}
	if r.task.Engine.Host() {
		return build()
	}
	go func() {
		if err := build(); err != nil && r.task.Warn != nil {
			r.task.Warn(fmt.Sprintf("no running estimate: %v", err))
		}
	}()
	return nil
}
