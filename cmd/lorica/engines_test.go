package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"lorica/model"
)

func TestEnginesCommand(t *testing.T) {
	code, out, _ := lorica(t, "engines")
	if code != exitDone || !strings.HasPrefix(out, "cpu ") {
		t.Errorf("exit %d, output %q", code, out)
	}
}

func TestBenchCommand(t *testing.T) {
	code, out, errs := lorica(t, "bench", "--batch", "8", "--seconds", "0.01", "--limits=false", "--check", "10", "--json")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	var r benchResult
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	if r.PerSecond <= 0 || r.Batch != 8 || r.CheckDraws != 10 || r.CheckDiff != 0 || r.Cost.FLOPs < 80e6 || r.Cost.FLOPs > 83e6 {
		t.Errorf("result %+v", r)
	}
	for _, args := range [][]string{
		{"bench", "--engine", "tpu"},
		{"bench", "--engine", "xla:nowhere"},
		{"bench", "--precision", "float8"},
		{"bench", "--model", "builtin:nobody"},
	} {
		if code, _, errs := lorica(t, args...); code == exitDone || errs == "" {
			t.Errorf("%v: exit %d, %q", args, code, errs)
		}
	}
}

func TestExportCommand(t *testing.T) {
	dir := t.TempDir()
	m, err := model.New(model.Meta{Architecture: "lenet", Classes: 4}, model.NormalisationFor("mnist", 1))
	if err != nil {
		t.Fatal(err)
	}
	ckpt, file := filepath.Join(dir, "m.safetensors"), filepath.Join(dir, "m.onnx")
	if err := m.Save(ckpt, nil); err != nil {
		t.Fatal(err)
	}
	code, out, errs := lorica(t, "export", ckpt, "-o", file)
	if code != exitDone || !strings.Contains(out, "lenet for 1x28x28 images and 4 classes") {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	back, err := model.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if back.Labels != 4 || back.Image != m.Image {
		t.Errorf("came back as %+v", back)
	}
	if code, _, _ := lorica(t, "export", ckpt); code != exitUsage {
		t.Errorf("without -o: exit %d", code)
	}
	if code, _, errs := lorica(t, "export", filepath.Join(dir, "none"), "-o", file); code != exitFailed || !strings.Contains(errs, "none") {
		t.Errorf("missing file: exit %d, %q", code, errs)
	}
}
