package engine

import (
	"fmt"
	"time"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"
)

// Limits are what an engine's device reaches on the simplest work.
type Limits struct {
	FLOPS     float64 `json:"flops"`     // a second, in a large matrix product
	Bandwidth float64 `json:"bandwidth"` // bytes a second, read and written, in a large copy
}

// MeasureLimits times a chain of matrix products and a pass over memory, the
// best of several runs of each. It takes seconds.
func MeasureLimits(e *Engine, p Precision) (l Limits, err error) {
	defer Recovered(&err)
	size, rows := 8192, 1<<29
	if e.host {
		size, rows = 1024, 1<<26
	}
	dtype := SamplerConfig{Precision: p}.dtype()
	const chain = 4
	seconds, err := best(e, 5, func(g *graph.Graph) *graph.Node {
		x := graph.Parameter(g, "x", shapes.Make(dtype, size, size))
		y := x
		for range chain {
			y = graph.Dot(y, x)
		}
		return y
	})
	if err != nil {
		return l, fmt.Errorf("matrix product: %w", err)
	}
	l.FLOPS = chain * 2 * float64(size) * float64(size) * float64(size) / seconds
	seconds, err = best(e, 5, func(g *graph.Graph) *graph.Node {
		return graph.AddScalar(graph.Parameter(g, "x", shapes.Make(dtypes.Float32, rows)), 1)
	})
	if err != nil {
		return l, fmt.Errorf("copy: %w", err)
	}
	l.Bandwidth = 2 * 4 * float64(rows) / seconds
	return l, nil
}

// best compiles a graph of one parameter and returns the shortest of some runs
// on zeros.
func best(e *Engine, runs int, build func(*graph.Graph) *graph.Node) (float64, error) {
	g := graph.NewGraph(e.backend, "limit")
	defer g.Finalize()
	out := build(g)
	shape := g.GetParameterByName("x").Shape()
	g.Compile(out)
	t := tensors.FromShape(shape)
	defer t.FinalizeAll()
	x, err := t.Buffer(e.backend, 0)
	if err != nil {
		return 0, err
	}
	shortest := time.Duration(1 << 62)
	for range runs {
		start := time.Now()
		results := g.RunWithBuffers([]backends.Buffer{x}, []bool{false}, 0)
		shortest = min(shortest, time.Since(start))
		for _, r := range results {
			if err := r.FinalizeAll(); err != nil {
				return 0, err
			}
		}
	}
	return shortest.Seconds(), nil
}
