package model

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// The part of ONNX's protocol buffers that a classifier needs. Field numbers
// are those of onnx.proto (the ONNX specification, version 1.17).

type onnxGraph struct {
	opset    int64
	nodes    []onnxNode
	tensors  map[string]onnxTensor // initializers
	inputs   []onnxValue           // without those that an initializer fills
	outputs  []onnxValue
	sparse   bool
	hasGraph bool
}

type onnxNode struct {
	op, name, domain string
	inputs, outputs  []string
	attrs            map[string]onnxAttr
}

type onnxAttr struct {
	f      float32
	i      int64
	s      string
	ints   []int64
	tensor *onnxTensor
}

type onnxTensor struct {
	name     string
	dtype    int64
	dims     []int
	raw      []byte
	floats   []float32
	ints     []int64 // int64_data or int32_data
	doubles  []float64
	external bool
}

type onnxValue struct {
	name  string
	dtype int64
	dims  []int64 // 0 where the size is not fixed
	known bool    // the rank is known
}

// ONNX's element types (onnx.proto, TensorProto.DataType).
const (
	onnxFloat   = 1
	onnxInt32   = 6
	onnxInt64   = 7
	onnxString  = 8
	onnxFloat16 = 10
	onnxDouble  = 11
)

var onnxTypeNames = map[int64]string{
	1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64",
	8: "string", 9: "bool", 10: "float16", 11: "float64", 16: "bfloat16",
}

func onnxTypeName(t int64) string {
	if s, ok := onnxTypeNames[t]; ok {
		return s
	}
	return fmt.Sprintf("type %d", t)
}

var errOnnxTruncated = errors.New("the file is cut short or is not an ONNX model")

// field is one decoded field of a message: a varint or fixed number, or bytes.
type field struct {
	num  protowire.Number
	typ  protowire.Type
	n    uint64
	data []byte
}

// eachField calls f on every field of a message.
func eachField(b []byte, f func(field) error) error {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errOnnxTruncated
		}
		b = b[n:]
		fd := field{num: num, typ: typ}
		switch typ {
		case protowire.VarintType:
			fd.n, n = protowire.ConsumeVarint(b)
		case protowire.Fixed32Type:
			var v uint32
			v, n = protowire.ConsumeFixed32(b)
			fd.n = uint64(v)
		case protowire.Fixed64Type:
			fd.n, n = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			fd.data, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(num, typ, b)
		}
		if n < 0 {
			return errOnnxTruncated
		}
		b = b[n:]
		if err := f(fd); err != nil {
			return err
		}
	}
	return nil
}

// varints appends a repeated integer field, packed or not.
func varints(dst []int64, f field) ([]int64, error) {
	if f.typ == protowire.VarintType {
		return append(dst, int64(f.n)), nil
	}
	for b := f.data; len(b) > 0; {
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return nil, errOnnxTruncated
		}
		dst, b = append(dst, int64(v)), b[n:]
	}
	return dst, nil
}

func decodeOnnx(b []byte) (*onnxGraph, error) {
	g := &onnxGraph{tensors: map[string]onnxTensor{}}
	err := eachField(b, func(f field) error {
		switch f.num {
		case 7:
			g.hasGraph = true
			return g.decodeGraph(f.data)
		case 8:
			domain, version := "", int64(0)
			err := eachField(f.data, func(f field) error {
				switch f.num {
				case 1:
					domain = string(f.data)
				case 2:
					version = int64(f.n)
				}
				return nil
			})
			if domain == "" || domain == "ai.onnx" {
				g.opset = version
			}
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if !g.hasGraph || len(g.nodes) == 0 {
		return nil, errOnnxTruncated
	}
	inputs := g.inputs[:0]
	for _, v := range g.inputs {
		if _, ok := g.tensors[v.name]; !ok {
			inputs = append(inputs, v)
		}
	}
	g.inputs = inputs
	return g, nil
}

func (g *onnxGraph) decodeGraph(b []byte) error {
	return eachField(b, func(f field) error {
		switch f.num {
		case 1:
			n, err := decodeNode(f.data)
			g.nodes = append(g.nodes, n)
			return err
		case 5:
			t, err := decodeTensor(f.data)
			g.tensors[t.name] = t
			return err
		case 11, 12:
			v, err := decodeValue(f.data)
			if f.num == 11 {
				g.inputs = append(g.inputs, v)
			} else {
				g.outputs = append(g.outputs, v)
			}
			return err
		case 15:
			g.sparse = true
		}
		return nil
	})
}

func decodeNode(b []byte) (onnxNode, error) {
	n := onnxNode{attrs: map[string]onnxAttr{}}
	err := eachField(b, func(f field) error {
		switch f.num {
		case 1:
			n.inputs = append(n.inputs, string(f.data))
		case 2:
			n.outputs = append(n.outputs, string(f.data))
		case 3:
			n.name = string(f.data)
		case 4:
			n.op = string(f.data)
		case 7:
			n.domain = string(f.data)
		case 5:
			name, a, err := decodeAttr(f.data)
			n.attrs[name] = a
			return err
		}
		return nil
	})
	return n, err
}

func decodeAttr(b []byte) (name string, a onnxAttr, err error) {
	err = eachField(b, func(f field) (err error) {
		switch f.num {
		case 1:
			name = string(f.data)
		case 2:
			a.f = math.Float32frombits(uint32(f.n))
		case 3:
			a.i = int64(f.n)
		case 4:
			a.s = string(f.data)
		case 5:
			var t onnxTensor
			t, err = decodeTensor(f.data)
			a.tensor = &t
		case 8:
			a.ints, err = varints(a.ints, f)
		}
		return err
	})
	return name, a, err
}

func decodeTensor(b []byte) (onnxTensor, error) {
	var t onnxTensor
	var dims []int64
	err := eachField(b, func(f field) (err error) {
		switch f.num {
		case 1:
			dims, err = varints(dims, f)
		case 2:
			t.dtype = int64(f.n)
		case 4:
			if f.typ == protowire.Fixed32Type {
				t.floats = append(t.floats, math.Float32frombits(uint32(f.n)))
				return nil
			}
			for d := f.data; len(d) >= 4; d = d[4:] {
				t.floats = append(t.floats, math.Float32frombits(binary.LittleEndian.Uint32(d)))
			}
		case 5, 7:
			t.ints, err = varints(t.ints, f)
		case 8:
			t.name = string(f.data)
		case 9:
			t.raw = f.data
		case 10:
			if f.typ == protowire.Fixed64Type {
				t.doubles = append(t.doubles, math.Float64frombits(f.n))
				return nil
			}
			for d := f.data; len(d) >= 8; d = d[8:] {
				t.doubles = append(t.doubles, math.Float64frombits(binary.LittleEndian.Uint64(d)))
			}
		case 13:
			t.external = true
		case 14:
			t.external = t.external || f.n == 1
		}
		return err
	})
	if err != nil {
		return t, err
	}
	size := 1
	for _, d := range dims {
		if d < 0 || d > maxValues || size > maxValues/max(int(d), 1) {
			return t, fmt.Errorf("tensor %q has impossible dimensions %v", t.name, dims)
		}
		size *= int(d)
		t.dims = append(t.dims, int(d))
	}
	return t, nil
}

func decodeValue(b []byte) (onnxValue, error) {
	var v onnxValue
	err := eachField(b, func(f field) error {
		switch f.num {
		case 1:
			v.name = string(f.data)
		case 2: // TypeProto
			return eachField(f.data, func(f field) error {
				if f.num != 1 { // tensor_type
					return nil
				}
				return eachField(f.data, func(f field) error {
					switch f.num {
					case 1:
						v.dtype = int64(f.n)
					case 2:
						v.known = true
						return v.decodeShape(f.data)
					}
					return nil
				})
			})
		}
		return nil
	})
	return v, err
}

func (v *onnxValue) decodeShape(b []byte) error {
	return eachField(b, func(f field) error {
		if f.num != 1 {
			return nil
		}
		dim := int64(0)
		err := eachField(f.data, func(f field) error {
			if f.num == 1 {
				dim = int64(f.n)
			}
			return nil
		})
		v.dims = append(v.dims, max(dim, 0))
		return err
	})
}
