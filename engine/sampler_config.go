package engine

import (
	"fmt"
	"math"

	"github.com/gomlx/gomlx/pkg/core/dtypes"

	"lorica/model"
)

// Precision is the type that convolutions compute in.
type Precision string

// The precisions. In bfloat16 the weights and activations are stored so; the
// noise, the normalisation and the logits stay float32. What is sampled is
// what is certified: a model certified in bfloat16 must be deployed in it.
const (
	Float32  Precision = "float32"
	BFloat16 Precision = "bfloat16"
)

// SamplerConfig says how draws are made and classified.
type SamplerConfig struct {
	Sigma     float64   `json:"sigma"`
	Precision Precision `json:"precision"`
	Batch     int       `json:"batch,omitempty"` // draws handed over at once, which changes no count; 0 means what fills the device

	// Rows of a program; 0 means what fits and fills the device. On a GPU, where
	// another number may round otherwise, it depends on the model and the
	// precision alone, and Batch is a number of whole programs: set it to
	// measure, not to certify.
	Rows int `json:"rows,omitempty"`

	// Layout of the activations: "nhwc" (also the empty string) or "nchw".
	Layout string `json:"layout,omitempty"`
}

// DefaultSamplerConfig is float32 with rows chosen for the engine.
func DefaultSamplerConfig() SamplerConfig { return SamplerConfig{Sigma: 0.5, Precision: Float32} }

// maxBatch keeps counts exact in float32 on a device.
const maxBatch = 1 << 20

// Validate names the first field that makes no sense.
func (c SamplerConfig) Validate() error {
	switch {
	case !(c.Sigma >= 0) || math.IsInf(c.Sigma, 0):
		return fmt.Errorf("sigma is %g: the noise level must be a number, zero or more", c.Sigma)
	case c.Precision != Float32 && c.Precision != BFloat16:
		return fmt.Errorf("precision %q is not float32 or bfloat16", c.Precision)
	case c.Batch < 0 || c.Batch > maxBatch:
		return fmt.Errorf("batch is %d: it must lie between 1 and %d (or be 0, for the engine's choice)", c.Batch, maxBatch)
	case c.Rows < 0 || c.Rows > maxBatch:
		return fmt.Errorf("rows are %d: they must lie between 1 and %d (or be 0, for the engine's choice)", c.Rows, maxBatch)
	case c.Layout != "" && c.Layout != "nhwc" && c.Layout != "nchw":
		return fmt.Errorf("layout %q is not nhwc or nchw", c.Layout)
	}
	return nil
}

func (c SamplerConfig) dtype() dtypes.DType {
	if c.Precision == BFloat16 {
		return dtypes.BFloat16
	}
	return dtypes.Float32
}

// channelsLast is what GPUs want in bfloat16, and no worse elsewhere.
func (c SamplerConfig) channelsLast() bool { return c.Layout != "nchw" }

// chooseRows picks a power of two of rows whose largest layer fills, but does
// not overfill, the caches that matter.
func chooseRows(e *Engine, m *model.Model, c SamplerConfig) int {
	largest := 16 * m.Image.Size() // a guess for a graph that is not a net
	if m.Net != nil {
		largest = 0
		for _, l := range m.Net.Layers {
			largest = max(largest, l.Out.Size())
		}
	}
	bytes := 4 * largest
	if c.Precision == BFloat16 {
		bytes /= 2
	}
	budget, least, most := 128<<20, 64, 8192
	if e.host {
		budget, least, most = 2<<20, 8, 64 // a layer in the second-level caches
	}
	rows := least
	for rows*2 <= most && rows*2*bytes <= budget {
		rows *= 2
	}
	return rows
}
