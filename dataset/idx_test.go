package dataset

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"slices"
	"testing"
)

// idxFile is an idx file of bytes.
func idxFile(data []byte, dims ...int) []byte {
	out := []byte{0, 0, 8, byte(len(dims))}
	for _, d := range dims {
		out = binary.BigEndian.AppendUint32(out, uint32(d))
	}
	return append(out, data...)
}

func gzipped(data []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	z.Write(data)
	z.Close()
	return out.Bytes()
}

func TestIDX(t *testing.T) {
	images := idxFile([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 2, 2, 3)
	labels := idxFile([]byte{7, 9}, 2)
	plain, zipped := t.TempDir(), t.TempDir()
	writeTo(t, plain, "t10k-images-idx3-ubyte", images)
	writeTo(t, plain, "t10k-labels.idx1-ubyte", labels)
	writeTo(t, zipped, "t10k-images-idx3-ubyte.gz", gzipped(images))
	writeTo(t, zipped, "t10k-labels-idx1-ubyte.gz", gzipped(labels))
	var identities []string
	for _, dir := range []string{plain, zipped} {
		s, err := Open("idx:"+dir, "")
		if err != nil {
			t.Fatal(err)
		}
		c, h, w := s.Shape()
		if c != 1 || h != 2 || w != 3 || s.Len() != 2 || s.Label(0) != 7 || s.Label(1) != 9 || len(s.Classes()) != 10 {
			t.Errorf("shape %d %d %d, %d examples, %d classes", c, h, w, s.Len(), len(s.Classes()))
		}
		if pixels, err := s.Pixels(1, nil); err != nil || !slices.Equal(pixels, []byte{7, 8, 9, 10, 11, 12}) {
			t.Errorf("pixels %v, %v", pixels, err)
		}
		identities = append(identities, s.Identity())
	}
	if identities[0] != identities[1] {
		t.Errorf("the same data has two identities: %q", identities)
	}
	s, err := Open("idx:"+plain+"?names=a,b,c,d,e,f,g,h,i,j", "")
	if err != nil || s.Classes()[9] != "j" {
		t.Errorf("names: %v", err)
	}
	for _, test := range []struct{ spec, want string }{
		{"?classes=9", "label 9 of example 1 is not one of 9 classes"},
		{"?classes=x", "option classes"},
		{"?names=a", "option names"},
		{"?names=a,b&classes=2", "exclude each other"},
		{"?size=3", `unknown option "size"`},
	} {
		wantError(t, test.want, func() error { _, err := Open("idx:"+plain+test.spec, ""); return err })
	}
}

func TestBadIDX(t *testing.T) {
	good := idxFile([]byte{1, 2, 3, 4, 5, 6}, 1, 2, 3)
	labels := idxFile([]byte{7}, 1)
	for _, test := range []struct {
		name           string
		images, labels []byte
		want           string
	}{
		{"missing images", nil, labels, "t10k-images-idx3-ubyte"},
		{"missing labels", good, nil, "t10k-labels-idx1-ubyte"},
		{"cut", good[:len(good)-1], labels, "t10k-images-idx3-ubyte: cut short: 5 bytes of data"},
		{"cut header", good[:9], labels, "cut short in its header"},
		{"too long", append(slices.Clone(good), 0), labels, "more than the 6 bytes"},
		{"cut gzip", gzipped(good)[:20], labels, "t10k-images-idx3-ubyte: "},
		{"no idx", []byte("hello, this is text"), labels, "not an idx file"},
		{"swapped", labels, good, "not an idx file"},
		{"no size", idxFile(nil, 0, 2, 3), labels, "dimension 0 is 0"},
		{"huge", idxFile(nil, 1<<30, 1<<30, 1<<30), labels, "dimension"},
		{"other number", good, idxFile([]byte{7, 7}, 2), "has 1 images"},
		{"label", good, idxFile([]byte{10}, 1), "label 10 of example 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			if test.images != nil {
				writeTo(t, dir, "t10k-images-idx3-ubyte", test.images)
			}
			if test.labels != nil {
				writeTo(t, dir, "t10k-labels-idx1-ubyte", test.labels)
			}
			wantError(t, test.want, func() error { _, err := Open("idx:"+dir, "test"); return err })
		})
	}
}

func FuzzIDX(f *testing.F) {
	f.Add(idxFile([]byte{1, 2, 3, 4, 5, 6}, 1, 2, 3), 3)
	f.Add(gzipped(idxFile([]byte{1, 2}, 2)), 1)
	f.Fuzz(func(t *testing.T, data []byte, rank int) {
		if rank < 1 || rank > 4 {
			return
		}
		x, err := decodeIDX(bytes.NewReader(data), rank)
		if err != nil {
			return
		}
		size := 1
		for _, d := range x.dims {
			size *= d
		}
		if len(x.dims) != rank || size != len(x.data) {
			t.Fatalf("dimensions %v, %d bytes", x.dims, len(x.data))
		}
	})
}
