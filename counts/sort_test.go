package counts

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// Whatever the order in which records were appended, the sorted file is the same.
func TestSortForgetsTheOrder(t *testing.T) {
	h := Header{Lorica: "counts", Version: 1, Classes: 2, Sigma: 0.5, N0: 2, N: 3, Data: "d", Model: Model{Path: "m"}}
	var want []byte
	for _, order := range [][]int{{0, 4, 9}, {9, 0, 4}, {4, 9, 0}} {
		path := filepath.Join(t.TempDir(), "counts.jsonl")
		w, _, err := Resume(path, h)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range order {
			if err := w.Append(Record{Index: i, Label: i % 2, Select: []int64{1, 1}, Count: []int64{int64(i % 4), 3 - int64(i%4)}, N: 3}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := Sort(path); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
		}
		if !bytes.Equal(got, want) {
			t.Errorf("order %v:\n%s\nwant\n%s", order, got, want)
		}
	}
	if err := Sort(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("sorting a missing file is no error")
	}
}
