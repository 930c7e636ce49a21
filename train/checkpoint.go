package train

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"lorica/model"
)

// header is what a checkpoint says of its run, in Meta.Config.
type header struct {
	Config
	Engine string `json:"engine"`
	Data   string `json:"data"` // identity and split
}

// state is all that a run has at a step: with the configuration it decides
// every later one.
type state struct {
	step                   int
	theta, velocity, stats []float32
}

// The names of training's own arrays in a checkpoint.
const (
	velocityName = "velocity"
	stepName     = "step"
)

// save writes the state as a checkpoint: a model that can be certified, and
// beside its weights what the next step needs.
func (s *stepper) save(file string, meta model.Meta, st state) error {
	w := model.Weights{}
	s.learned.unpack(st.theta, w)
	s.fixed.unpack(st.stats, w)
	m, err := model.FromNet(file, s.net, w)
	if err != nil {
		return err
	}
	m.Meta = meta
	// Two halves: a float32 holds 24 bits.
	step := model.Array{Shape: []int{2}, Data: []float32{float32(st.step >> 16), float32(st.step & 0xffff)}}
	velocity := model.Array{Shape: []int{len(st.velocity)}, Data: st.velocity}
	return m.Save(file, model.Weights{velocityName: velocity, stepName: step})
}

// restore reads a checkpoint of the same run. The normalisation is not taken
// from the file, where it stands as its reciprocal, but from fresh.
func (s *stepper) restore(file string, want header, fresh model.Weights) (st state, warning string, err error) {
	m, err := model.Load(file)
	if err != nil {
		return st, "", err
	}
	warning, err = sameRun(want, m.Meta.Config)
	if err != nil {
		return st, "", fmt.Errorf("%s: %w", file, err)
	}
	velocity, step := m.State[velocityName], m.State[stepName]
	if len(velocity.Data) != s.learned.size || len(step.Data) != 2 {
		return st, "", fmt.Errorf("%s holds no state of training", file)
	}
	if err := s.net.Check(m.Weights); err != nil {
		return st, "", fmt.Errorf("%s: %w", file, err)
	}
	for _, l := range s.net.Layers {
		if l.Op == model.Affine {
			m.Weights[l.Name+".shift"], m.Weights[l.Name+".scale"] = fresh[l.Name+".shift"], fresh[l.Name+".scale"]
		}
	}
	st = state{step: int(step.Data[0])<<16 | int(step.Data[1]), theta: s.learned.pack(m.Weights), velocity: velocity.Data, stats: s.fixed.pack(m.Weights)}
	return st, warning, nil
}

// Made tells whether a model file is what the task would end with: nil, or the
// first thing that differs.
func Made(task Task, file string) error {
	m, err := model.Load(file)
	if err != nil {
		return err
	}
	_, err = sameRun(header{Config: task.Config, Engine: task.Engine.Description(), Data: task.Identity}, m.Meta.Config)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// sameRun tells whether a checkpoint was made by this configuration and data;
// another engine is only a warning.
func sameRun(want header, raw json.RawMessage) (warning string, err error) {
	var have header
	if len(raw) == 0 {
		return "", errors.New("it names no configuration: it is not a checkpoint of lorica train")
	}
	if err := json.Unmarshal(raw, &have); err != nil {
		return "", fmt.Errorf("its configuration is unreadable: %w", err)
	}
	if have.Engine != want.Engine {
		warning = fmt.Sprintf("it was made on engine %q and goes on with %q: not the same weights as on one engine, bit for bit", have.Engine, want.Engine)
		have.Engine = want.Engine
	}
	a, errA := json.Marshal(have)
	b, errB := json.Marshal(want)
	if err := errors.Join(errA, errB); err != nil || bytes.Equal(a, b) {
		return warning, err
	}
	var x, y map[string]any
	if err := errors.Join(json.Unmarshal(a, &x), json.Unmarshal(b, &y)); err != nil {
		return "", err
	}
	for key := range y {
		if fmt.Sprint(x[key]) != fmt.Sprint(y[key]) {
			return "", fmt.Errorf("it was made with %s = %v, this run has %v: give the same command, or another --out", key, x[key], y[key])
		}
	}
	return "", errors.New("it was made with another configuration: give the same command, or another --out")
}

// checkpoints lists the checkpoints of a run folder, the oldest first.
func checkpoints(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "checkpoints", "step-*.safetensors"))
	slices.Sort(files)
	return files, err
}

func checkpointFile(dir string, step int) string {
	return filepath.Join(dir, "checkpoints", fmt.Sprintf("step-%09d.safetensors", step))
}

// prune removes all but the last keep checkpoints.
func prune(dir string, keep int) error {
	files, err := checkpoints(dir)
	if err != nil {
		return err
	}
	for _, f := range files[:max(0, len(files)-keep)] {
		if err := os.Remove(f); err != nil {
			return err
		}
	}
	return nil
}
