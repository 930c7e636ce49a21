package model

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func trained(t *testing.T) *Model {
	t.Helper()
	m, err := New(Meta{Architecture: "lenet", Classes: 10, Sigma: 0.5, Method: "gaussian", Data: "mnist", Seed: 3,
		History: []byte(`[{"epoch":1}]`)}, NormalisationFor("mnist", 1))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestCheckpointRoundTrip(t *testing.T) {
	m := trained(t)
	file := filepath.Join(t.TempDir(), "model.safetensors")
	state := Weights{"momentum.fc3.bias": {Shape: []int{2}, Data: []float32{1, 2}}}
	if err := m.Save(file, state); err != nil {
		t.Fatal(err)
	}
	got, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Weights, m.Weights) {
		t.Error("weights changed on the way")
	}
	if !reflect.DeepEqual(got.State, state) || !reflect.DeepEqual(got.Meta, m.Meta) {
		t.Errorf("state %v, metadata %+v, want %v, %+v", got.State, got.Meta, state, m.Meta)
	}
	if got.Kind != Checkpoint || got.Labels != 10 || got.Image != (Shape{1, 28, 28}) || len(got.SHA256) != 64 {
		t.Errorf("loaded %+v", got)
	}
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v: temporary files were left", entries)
	}
}

// A PyTorch state_dict has no metadata of lorica's and counts batches.
func TestStateDict(t *testing.T) {
	n, err := NewArchitecture("resnet20", Shape{}, 7)
	if err != nil {
		t.Fatal(err)
	}
	w, err := n.Init(1, NormalisationFor("cifar10", 3))
	if err != nil {
		t.Fatal(err)
	}
	w["mean"] = Array{Shape: []int{1, 3, 1, 1}, Data: w["norm.shift"].Data}
	w["std"] = Array{Shape: []int{1, 3, 1, 1}, Data: []float32{.2023, .1994, .2010}}
	delete(w, "norm.shift")
	delete(w, "norm.scale")
	var b bytes.Buffer
	if err := writeSafetensors(&b, w, map[string]string{"format": "pt"}); err != nil {
		t.Fatal(err)
	}
	m, err := Parse("state.safetensors", withCounter(t, b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if m.Meta.Architecture != "resnet20" || m.Labels != 7 || m.Image != (Shape{3, 32, 32}) {
		t.Errorf("read as %+v with %d classes", m.Meta, m.Labels)
	}
}

// withCounter adds the int64 scalar that PyTorch's batch norm keeps.
func withCounter(t *testing.T, file []byte) []byte {
	t.Helper()
	n := binary.LittleEndian.Uint64(file)
	header := map[string]any{}
	if err := json.Unmarshal(file[8:8+n], &header); err != nil {
		t.Fatal(err)
	}
	data := file[8+n:]
	header["bn.num_batches_tracked"] = safetensor{DType: "I64", Shape: []int{}, Offsets: [2]int{len(data), len(data) + 8}}
	h, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(h)))
	return append(append(append(out, h...), data...), 9, 0, 0, 0, 0, 0, 0, 0)
}

func TestCheckpointErrors(t *testing.T) {
	m := trained(t)
	save := func(change func(w Weights)) []byte {
		file := filepath.Join(t.TempDir(), "m.safetensors")
		if err := m.Save(file, nil); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		w, meta, err := readSafetensors(b)
		if err != nil {
			t.Fatal(err)
		}
		change(w)
		var out bytes.Buffer
		if err := writeSafetensors(&out, w, meta); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	whole := save(func(Weights) {})
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"missing", save(func(w Weights) { delete(w, "conv2.bias") }), `"conv2.bias" is missing`},
		{"unexpected", save(func(w Weights) { w["conv9.bias"] = Array{Shape: []int{1}, Data: []float32{1}} }), `"conv9.bias" is not a parameter`},
		{"wrong shape", save(func(w Weights) { w["fc1.bias"] = Array{Shape: []int{3}, Data: make([]float32, 3)} }), `"fc1.bias" has shape [3], expected [120]`},
		{"no normalisation", save(func(w Weights) { delete(w, "mean") }), `"mean" and "std"`},
		{"cut short", whole[:len(whole)-5], "lies outside the file"},
		{"cut in the header", whole[:100], "cut short"},
	} {
		_, err := Parse("x.safetensors", c.file)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}

func FuzzSafetensors(f *testing.F) {
	var b bytes.Buffer
	if err := writeSafetensors(&b, Weights{"a": {Shape: []int{2, 1}, Data: []float32{1, 2}}, "s": {Data: []float32{3}}}, map[string]string{"k": "v"}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Add([]byte("\x02\x00\x00\x00\x00\x00\x00\x00{}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		w, meta, err := readSafetensors(b)
		if err != nil {
			return
		}
		// What could be read can be written and read again.
		var out bytes.Buffer
		if err := writeSafetensors(&out, w, meta); err != nil {
			t.Fatal(err)
		}
		again, _, err := readSafetensors(out.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if len(again) != len(w) {
			t.Fatalf("%d tensors became %d", len(w), len(again))
		}
	})
}
