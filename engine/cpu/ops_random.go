package cpu

import (
	"math/bits"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/pkg/errors"

	"lorica/engine/cpu/kernel"
)

// RNGBitGenerator implements backends.Builder with XLA's Philox: the state is
// a key and a 128-bit counter, low word first; word i of the output is word
// i%4 of block i/4. A 64-bit element is two words, low one first. An element
// narrower than a word is the low bits of one word.
//
// Both results are functions of the state alone, so they are two nodes.
func (b *Builder) RNGBitGenerator(state backends.Op, shape shapes.Shape) (newState, values backends.Op, err error) {
	in, err := b.check("RNGBitGenerator", state)
	if err != nil {
		return nil, nil, err
	}
	if !in[0].shape.Equal(backends.RNGStateShape) {
		return nil, nil, errors.Errorf("RNGBitGenerator: the state must be %s, not %s", backends.RNGStateShape, in[0].shape)
	}
	if !shape.DType.IsInt() {
		return nil, nil, errors.Errorf("backend %q: operation RNGBitGenerator is not defined for %s", Name, shape.DType)
	}
	words := shape.Size()
	if shape.DType.Size() == 8 {
		words *= 2
	}
	newState = b.add(opRandomState, backends.RNGStateShape, words, in[0])
	if shape.DType.Size() >= 4 {
		return newState, b.add(opRandomBits, shape, words, in[0]), nil
	}
	wide := b.add(opRandomBits, shapes.Make(dtypes.Uint32, shape.Dimensions...), words, in[0])
	return newState, b.convert(wide, shape.DType), nil
}

// after is a state some blocks on.
func after(s [3]uint64, blocks int) [3]uint64 {
	low, carry := bits.Add64(s[1], uint64(blocks), 0)
	return [3]uint64{s[0], low, s[2] + carry}
}

func lowerRandomState(n *node) (step, error) {
	blocks := (n.attrs.(int) + 3) / 4
	return step{run: func(f *frame) {
		next := after([3]uint64(data[uint64](f, n.inputs[0])), blocks)
		copy(data[uint64](f, n), next[:])
	}}, nil
}

func lowerRandomBits(n *node) (step, error) {
	return step{run: func(f *frame) {
		state := [3]uint64(data[uint64](f, n.inputs[0]))
		words := data[uint32](f, n)
		const per = 1 << 13 // a multiple of four: tasks start at blocks
		f.pool.Run((len(words)+per-1)/per, func(task, _ int) {
			at := task * per
			kernel.RandomBits(words[at:min(len(words), at+per)], after(state, at/4))
		})
	}}, nil
}
