package model

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
)

// The safetensors format: eight bytes of length, a JSON header of that length
// that maps names to types, shapes and offsets, then the data, little-endian
// and without gaps.

type safetensor struct {
	DType   string `json:"dtype"`
	Shape   []int  `json:"shape"`
	Offsets [2]int `json:"data_offsets"`
}

// maxHeader is the format's own limit.
const maxHeader = 100 << 20

func looksLikeSafetensors(b []byte) bool {
	return len(b) > 9 && b[8] == '{' && binary.LittleEndian.Uint64(b) < maxHeader
}

// readSafetensors decodes a file into its arrays (as float32; integer tensors,
// which only count batches, are left out) and its metadata.
func readSafetensors(b []byte) (Weights, map[string]string, error) {
	if len(b) < 8 {
		return nil, nil, errors.New("the file is too short to be a safetensors checkpoint")
	}
	n := binary.LittleEndian.Uint64(b)
	if n > maxHeader || n > uint64(len(b)-8) {
		return nil, nil, fmt.Errorf("its header claims %d bytes, the file has %d: it is cut short or not a safetensors checkpoint", n, len(b))
	}
	header := map[string]json.RawMessage{}
	if err := json.Unmarshal(b[8:8+n], &header); err != nil {
		return nil, nil, fmt.Errorf("its header is not JSON: %w", err)
	}
	meta := map[string]string{}
	if raw, ok := header["__metadata__"]; ok {
		if err := json.Unmarshal(raw, &meta); err != nil {
			return nil, nil, fmt.Errorf("its metadata is not a map of strings: %w", err)
		}
		delete(header, "__metadata__")
	}
	data := b[8+n:]
	w := Weights{}
	for _, name := range slices.Sorted(maps.Keys(header)) {
		var t safetensor
		if err := json.Unmarshal(header[name], &t); err != nil {
			return nil, nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		a, ok, err := t.decode(data)
		if err != nil {
			return nil, nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		if ok {
			w[name] = a
		}
	}
	return w, meta, nil
}

// decode reads one tensor; ok is false for integers.
func (t safetensor) decode(data []byte) (a Array, ok bool, err error) {
	sizes := map[string]int{"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1}
	width, known := sizes[t.DType]
	if !known {
		return a, false, fmt.Errorf("type %q is not one that lorica reads", t.DType)
	}
	size := 1
	for _, d := range t.Shape {
		if d < 0 || d > maxValues || size > maxValues/max(d, 1) {
			return a, false, fmt.Errorf("impossible shape %v", t.Shape)
		}
		size *= d
	}
	from, to := t.Offsets[0], t.Offsets[1]
	if from < 0 || to < from || to > len(data) {
		return a, false, fmt.Errorf("its data at %v lies outside the file's %d bytes", t.Offsets, len(data))
	}
	if to-from != size*width {
		return a, false, fmt.Errorf("%d bytes for shape %v of %s, expected %d", to-from, t.Shape, t.DType, size*width)
	}
	raw := data[from:to]
	a = Array{Shape: slices.Clone(t.Shape), Data: make([]float32, size)}
	if a.Shape == nil {
		a.Shape = []int{}
	}
	switch t.DType {
	case "F32":
		for i := range a.Data {
			a.Data[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		}
	case "F64":
		for i := range a.Data {
			a.Data[i] = float32(math.Float64frombits(binary.LittleEndian.Uint64(raw[8*i:])))
		}
	case "BF16":
		for i := range a.Data {
			a.Data[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(raw[2*i:])) << 16)
		}
	case "F16":
		for i := range a.Data {
			a.Data[i] = halfToFloat32(binary.LittleEndian.Uint16(raw[2*i:]))
		}
	default:
		return Array{}, false, nil
	}
	return a, true, nil
}

// halfToFloat32 widens IEEE half precision.
func halfToFloat32(h uint16) float32 {
	sign := uint32(h>>15) << 31
	exp, frac := uint32(h>>10)&0x1f, uint32(h)&0x3ff
	switch exp {
	case 0:
		v := float32(frac) / (1 << 24)
		return math.Float32frombits(math.Float32bits(v) | sign)
	case 31:
		return math.Float32frombits(sign | 0xff<<23 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}

// writeSafetensors encodes arrays in float32, in order of name.
func writeSafetensors(out io.Writer, w Weights, meta map[string]string) error {
	header := map[string]any{"__metadata__": meta}
	offset := 0
	names := slices.Sorted(maps.Keys(w))
	for _, name := range names {
		a := w[name]
		end := offset + 4*len(a.Data)
		shape := a.Shape
		if shape == nil {
			shape = []int{}
		}
		header[name] = safetensor{DType: "F32", Shape: shape, Offsets: [2]int{offset, end}}
		offset = end
	}
	h, err := json.Marshal(header) // map keys sorted: the same file for the same weights
	if err != nil {
		return err
	}
	for len(h)%8 != 0 { // data aligned, as the format asks
		h = append(h, ' ')
	}
	var b bytes.Buffer
	b.Grow(8 + len(h) + offset)
	b.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(h))))
	b.Write(h)
	buf := make([]byte, 0, 1<<16)
	for _, name := range names {
		for _, v := range w[name].Data {
			buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(v))
			if len(buf) == cap(buf) {
				b.Write(buf)
				buf = buf[:0]
			}
		}
	}
	b.Write(buf)
	_, err = out.Write(b.Bytes())
	return err
}
