package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Meta is what a checkpoint says about itself. It travels in the safetensors
// header under the key "lorica", as JSON.
type Meta struct {
	Architecture string          `json:"architecture,omitempty"`
	Image        Shape           `json:"image,omitzero"`
	Classes      int             `json:"classes,omitempty"`
	Names        []string        `json:"names,omitempty"` // class names
	Sigma        float64         `json:"sigma,omitempty"` // of the training noise
	Method       string          `json:"method,omitempty"`
	Data         string          `json:"data,omitempty"`
	Seed         uint64          `json:"seed,omitempty"`
	Config       json.RawMessage `json:"config,omitempty"`  // the training configuration
	History      json.RawMessage `json:"history,omitempty"` // what training reported, by epoch
}

// statePrefix marks tensors of the training's state (optimiser and the like),
// which are no parameters of the net.
const statePrefix = "train."

// metaKey is lorica's entry in the metadata of a safetensors file.
const metaKey = "lorica"

// New makes a model of an architecture with fresh weights.
func New(meta Meta, norm Normalisation) (*Model, error) {
	n, err := NewArchitecture(meta.Architecture, meta.Image, meta.Classes)
	if err != nil {
		return nil, err
	}
	w, err := n.Init(meta.Seed, norm)
	if err != nil {
		return nil, err
	}
	m, err := FromNet(meta.Architecture, n, w)
	if err != nil {
		return nil, err
	}
	meta.Image = n.Image()
	m.Meta = meta
	return m, nil
}

// Save writes a model of an architecture, and training state if there is any,
// as a checkpoint. The file is whole or not there: it is written beside its
// place, synced and moved.
func (m *Model) Save(file string, state Weights) error {
	if m.Net == nil || m.Meta.Architecture == "" {
		return fmt.Errorf("model %s is not of an architecture that a checkpoint can hold", m.Path)
	}
	if err := m.Net.Check(m.Weights); err != nil {
		return err
	}
	w := Weights{}
	for name, a := range m.Weights {
		switch name {
		case normLayer + ".shift": // PyTorch's buffers mean and std, 1 x C x 1 x 1
			w["mean"] = Array{Shape: []int{1, len(a.Data), 1, 1}, Data: a.Data}
		case normLayer + ".scale":
			std := make([]float32, len(a.Data))
			for i, v := range a.Data {
				std[i] = 1 / v
			}
			w["std"] = Array{Shape: []int{1, len(a.Data), 1, 1}, Data: std}
		default:
			w[name] = a
		}
	}
	for name, a := range state {
		w[statePrefix+name] = a
	}
	meta, err := json.Marshal(m.Meta)
	if err != nil {
		return err
	}
	return writeAtomically(file, func(f *os.File) error {
		return writeSafetensors(f, w, map[string]string{"format": "pt", metaKey: string(meta)})
	})
}

// writeAtomically writes a file so that a crash leaves the old one or the new.
func writeAtomically(file string, write func(*os.File) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if err = write(f); err != nil {
		return err
	}
	if err = f.Chmod(0o644); err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), file)
}

// parseCheckpoint reads a checkpoint of lorica's, or a PyTorch state_dict of
// one of its architectures saved as safetensors.
func (m *Model) parseCheckpoint(b []byte) error {
	w, header, err := readSafetensors(b)
	if err != nil {
		return err
	}
	for name, a := range w {
		if s, ok := strings.CutPrefix(name, statePrefix); ok {
			if m.State == nil {
				m.State = Weights{}
			}
			m.State[s] = a
			delete(w, name)
		}
	}
	if text, ok := header[metaKey]; ok {
		if err := json.Unmarshal([]byte(text), &m.Meta); err != nil {
			return fmt.Errorf("its metadata %q is not what lorica writes: %w", metaKey, err)
		}
	}
	if err := normalise(w); err != nil {
		return err
	}
	if m.Meta.Architecture != "" {
		m.Net, err = NewArchitecture(m.Meta.Architecture, m.Meta.Image, m.Meta.Classes)
	} else {
		m.Net, err = guessArchitecture(w, &m.Meta)
	}
	if err != nil {
		return err
	}
	if err := m.Net.Check(w); err != nil {
		return fmt.Errorf("it does not hold a %s: %w", m.Meta.Architecture, err)
	}
	m.Weights, m.Image, m.Labels = w, m.Net.Image(), m.Net.Classes()
	return nil
}

// normalise turns PyTorch's buffers mean and std into the first layer's.
func normalise(w Weights) error {
	mean, ok := w["mean"]
	std, ok2 := w["std"]
	if !ok || !ok2 {
		return errors.New(`tensors "mean" and "std" (the normalisation, one number a channel) are missing: register them as buffers of the module, so that noise is in pixel units`)
	}
	if len(mean.Data) != len(std.Data) {
		return fmt.Errorf(`tensors "mean" and "std" have %d and %d values`, len(mean.Data), len(std.Data))
	}
	scale := make([]float32, len(std.Data))
	for i, v := range std.Data {
		if !(v > 0) {
			return fmt.Errorf(`tensor "std" holds %g: a deviation is positive`, v)
		}
		scale[i] = 1 / v
	}
	delete(w, "mean")
	delete(w, "std")
	w[normLayer+".shift"] = Array{Shape: []int{len(scale)}, Data: mean.Data}
	w[normLayer+".scale"] = Array{Shape: []int{len(scale)}, Data: scale}
	return nil
}

// guessArchitecture finds the architecture whose parameters have the names and
// shapes of w. A state_dict carries no image size: it gets the architecture's.
func guessArchitecture(w Weights, meta *Meta) (*Net, error) {
	classes := 0
	for _, last := range []string{"fc3.bias", "fc.bias"} {
		if a, ok := w[last]; ok {
			classes = len(a.Data)
			break
		}
	}
	var names []string
	for _, a := range architectures() {
		n, err := NewArchitecture(a.name, Shape{}, max(classes, 2))
		if err != nil {
			return nil, err
		}
		if n.Check(w) == nil {
			meta.Architecture, meta.Image, meta.Classes = a.name, n.Image(), classes
			return n, nil
		}
		names = append(names, a.name)
	}
	slices.Sort(names)
	return nil, fmt.Errorf("its tensors are those of no architecture that lorica knows (%s) and its header names none", strings.Join(names, ", "))
}
