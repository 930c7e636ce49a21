package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/tensors"

	"lorica/cost"
	"lorica/engine"
	"lorica/model"
)

// Task is a run to make, or to go on with.
type Task struct {
	Config
	Engine   *engine.Engine
	Data     *Data
	Identity string        // of the data and its split
	Costs    *cost.Matrix  // nil: nothing costs
	Held     *Held         // nil: no running estimate
	Init     model.Weights // nil: fresh ones
	Dir      string        // the run folder

	SaveEvery time.Duration // between checkpoints
	Keep      int           // checkpoints to keep
	LookEvery int           // epochs between estimates

	Watch func(Progress) // where it is; may be nil
	Warn  func(string)
}

// Progress is how far a run is, and how it does.
type Progress struct {
	Step, Steps   int
	Epoch, Epochs int
	Samples       int64 // noisy images since this process began
	Last          Epoch // the losses since the last report
	EpochDone     bool  // Last is the line of an epoch
}

// Result is what a finished run came to.
type Result struct {
	Model   string // the file
	Epochs  []Epoch
	Compile time.Duration
	Train   time.Duration // from the first step to the last, in this process
	Samples int64
}

// The steps between two readings of the losses, and in a window of orders.
const (
	reportSteps = 25
	windowSteps = 1024
)

// NotFiniteError says where a loss stopped being a number.
type NotFiniteError struct {
	Step, Epoch int
	Examples    []int  // of the batch
	Checkpoint  string // with the weights before that step
}

func (e *NotFiniteError) Error() string {
	return fmt.Sprintf("the loss is not finite at step %d (epoch %d), on the examples %v: the weights before it are in %s; lower --lr or --clip the gradient",
		e.Step, e.Epoch+1, e.Examples, e.Checkpoint)
}

// run is a Task on its way.
type run struct {
	task Task
	stepper
	backend  backends.Backend
	step     int
	total    int
	perEpoch int
	start    header

	program, attack *program
	monitor         chan *monitor // holds it when it is compiled
	held            *monitor
	values          map[string]*tensors.Tensor // on the device, by input
	zeros           *tensors.Tensor            // the push that an attack begins with
	batches         []int32                    // the window's order
	noise           []float32                  // where it is made on the host
	journal         *journal
	saved           int // step of the last checkpoint
	savedAt         time.Time
}

// Run trains, from the last checkpoint in the run folder or from the beginning,
// and writes the model. On cancellation it saves first.
func Run(ctx context.Context, task Task) (res Result, err error) {
	r, err := newRun(task)
	if err != nil {
		return res, err
	}
	defer r.close()
	began := time.Now()
	if err := r.compile(); err != nil {
		return res, err
	}
	res.Compile = time.Since(began)
	began = time.Now()
	if err := r.train(ctx, &res); err != nil {
		return res, err
	}
	res.Train = time.Since(began)
	res.Model = filepath.Join(r.task.Dir, "model.safetensors")
	res.Epochs = r.journal.epochs
	st, err := r.fetch()
	if err != nil {
		return res, err
	}
	meta := r.meta()
	if meta.History, err = json.Marshal(r.journal.epochs); err != nil {
		return res, err
	}
	w := model.Weights{}
	r.learned.unpack(st.theta, w)
	r.fixed.unpack(st.stats, w)
	m, err := model.FromNet(res.Model, r.net, w)
	if err != nil {
		return res, err
	}
	m.Meta = meta
	return res, m.Save(res.Model, nil)
}

func (r *run) meta() model.Meta {
	raw, err := json.Marshal(r.start)
	if err != nil {
		panic(err) // a struct of plain fields
	}
	return model.Meta{Architecture: r.Arch, Image: r.net.Image(), Classes: r.net.Classes(), Names: r.task.Data.Names,
		Sigma: r.Sigma, Method: r.Method, Data: r.task.Identity, Seed: r.Seed, Config: raw}
}

// fetch reads the state back.
func (r *run) fetch() (state, error) {
	st := state{step: r.step, theta: make([]float32, r.learned.size), velocity: make([]float32, r.learned.size), stats: make([]float32, max(r.fixed.size, 1))}
	err := errors.Join(
		download(r.backend, r.values["theta"], st.theta),
		download(r.backend, r.values["velocity"], st.velocity),
		download(r.backend, r.values["stats"], st.stats))
	st.stats = st.stats[:r.fixed.size]
	return st, err
}

// save writes a checkpoint of the steps made so far.
func (r *run) save() error {
	if r.saved == r.step && r.step > 0 {
		return nil
	}
	st, err := r.fetch()
	if err != nil {
		return err
	}
	if err := r.stepper.save(checkpointFile(r.task.Dir, r.step), r.meta(), st); err != nil {
		return err
	}
	r.saved, r.savedAt = r.step, time.Now()
	return prune(r.task.Dir, max(r.task.Keep, 1))
}

func (r *run) close() {
	r.program.close()
	r.attack.close()
	if r.monitor != nil {
		if r.held == nil {
			r.held = <-r.monitor
		}
		r.held.close()
	}
	if r.journal != nil && r.journal.file != nil {
		r.journal.file.Close()
	}
	for _, t := range r.values {
		_ = t.FinalizeAll() // the run is over: nothing is lost with a buffer
	}
}
