package dataset

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// wantError fails unless f returns an error that contains want.
func wantError(t *testing.T, want string, f func() error) {
	t.Helper()
	if err := f(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v does not contain %q", err, want)
	}
}

// cifarBatch is a well-formed file: the label of record i is i%10, its pixels
// are all byte(i).
func cifarBatch() []byte {
	data := make([]byte, cifarFile)
	for i := range 10000 {
		r := data[i*cifarRecord : (i+1)*cifarRecord]
		r[0] = byte(i % 10)
		for k := range r[1:] {
			r[1+k] = byte(i)
		}
	}
	return data
}

func writeTo(t *testing.T, dir, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCIFAR10(t *testing.T) {
	dir := t.TempDir()
	batch := cifarBatch()
	path := writeTo(t, dir, "cifar-10-batches-bin/test_batch.bin", batch)
	for i := range 5 { // the same 30 MB five times more
		if err := os.Symlink(path, filepath.Join(filepath.Dir(path), fmt.Sprintf("data_batch_%d.bin", i+1))); err != nil {
			t.Fatal(err)
		}
	}
	for split, n := range map[string]int{"test": 10000, "train": 50000} {
		s, err := Open("cifar10:"+dir, split)
		if err != nil {
			t.Fatal(err)
		}
		if s.Len() != n || s.Label(9) != 9 {
			t.Errorf("%s: %d examples, label 9 is %d", split, s.Len(), s.Label(9))
		}
		pixels, err := s.Pixels(n-1, nil)
		if err != nil || !bytes.Equal(pixels, bytes.Repeat([]byte{9999 & 255}, cifarPixels)) {
			t.Errorf("%s: last image %v, %v", split, pixels[:4], err)
		}
		if split == "train" && s.Name(20003) != "data_batch_3.bin#3" {
			t.Errorf("name %q", s.Name(20003))
		}
	}
}

func TestBadCIFAR10(t *testing.T) {
	dir := t.TempDir()
	batch := cifarBatch()
	path := writeTo(t, dir, "test_batch.bin", batch[:cifarFile-1])
	open := func() error { _, err := Open("cifar10:"+dir, "test"); return err }
	wantError(t, path+" has 30729999 bytes", open)
	batch[7*cifarRecord] = 10
	writeTo(t, dir, "test_batch.bin", batch)
	wantError(t, path+": record 7 has label 10", open)
	wantError(t, "data_batch_1.bin", func() error { _, err := Open("cifar10:"+dir, "train"); return err })
}

func FuzzCIFAR(f *testing.F) {
	f.Add(cifarBatch()[:2*cifarRecord])
	f.Add([]byte{3})
	f.Fuzz(func(t *testing.T, data []byte) {
		labels, pixels, err := decodeCIFAR(data, nil, nil)
		if err != nil {
			return
		}
		if len(labels)*cifarRecord != len(data) || len(pixels) != len(labels)*cifarPixels {
			t.Fatalf("%d labels and %d pixels from %d bytes", len(labels), len(pixels), len(data))
		}
		for _, label := range labels {
			if label < 0 || label >= len(cifarClasses) {
				t.Fatalf("label %d", label)
			}
		}
	})
}
