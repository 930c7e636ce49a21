package counts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// UnmarshalJSON reads a header and checks it.
func (h *Header) UnmarshalJSON(line []byte) error {
	var got Header
	seen := map[string]bool{}
	err := eachField(line, func(key string, raw json.RawMessage) error {
		seen[key] = true
		switch key {
		case "lorica":
			return decodeField(raw, &got.Lorica)
		case "version":
			return decodeField(raw, &got.Version)
		case "classes":
			return decodeField(raw, &got.Classes)
		case "names":
			return decodeField(raw, &got.Names)
		case "sigma":
			return decodeField(raw, &got.Sigma)
		case "n0":
			return decodeField(raw, &got.N0)
		case "n":
			return decodeField(raw, &got.N)
		case "seed":
			return decodeField(raw, &got.Seed)
		case "model":
			return got.Model.UnmarshalJSON(raw)
		case "data":
			return decodeField(raw, &got.Data)
		case "split":
			return decodeField(raw, &got.Split)
		case "engine":
			return decodeField(raw, &got.Engine)
		case "chunk":
			return decodeField(raw, &got.Chunk)
		}
		keep(&got.Extra, key, raw)
		return nil
	})
	if err != nil {
		return err
	}
	for _, key := range []string{"lorica", "version", "classes", "sigma", "n0", "n"} {
		if !seen[key] {
			return fmt.Errorf("not a header of a counts file: field %q is missing", key)
		}
	}
	if err := got.Validate(); err != nil {
		return err
	}
	*h = got
	return nil
}

// UnmarshalJSON reads a model's name.
func (m *Model) UnmarshalJSON(raw []byte) error {
	*m = Model{}
	return eachField(raw, func(key string, raw json.RawMessage) error {
		switch key {
		case "path":
			return decodeField(raw, &m.Path)
		case "sha256":
			return decodeField(raw, &m.SHA256)
		}
		keep(&m.Extra, key, raw)
		return nil
	})
}

// decodeRecord reads any record line that is JSON, by encoding/json. It says
// what a record means; scanRecord is its fast path for the usual line.
func decodeRecord(line []byte, h *Header, rec *Record) error {
	rec.reset(h)
	seen := map[string]bool{}
	err := eachField(line, func(key string, raw json.RawMessage) (err error) {
		seen[key] = true
		switch key {
		case "index":
			rec.Index, err = decodeInt[int](raw)
		case "label":
			rec.Label, err = decodeInt[int](raw)
		case "n":
			rec.N, err = decodeInt[int64](raw)
		case "invalid_select":
			rec.InvalidSelect, err = decodeInt[int64](raw)
		case "invalid":
			rec.Invalid, err = decodeInt[int64](raw)
		case "select":
			err = decodeCounts(raw, rec.Select)
		case "count":
			err = decodeCounts(raw, rec.Count)
		default:
			keep(&rec.Extra, key, raw)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, key := range []string{"index", "label", "select", "count"} {
		if !seen[key] {
			return fmt.Errorf("field %q is missing", key)
		}
	}
	return rec.Validate(h)
}

// decodeCounts reads {"class": count} into a slice of zeros.
func decodeCounts(raw json.RawMessage, dst []int64) error {
	return eachField(raw, func(key string, raw json.RawMessage) error {
		class, err := strconv.Atoi(key)
		if err != nil || strconv.Itoa(class) != key || class < 0 || class >= len(dst) {
			return fmt.Errorf("class %q is not one of %d classes", key, len(dst))
		}
		dst[class], err = decodeInt[int64](raw)
		return err
	})
}

// eachField calls f for every field of a JSON object, in order. encoding/json
// alone would take the last of two equal fields, any case of a name, and null
// for everything; a count must not depend on such a choice.
func eachField(raw []byte, f func(key string, raw json.RawMessage) error) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil {
		return badJSON(err)
	} else if t != json.Delim('{') {
		return errors.New("not a JSON object")
	}
	seen := map[string]bool{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return badJSON(err)
		}
		key := t.(string) // inside an object More is followed by a name or an error
		if seen[key] {
			return fmt.Errorf("field %q stands twice", key)
		}
		seen[key] = true
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return badJSON(err)
		}
		if err := f(key, value); err != nil {
			return fmt.Errorf("field %q: %w", key, err)
		}
	}
	if _, err := dec.Token(); err != nil {
		return badJSON(err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("something stands after the JSON object")
	}
	return nil
}

func badJSON(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errors.New("not JSON: the line ends too early")
	}
	return fmt.Errorf("not JSON: %w", err)
}

func decodeField(raw json.RawMessage, dst any) error {
	if string(raw) == "null" {
		return errors.New("null is not a value")
	}
	return json.Unmarshal(raw, dst)
}

func decodeInt[T int | int64](raw json.RawMessage) (T, error) {
	k, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || int64(T(k)) != k {
		return 0, fmt.Errorf("%s is not a whole number in range", raw)
	}
	return T(k), nil
}

func keep(extra *map[string]json.RawMessage, key string, raw json.RawMessage) {
	if *extra == nil {
		*extra = map[string]json.RawMessage{}
	}
	(*extra)[key] = bytes.Clone(raw)
}

// reset makes rec the empty record of a header, reusing its slices.
func (r *Record) reset(h *Header) {
	clean := func(s []int64) []int64 {
		if cap(s) < h.Classes {
			return make([]int64, h.Classes)
		}
		s = s[:h.Classes]
		clear(s)
		return s
	}
	*r = Record{Select: clean(r.Select), Count: clean(r.Count), N: h.N}
}
