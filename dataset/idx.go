package dataset

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// openIDX reads a data set of the MNIST family into memory: an image and a
// label file a split, under their usual names, gzipped or not.
func openIDX(dir, split string, opts *options) (*set, error) {
	split, err := wantSplit(split, "train", "test")
	if err != nil {
		return nil, err
	}
	prefix := map[string]string{"train": "train", "test": "t10k"}[split]
	imagePath, imageData, err := readIDX(dir, prefix, "images", 3)
	if err != nil {
		return nil, err
	}
	labelPath, labelData, err := readIDX(dir, prefix, "labels", 1)
	if err != nil {
		return nil, err
	}
	if imageData.dims[0] != labelData.dims[0] {
		return nil, fmt.Errorf("%s has %d images, %s has %d labels", imagePath, imageData.dims[0], labelPath, labelData.dims[0])
	}
	names, err := idxNames(opts, split, digestOf(labelData.data))
	if err != nil {
		return nil, err
	}
	labels := make([]int, len(labelData.data))
	for i, label := range labelData.data {
		if int(label) >= len(names) {
			return nil, fmt.Errorf("%s: label %d of example %d is not one of %d classes (option classes=N)", labelPath, label, i, len(names))
		}
		labels[i] = int(label)
	}
	s := newSet(1, imageData.dims[1], imageData.dims[2], labels, imageData.data)
	s.identity = "idx " + digestOf(fmt.Append(nil, imageData.dims), imageData.data, labelData.data)
	s.split = split
	s.classes = names
	s.name = func(i int) string { return fmt.Sprintf("%s#%d", filepath.Base(imagePath), i) }
	return s, nil
}

// fashionLabels are the digests of Fashion-MNIST's label files, whose names are
// those of MNIST's.
var fashionLabels = map[string]string{"train": "sha256:657fbd221bfc9f41", "test": "sha256:3d0e6c6ea990b53b"}

// idxNames are the names of the classes: the option names=a,b,..., those of
// Fashion-MNIST where it is that, else the numbers (ten, or classes=N).
func idxNames(opts *options, split, labels string) ([]string, error) {
	given, number := opts.get("names"), opts.get("classes")
	switch {
	case given != "" && number != "":
		return nil, errors.New("options names and classes exclude each other")
	case given != "":
		names := strings.Split(given, ",")
		if len(names) < 2 {
			return nil, fmt.Errorf("option names: %q is not a list of two classes or more", given)
		}
		return names, nil
	case number == "" && labels == fashionLabels[split]:
		return []string{"t-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle-boot"}, nil
	}
	n := 10
	if number != "" {
		var err error
		if n, err = strconv.Atoi(number); err != nil || n < 2 || n > 256 {
			return nil, fmt.Errorf("option classes: %q is not a number from 2 to 256", number)
		}
	}
	names := make([]string, n)
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	return names, nil
}

// readIDX finds and reads one file, such as t10k-images-idx3-ubyte.gz.
func readIDX(dir, prefix, kind string, rank int) (string, idx, error) {
	base := filepath.Join(dir, fmt.Sprintf("%s-%s-idx%d-ubyte", prefix, kind, rank))
	dotted := filepath.Join(dir, fmt.Sprintf("%s-%s.idx%d-ubyte", prefix, kind, rank))
	for _, path := range []string{base, base + ".gz", dotted, dotted + ".gz"} {
		f, err := os.Open(path)
		if os.IsNotExist(err) {
			continue
		} else if err != nil {
			return path, idx{}, err
		}
		defer f.Close()
		x, err := decodeIDX(f, rank)
		if err != nil {
			return path, idx{}, fmt.Errorf("%s: %w", path, err)
		}
		return path, x, nil
	}
	return base, idx{}, fmt.Errorf("neither %s nor %s.gz is there", base, filepath.Base(base))
}

// idx is an array of bytes.
type idx struct {
	dims []int
	data []byte
}

// decodeIDX reads an idx file of unsigned bytes: two zeros, the type 8, the
// number of dimensions, each as 32 bits big endian, then the bytes.
func decodeIDX(r io.Reader, rank int) (idx, error) {
	in := bufio.NewReader(r)
	if magic, err := in.Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b {
		z, err := gzip.NewReader(in)
		if err != nil {
			return idx{}, err
		}
		in = bufio.NewReader(z)
	}
	head := make([]byte, 4)
	if _, err := io.ReadFull(in, head); err != nil {
		return idx{}, fmt.Errorf("cut short in its header: %w", err)
	}
	if head[0] != 0 || head[1] != 0 || head[2] != 8 || int(head[3]) != rank {
		return idx{}, fmt.Errorf("begins with %x, not with 000008%02x: not an idx file of bytes in %d dimensions", head, rank, rank)
	}
	dims := make([]byte, 4*rank)
	if _, err := io.ReadFull(in, dims); err != nil {
		return idx{}, fmt.Errorf("cut short in its header: %w", err)
	}
	x := idx{}
	size := int64(1)
	for k := range rank {
		d := int64(binary.BigEndian.Uint32(dims[4*k:]))
		if d == 0 || size*d > 1<<34 {
			return idx{}, fmt.Errorf("dimension %d is %d", k, d)
		}
		size *= d
		x.dims = append(x.dims, int(d))
	}
	var buf bytes.Buffer // grows with what is there, not with what the header says
	n, err := io.Copy(&buf, io.LimitReader(in, size+1))
	switch {
	case err != nil:
		return idx{}, fmt.Errorf("after %d of %d bytes: %w", n, size, err)
	case n < size:
		return idx{}, fmt.Errorf("cut short: %d bytes of data, its header says %d", n, size)
	case n > size:
		return idx{}, fmt.Errorf("more than the %d bytes of data that its header says", size)
	}
	x.data = buf.Bytes()
	return x, nil
}
