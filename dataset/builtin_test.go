package dataset

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"sync"
	"testing"
)

func TestBuiltin(t *testing.T) {
	s, err := Open("builtin", "")
	if err != nil {
		t.Fatal(err)
	}
	c, h, w := s.Shape()
	if s.Len() != 101 || len(builtinIndices) != 101 || s.Split() != "test" || c != 3 || h != 32 || w != 32 {
		t.Errorf("%d examples, %d indices, split %q, shape %d %d %d", s.Len(), len(builtinIndices), s.Split(), c, h, w)
	}
	var perClass [10]int
	for i := range s.Len() {
		perClass[s.Label(i)]++
	}
	if want := [10]int{9, 9, 9, 20, 9, 9, 9, 9, 9, 9}; perClass != want {
		t.Errorf("examples a class: %v, want %v", perClass, want)
	}
	if !slices.IsSorted(builtinIndices) {
		t.Error("the sample is not in test order")
	}
	// The labels of these images of CIFAR-10's test set: 0, 20, 40, 60, 61, ...
	for i, want := range []string{"cat", "horse", "deer", "horse", "cat", "cat", "ship", "deer", "cat", "ship"} {
		if got := s.Classes()[s.Label(i)]; got != want {
			t.Errorf("example %d is %s, want %s", i, got, want)
		}
	}
	if got := s.Name(100); got != "test_batch.bin#2680" {
		t.Errorf("name %q", got)
	}
}

func TestImageIsPixels(t *testing.T) {
	s, err := Open("builtin", "test")
	if err != nil {
		t.Fatal(err)
	}
	var pixels []byte
	var image []float32
	var spread [256]int
	for i := range s.Len() {
		if pixels, err = s.Pixels(i, pixels); err != nil {
			t.Fatal(err)
		}
		if image, err = s.Image(i, image); err != nil {
			t.Fatal(err)
		}
		for k, v := range pixels {
			spread[v]++
			if image[k] != float32(v)/255 || image[k] < 0 || image[k] > 1 {
				t.Fatalf("example %d value %d: byte %d, float %v", i, k, v, image[k])
			}
		}
	}
	for v, n := range spread {
		if n == 0 {
			t.Errorf("no pixel has the value %d: not photographs", v)
		}
	}
	for _, i := range []int{-1, 101} {
		if _, err := s.Image(i, nil); err == nil {
			t.Errorf("image %d was there", i)
		}
	}
}

// TestManyGoroutines fails under the race detector, or by its digests, where
// images share memory.
func TestManyGoroutines(t *testing.T) {
	s, err := Open("builtin", "")
	if err != nil {
		t.Fatal(err)
	}
	digests := make([]string, 8)
	var wg sync.WaitGroup
	for g := range digests {
		wg.Go(func() {
			h := sha256.New()
			for i := range s.Len() {
				image, err := s.Image(i, nil)
				if err != nil {
					t.Error(err)
					return
				}
				binary.Write(h, binary.LittleEndian, image)
			}
			digests[g] = digest(h)
		})
	}
	wg.Wait()
	if len(slices.Compact(digests)) != 1 {
		t.Errorf("digests differ: %v", digests)
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, test := range []struct{ spec, split, want string }{
		{"", "", "unknown data set"},
		{"imagenet", "", "unknown data set"},
		{"builtin", "train", `no split "train"`},
		{"builtin:DIR", "", "takes no folder"},
		{"builtin:?resize=3", "", `unknown option "resize"`},
		{"cifar10", "", "write cifar10:DIR"},
		{"cifar10:missing-folder", "", "missing-folder"},
		{"cifar10:x", "val", `no split "val"`},
	} {
		wantError(t, test.want, func() error { _, err := Open(test.spec, test.split); return err })
	}
}
