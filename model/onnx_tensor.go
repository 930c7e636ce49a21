package model

import (
	"encoding/binary"
	"fmt"
	"math"
)

// values gives a tensor's elements as float32.
func (t *onnxTensor) values() ([]float32, error) {
	n := elements(t.dims)
	if t.external {
		return nil, fmt.Errorf("tensor %q lies in another file: export the model with its weights inside", t.name)
	}
	var out []float32
	switch {
	case t.dtype == onnxFloat && t.raw != nil:
		out = make([]float32, len(t.raw)/4)
		for i := range out {
			out[i] = math.Float32frombits(binary.LittleEndian.Uint32(t.raw[4*i:]))
		}
	case t.dtype == onnxFloat:
		out = t.floats
	case t.dtype == onnxDouble && t.raw != nil:
		for b := t.raw; len(b) >= 8; b = b[8:] {
			out = append(out, float32(math.Float64frombits(binary.LittleEndian.Uint64(b))))
		}
	case t.dtype == onnxDouble:
		for _, v := range t.doubles {
			out = append(out, float32(v))
		}
	default:
		return nil, fmt.Errorf("tensor %q is %s, not float32", t.name, onnxTypeName(t.dtype))
	}
	if len(out) != n {
		return nil, fmt.Errorf("tensor %q has %d values for dimensions %v: the file is corrupt", t.name, len(out), t.dims)
	}
	return out, nil
}

// integers gives the elements of an integer tensor.
func (t *onnxTensor) integers() ([]int64, error) {
	out := t.ints
	switch {
	case t.dtype == onnxInt64 && t.raw != nil:
		for b := t.raw; len(b) >= 8; b = b[8:] {
			out = append(out, int64(binary.LittleEndian.Uint64(b)))
		}
	case t.dtype == onnxInt32 && t.raw != nil:
		for b := t.raw; len(b) >= 4; b = b[4:] {
			out = append(out, int64(int32(binary.LittleEndian.Uint32(b))))
		}
	case t.dtype != onnxInt64 && t.dtype != onnxInt32:
		return nil, fmt.Errorf("tensor %q is %s, not an integer", t.name, onnxTypeName(t.dtype))
	}
	if len(out) != elements(t.dims) || t.external {
		return nil, fmt.Errorf("tensor %q has %d values for dimensions %v", t.name, len(out), t.dims)
	}
	return out, nil
}
