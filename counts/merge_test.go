package counts

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMerge(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	h := parseHeader(t, testHeader)
	writeFile(t, at("a"), h, 7, 2, 5)
	b := writeFile(t, at("b"), h, 5, 0, 3)
	want := writeFile(t, at("want"), h, 0, 2, 3, 5, 7)
	if err := os.WriteFile(at("b"), append(b, `{"index":11`...), 0o600); err != nil {
		t.Fatal(err)
	}
	did, err := Merge(at("out"), at("a"), at("b"))
	if err != nil {
		t.Fatal(err)
	}
	if did.Records != 5 || did.Repeats != 1 || len(did.Cut) != 1 || did.Cut[0] != at("b") {
		t.Errorf("merged %+v", did)
	}
	if got, _ := os.ReadFile(at("out")); !bytes.Equal(got, want) {
		t.Errorf("merged to\n%swant\n%s", got, want)
	}
	if _, err := Merge(at("out"), at("a")); err == nil || !strings.Contains(err.Error(), "never overwrites") {
		t.Errorf("merge over a file: %v", err)
	}
}

func TestMergeRefuses(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	h := parseHeader(t, testHeader)
	a := writeFile(t, at("a"), h, 7, 2, 5)
	changed := bytes.Replace(a, []byte(`"select":{"0":3,"1":7}`), []byte(`"select":{"0":4,"1":6}`), 2)
	if err := os.WriteFile(at("conflict"), changed, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Merge(at("out"), at("a"), at("conflict"))
	if err == nil || !strings.Contains(err.Error(), at("a")+":2 and "+at("conflict")+":2 disagree about index 7") {
		t.Errorf("conflict: %v", err)
	}
	h.Seed++
	writeFile(t, at("seed"), h, 1)
	_, err = Merge(at("out"), at("a"), at("seed"))
	if err == nil || !strings.Contains(err.Error(), `"seed"`) || !strings.Contains(err.Error(), at("seed")) {
		t.Errorf("other seed: %v", err)
	}
	if _, err := os.Stat(at("out")); !os.IsNotExist(err) {
		t.Errorf("a refused merge left a file: %v", err)
	}
	if left, _ := filepath.Glob(at(".out*")); len(left) != 0 {
		t.Errorf("a refused merge left %v", left)
	}
}
