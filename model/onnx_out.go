package model

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"google.golang.org/protobuf/encoding/protowire"
)

// The ONNX version that is written: operators as of opset 13, in which every
// runtime since 2021 agrees.
const (
	onnxIR    = 8
	onnxOpset = 13
)

// Names of the exported graph's input and output.
const (
	onnxInput  = "image"
	onnxOutput = "logits"
)

// ExportONNX writes the model as an ONNX file: images N x C x H x W in [0,1]
// in, logits N x K out, the batch dynamic, the normalisation inside and the
// batch norms folded into the convolutions. The file is whole or not there.
func (m *Model) ExportONNX(file string) error {
	b, err := m.onnx()
	if err != nil {
		return err
	}
	return writeAtomically(file, func(f *os.File) error {
		_, err := f.Write(b)
		return err
	})
}

// WriteONNX is ExportONNX to a writer.
func (m *Model) WriteONNX(out io.Writer) error {
	b, err := m.onnx()
	if err != nil {
		return err
	}
	_, err = out.Write(b)
	return err
}

// message is a protocol buffer under construction.
type message []byte

func (m *message) integer(field protowire.Number, v int64) {
	*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), uint64(v))
}

func (m *message) bytes(field protowire.Number, v []byte) {
	*m = protowire.AppendBytes(protowire.AppendTag(*m, field, protowire.BytesType), v)
}

func (m *message) text(field protowire.Number, v string) { m.bytes(field, []byte(v)) }

// onnxWriter collects nodes and initializers.
type onnxWriter struct{ graph message }

func (o *onnxWriter) node(op, name string, inputs []string, output string, attrs ...message) {
	var n message
	for _, in := range inputs {
		n.text(1, in)
	}
	n.text(2, output)
	n.text(3, name)
	n.text(4, op)
	for _, a := range attrs {
		n.bytes(5, a)
	}
	o.graph.bytes(1, n)
}

func intsAttr(name string, values ...int) message {
	var a message
	a.text(1, name)
	for _, v := range values {
		a.integer(8, int64(v))
	}
	a.integer(20, 7) // INTS
	return a
}

func intAttr(name string, value int) message {
	var a message
	a.text(1, name)
	a.integer(3, int64(value))
	a.integer(20, 2) // INT
	return a
}

func (o *onnxWriter) tensor(name string, shape []int, data []float32) {
	var t message
	for _, d := range shape {
		t.integer(1, int64(d))
	}
	t.integer(2, onnxFloat)
	t.text(8, name)
	raw := make([]byte, 0, 4*len(data))
	for _, v := range data {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	t.bytes(9, raw)
	o.graph.bytes(5, t)
}

// valueInfo describes a float tensor whose first axis is the batch.
func valueInfo(name string, dims ...int) message {
	var shape, tensor, typ, v message
	var batch message
	batch.text(2, "batch")
	shape.bytes(1, batch)
	for _, d := range dims {
		var dim message
		dim.integer(1, int64(d))
		shape.bytes(1, dim)
	}
	tensor.integer(1, onnxFloat)
	tensor.bytes(2, shape)
	typ.bytes(1, tensor)
	v.text(1, name)
	v.bytes(2, typ)
	return v
}

func (m *Model) onnx() ([]byte, error) {
	if m.Net == nil {
		return nil, fmt.Errorf("model %s is an ONNX graph already", m.Path)
	}
	net, w := m.Net.Fold(m.Weights)
	o := &onnxWriter{}
	names := make([]string, len(net.Layers))
	names[0] = onnxInput
	for i, l := range net.Layers {
		if i == 0 {
			continue
		}
		names[i] = fmt.Sprintf("v%d", i)
		if i == len(net.Layers)-1 {
			names[i] = onnxOutput
		}
		if err := o.layer(net, l, w, names, names[i]); err != nil {
			return nil, err
		}
	}
	o.graph.text(2, "classifier")
	s := net.Image()
	o.graph.bytes(11, valueInfo(onnxInput, s.C, s.H, s.W))
	o.graph.bytes(12, valueInfo(onnxOutput, net.Classes()))

	var opset, file message
	opset.text(1, "")
	opset.integer(2, onnxOpset)
	file.integer(1, onnxIR)
	file.text(2, "lorica")
	file.bytes(7, o.graph)
	file.bytes(8, opset)
	if len(file) > math.MaxInt32 {
		return nil, errors.New("the model is too large for one ONNX file (2 GiB)")
	}
	return file, nil
}

func (o *onnxWriter) layer(net *Net, l Layer, w Weights, names []string, out string) error {
	x := names[l.In[0]]
	label := l.Name
	if label == "" {
		label = out
	}
	param := func(suffix string, shape []int, data []float32) string {
		o.tensor(l.Name+suffix, shape, data)
		return l.Name + suffix
	}
	window := []message{intsAttr("kernel_shape", l.Kernel[:]...), intsAttr("strides", l.Stride[:]...), intsAttr("pads", l.Pad[:]...)}
	shape := net.Layers[l.In[0]].Out
	channels := []int{1, shape.C, 1, 1}
	if shape.Vector() {
		channels = []int{1, shape.C}
	}
	switch l.Op {
	case Affine:
		mid := out + ".centred"
		o.node("Sub", label+".sub", []string{x, param(".shift", channels, w[l.Name+".shift"].Data)}, mid)
		o.node("Mul", label+".mul", []string{mid, param(".scale", channels, w[l.Name+".scale"].Data)}, out)
	case BatchNorm:
		a, b := batchNormAffine(l, w)
		mid := out + ".scaled"
		o.node("Mul", label+".mul", []string{x, param(".a", channels, float32s(a))}, mid)
		o.node("Add", label+".add", []string{mid, param(".b", channels, float32s(b))}, out)
	case Conv:
		in := []string{x, param(".weight", w[l.Name+".weight"].Shape, w[l.Name+".weight"].Data)}
		if l.Bias {
			in = append(in, param(".bias", []int{l.Channels}, w[l.Name+".bias"].Data))
		}
		o.node("Conv", label, in, out, append(window, intAttr("group", l.Groups))...)
	case Relu:
		o.node("Relu", label, []string{x}, out)
	case Add:
		o.node("Add", label, []string{x, names[l.In[1]]}, out)
	case MaxPool:
		o.node("MaxPool", label, []string{x}, out, window...)
	case AvgPool:
		o.node("AveragePool", label, []string{x}, out, append(window, intAttr("count_include_pad", 1))...)
	case Mean:
		o.node("ReduceMean", label, []string{x}, out, intsAttr("axes", 2, 3), intAttr("keepdims", 0))
	case Flatten:
		o.node("Flatten", label, []string{x}, out, intAttr("axis", 1))
	case Dense:
		in := []string{x, param(".weight", w[l.Name+".weight"].Shape, w[l.Name+".weight"].Data)}
		if l.Bias {
			in = append(in, param(".bias", []int{l.Channels}, w[l.Name+".bias"].Data))
		}
		o.node("Gemm", label, in, out, intAttr("transB", 1))
	default:
		return fmt.Errorf("layer %q: operation %q cannot be exported", l.Name, l.Op)
	}
	return nil
}
