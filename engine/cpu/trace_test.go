package cpu

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gomlx/gomlx/backends"
)

// tracer is a backend whose executables record the time of their steps.
type tracer struct {
	*Backend
	spent map[string]time.Duration
	last  *executable
}

func (t *tracer) Builder(name string) backends.Builder {
	return &traceBuilder{t.Backend.Builder(name).(*Builder), t}
}

type traceBuilder struct {
	*Builder
	t *tracer
}

func (b *traceBuilder) Compile(outputs []backends.Op, s []*backends.ShardingSpec) (backends.Executable, error) {
	x, err := b.Builder.Compile(outputs, s)
	if err != nil {
		return nil, err
	}
	b.t.last = x.(*executable)
	b.t.last.trace = func(n *node, took time.Duration) { b.t.spent[describe(n)] += took }
	return x, nil
}

// describe names a step by its operation and shapes.
func describe(n *node) string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s%v", opName(n.op), n.shape.Dimensions)
	for _, in := range n.inputs {
		fmt.Fprintf(&s, " %v", in.shape.Dimensions)
	}
	if n.group != nil {
		for _, m := range n.group.members {
			fmt.Fprintf(&s, " %s", m.op)
		}
	}
	if a, ok := n.attrs.(convAttrs); ok {
		fmt.Fprintf(&s, " stride %v dilation %v %v bias %v residual %v relu %v batch %d/%d/%d", a.strides, a.inDilation, a.kerDilation,
			a.bias > 0, a.residual > 0, a.relu, a.axes.InputBatch, a.axes.KernelOutputChannels, a.axes.OutputBatch)
	}
	return s.String()
}

// report lists where the time went, the most first.
func (t *tracer) report() string {
	keys := make([]string, 0, len(t.spent))
	var total time.Duration
	for k, d := range t.spent {
		keys = append(keys, k)
		total += d
	}
	slices.SortFunc(keys, func(a, b string) int { return cmp.Compare(t.spent[b], t.spent[a]) })
	var s strings.Builder
	for _, k := range keys {
		fmt.Fprintf(&s, "%5.1f%% %v\n", 100*float64(t.spent[k])/float64(total), k)
	}
	return s.String()
}
