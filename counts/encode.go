package counts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// The encoding is canonical: fields in a fixed order, classes ascending, zero
// counts left out, unknown fields last by name. Equal records are equal bytes.

// MarshalJSON gives the header's canonical line, without its newline.
func (h Header) MarshalJSON() ([]byte, error) {
	var o object
	o.add("lorica", h.Lorica)
	o.add("version", h.Version)
	o.add("classes", h.Classes)
	if h.Names != nil {
		o.add("names", h.Names)
	}
	o.add("sigma", h.Sigma)
	o.add("n0", h.N0)
	o.add("n", h.N)
	o.add("seed", h.Seed)
	o.add("model", h.Model)
	o.add("data", h.Data)
	if h.Split != "" {
		o.add("split", h.Split)
	}
	if h.Engine != "" {
		o.add("engine", h.Engine)
	}
	if h.Chunk != 0 {
		o.add("chunk", h.Chunk)
	}
	return o.close(h.Extra)
}

// MarshalJSON gives the model's canonical form.
func (m Model) MarshalJSON() ([]byte, error) {
	var o object
	o.add("path", m.Path)
	if m.SHA256 != "" {
		o.add("sha256", m.SHA256)
	}
	return o.close(m.Extra)
}

// object builds a JSON object field by field.
type object struct {
	buf []byte
	err error
}

func (o *object) add(key string, value any) {
	if o.err != nil {
		return
	}
	var raw []byte
	if raw, o.err = json.Marshal(value); o.err == nil {
		o.buf, o.err = appendField(o.buf, key, raw)
	}
}

func (o *object) close(extra map[string]json.RawMessage) ([]byte, error) {
	for _, key := range sortedKeys(extra) {
		o.add(key, extra[key])
	}
	return append(o.buf, '}'), o.err
}

// appendRecord appends a record's canonical line, without its newline. The
// record has been validated under h.
func appendRecord(dst []byte, h *Header, r *Record) (line []byte, err error) {
	dst = append(dst, `{"index":`...)
	dst = strconv.AppendInt(dst, int64(r.Index), 10)
	dst = append(dst, `,"label":`...)
	dst = strconv.AppendInt(dst, int64(r.Label), 10)
	dst = appendCounts(append(dst, `,"select":`...), r.Select)
	dst = appendCounts(append(dst, `,"count":`...), r.Count)
	if r.N != h.N {
		dst = strconv.AppendInt(append(dst, `,"n":`...), r.N, 10)
	}
	if r.InvalidSelect != 0 {
		dst = strconv.AppendInt(append(dst, `,"invalid_select":`...), r.InvalidSelect, 10)
	}
	if r.Invalid != 0 {
		dst = strconv.AppendInt(append(dst, `,"invalid":`...), r.Invalid, 10)
	}
	for _, key := range sortedKeys(r.Extra) {
		switch key {
		case "index", "label", "select", "count", "n", "invalid_select", "invalid":
			return nil, fmt.Errorf("extra field %q has the name of a known one", key)
		}
		if dst, err = appendField(dst, key, r.Extra[key]); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

func appendCounts(dst []byte, counts []int64) []byte {
	dst = append(dst, '{')
	first := true
	for class, k := range counts {
		if k == 0 {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(dst, '"')
		dst = strconv.AppendInt(dst, int64(class), 10)
		dst = append(dst, `":`...)
		dst = strconv.AppendInt(dst, k, 10)
	}
	return append(dst, '}')
}

// appendField appends one field, opening the object where dst is empty.
func appendField(dst []byte, key string, raw json.RawMessage) ([]byte, error) {
	if len(dst) == 0 {
		dst = append(dst, '{')
	} else {
		dst = append(dst, ',')
	}
	name, err := json.Marshal(key)
	if err != nil {
		return nil, err
	}
	value, err := compact(raw)
	if err != nil {
		return nil, fmt.Errorf("field %q: %w", key, err)
	}
	return append(append(append(dst, name...), ':'), value...), nil
}

// compact removes white space: a line must stay a line, and equal values equal
// bytes.
func compact(raw json.RawMessage) ([]byte, error) {
	var buf bytes.Buffer
	err := json.Compact(&buf, raw)
	return buf.Bytes(), err
}

func sortedKeys(m map[string]json.RawMessage) []string {
	if len(m) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(m))
}
