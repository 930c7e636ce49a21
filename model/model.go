// Package model holds image classifiers: architectures, checkpoints, ONNX in
// and out.
//
// A model takes images in [0,1], N x C x H x W, and gives logits; its
// normalisation is part of it, so that noise is in pixel units and a radius is
// a distance between images. Whatever is loaded is checked against its own
// description first: a missing, unexpected or misshapen tensor is an error
// that names it, never a model that answers something else.
//
// Graph-building methods panic where GoMLX does; everything else returns errors.
package model

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"
)

// Kind is the file format that a model came from.
type Kind string

// The formats that Load reads.
const (
	ONNX       Kind = "onnx"
	Checkpoint Kind = "checkpoint" // safetensors
)

// Model is a classifier that was loaded or made.
type Model struct {
	Path   string // where it came from
	Kind   Kind
	SHA256 string // of the file, in hexadecimal
	Image  Shape
	Labels int // number of classes
	Meta   Meta

	// Net and Weights are nil where the model is an ONNX graph beyond them.
	Net     *Net
	Weights Weights
	// State is what training saved beside the weights (optimiser and the like).
	State Weights

	general *generalOnnx
}

// Load reads a model file: ONNX or a lorica checkpoint (safetensors), told
// apart by content.
func Load(file string) (*Model, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	return Parse(file, b)
}

// Parse reads a model from the bytes of a file; name is for messages.
func Parse(name string, b []byte) (*Model, error) {
	m := &Model{Path: name}
	sum := sha256.Sum256(b)
	m.SHA256 = hex.EncodeToString(sum[:])
	var err error
	if looksLikeSafetensors(b) || strings.EqualFold(filepath.Ext(name), ".safetensors") {
		m.Kind, err = Checkpoint, m.parseCheckpoint(b)
	} else {
		m.Kind, err = ONNX, m.parseOnnx(b)
	}
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", name, err)
	}
	return m, nil
}

//go:embed builtin/*.safetensors
var builtin embed.FS

// Builtins names the models that the binary carries: ResNet-20 for CIFAR-10,
// trained by lorica with Gaussian noise of sigma 0.5, one plainly and one with
// Margin-CS for cost cat->* (docs/train.md has the commands).
func Builtins() []string { return []string{"gaussian", "margin-cs"} }

// BuiltinBytes is the file of a model that the binary carries.
func BuiltinBytes(name string) ([]byte, error) {
	if !slices.Contains(Builtins(), name) {
		return nil, fmt.Errorf("model: no built-in model %q (there are: %s)", name, strings.Join(Builtins(), ", "))
	}
	return builtin.ReadFile(path.Join("builtin", name+".safetensors"))
}

// Builtin loads a model that the binary carries.
func Builtin(name string) (*Model, error) {
	b, err := BuiltinBytes(name)
	if err != nil {
		return nil, err
	}
	return Parse("builtin:"+name, b)
}

// Fits tells whether the model can answer for data of this image shape and
// number of classes.
func (m *Model) Fits(image Shape, classes int) error {
	if m.Image != image {
		return fmt.Errorf("model %s takes images of %s (channels x height x width), the data has %s", m.Path, m.Image, image)
	}
	if m.Labels != classes {
		return fmt.Errorf("model %s tells %d classes apart, the data has %d", m.Path, m.Labels, classes)
	}
	return nil
}

// Logits appends the classifier in inference to the graph of x (images,
// N x C x H x W, float32, in [0,1]) and returns the logits, N x K, float32.
// The weights become variables of ctx unless how.Constants. It panics where
// GoMLX does.
func (m *Model) Logits(ctx *context.Context, x *graph.Node, how Lowering) *graph.Node {
	if m.Net != nil {
		return m.Net.lower(ctx, m.Weights, x, how)
	}
	return m.general.logits(ctx, x)
}

// Supports tells whether the model can run in a precision.
func (m *Model) Supports(dtype dtypes.DType) error {
	if m.Net == nil && dtype != dtypes.Float32 {
		return fmt.Errorf("model %s has operations that run in float32 only (%s): use --precision float32", m.Path, m.general.why)
	}
	return nil
}

// FromNet makes a model of a net and its weights.
func FromNet(name string, n *Net, w Weights) (*Model, error) {
	if err := n.Check(w); err != nil {
		return nil, fmt.Errorf("model %s: %w", name, err)
	}
	if out := n.Layers[len(n.Layers)-1]; !out.Out.Vector() || len(n.Layers) < 2 {
		return nil, fmt.Errorf("model %s: its last layer gives a %s, not a vector of logits", name, out.Out)
	}
	return &Model{Path: name, Kind: Checkpoint, Image: n.Image(), Labels: n.Classes(), Net: n, Weights: w}, nil
}
