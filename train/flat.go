package train

import (
	"maps"
	"slices"

	. "github.com/gomlx/gomlx/pkg/core/graph"

	"lorica/model"
)

// flat lays some of a net's parameters out in one vector. The state of a run is
// then three buffers whatever the depth, and the optimiser a single pass.
type flat struct {
	names  []string
	shapes map[string][]int
	at     map[string]int // offset
	size   int
}

// layouts gives the vectors of what is learned and of what is not: statistics of
// batch norms and the normalisation.
func layouts(n *model.Net) (learned, fixed *flat) {
	learned, fixed = newFlat(), newFlat()
	ps := n.Params()
	for _, name := range slices.Sorted(maps.Keys(ps)) {
		if ps[name].Learned {
			learned.add(name, ps[name].Shape)
		} else {
			fixed.add(name, ps[name].Shape)
		}
	}
	return learned, fixed
}

func newFlat() *flat { return &flat{shapes: map[string][]int{}, at: map[string]int{}} }

func (f *flat) add(name string, shape []int) {
	f.names = append(f.names, name)
	f.shapes[name], f.at[name] = shape, f.size
	f.size += volume(shape)
}

func volume(shape []int) int {
	size := 1
	for _, d := range shape {
		size *= d
	}
	return size
}

// pack copies weights into a vector.
func (f *flat) pack(w model.Weights) []float32 {
	v := make([]float32, f.size)
	for _, name := range f.names {
		copy(v[f.at[name]:], w[name].Data)
	}
	return v
}

// unpack copies a vector into weights.
func (f *flat) unpack(v []float32, into model.Weights) {
	for _, name := range f.names {
		from := f.at[name]
		into[name] = model.Array{Shape: f.shapes[name], Data: slices.Clone(v[from : from+volume(f.shapes[name])])}
	}
}

// split gives the parameters out of the vector as nodes.
func (f *flat) split(v *Node) map[string]*Node {
	nodes := map[string]*Node{}
	for _, name := range f.names {
		from := f.at[name]
		nodes[name] = Reshape(Slice(v, AxisRange(from, from+volume(f.shapes[name]))), f.shapes[name]...)
	}
	return nodes
}

// join is the inverse of split.
func (f *flat) join(nodes map[string]*Node) *Node {
	parts := make([]*Node, len(f.names))
	for i, name := range f.names {
		parts[i] = Reshape(nodes[name], volume(f.shapes[name]))
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return Concatenate(parts, 0)
}
