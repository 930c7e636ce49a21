// Package dataset reads real image data: it decodes, verifies, indexes and
// preprocesses, and gives every example a number that stays.
//
// A set is verified when it is opened as far as that needs no decoding of
// images: sizes, labels, the presence of files. Labels are then known without
// touching an image; images are decoded when asked for, by any number of
// goroutines at once. What is wrong is an error that names the file.
//
// An image is 8-bit until the end: decoding, resizing and cropping are integer
// arithmetic, so that a pixel is the same on every machine. Package dataset
// never normalises: noise is added in pixel units, and normalisation belongs
// to the model.
package dataset

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// Set is an ordered collection of labelled images of one shape. All methods
// may be called from several goroutines.
type Set interface {
	// Len is the number of examples.
	Len() int
	// Label is the class of example i, for 0 <= i < Len.
	Label(i int) int
	// Image gives example i as channels x height x width values in [0,1]. It
	// uses dst where that is large enough.
	Image(i int, dst []float32) ([]float32, error)
	// Pixels gives the same as bytes; Image is Pixels/255.
	Pixels(i int, dst []byte) ([]byte, error)
	// Name says where example i comes from: a file, or a file and a position.
	Name(i int) string
	// Shape is the shape of every image.
	Shape() (channels, height, width int)
	// Classes are the names of the classes, in the order of the labels.
	Classes() []string
	// Identity names the data and its preprocessing, and holds a digest of
	// what was found, but no path: two sets with the same identity and split
	// have the same examples in the same order.
	Identity() string
	// Split is the part of the data: "train", "val", "test" or "all".
	Split() string
	// Warnings are doubts about the data that are no errors.
	Warnings() []string
}

// Specs is the help text for a data set's name on the command line.
const Specs = `  builtin        101 images of the CIFAR-10 test set that lorica carries
  cifar10:DIR    CIFAR-10, binary version (data_batch_1.bin ..., test_batch.bin)
  idx:DIR        the MNIST family, gzipped or not
  folder:DIR     one folder of JPEG or PNG images a class
  ham10000:DIR   HAM10000_metadata.csv and images`

// Open opens a data set by its name, such as "cifar10:DIR" or
// "folder:DIR?resize=192&crop=160". The empty split means "test", or "all"
// where the data is not divided.
func Open(spec, split string) (Set, error) {
	kind, rest, _ := strings.Cut(spec, ":")
	dir, query, _ := strings.Cut(rest, "?")
	if kind != "builtin" && dir == "" {
		if _, known := openers[kind]; known {
			return nil, fmt.Errorf("data set %q names no folder: write %s:DIR", spec, kind)
		}
	}
	open, ok := openers[kind]
	if !ok {
		return nil, fmt.Errorf("unknown data set %q: write builtin, cifar10:DIR, idx:DIR, folder:DIR or ham10000:DIR", spec)
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, fmt.Errorf("data set %q: %w", spec, err)
	}
	opts := options{values: values}
	s, err := open(dir, split, &opts)
	if err != nil {
		return nil, fmt.Errorf("data set %s: %w", kind, err)
	}
	if err := opts.unused(); err != nil {
		return nil, fmt.Errorf("data set %q: %w", spec, err)
	}
	return s, nil
}

var openers = map[string]func(dir, split string, opts *options) (*set, error){
	"builtin":  openBuiltin,
	"cifar10":  openCIFAR10,
	"idx":      openIDX,
	"folder":   openFolder,
	"ham10000": openHAM,
}

// set is a Set: what the formats share. pixels fills a slice of the image's
// size; it may be called from several goroutines.
type set struct {
	identity, split string
	c, h, w         int
	classes         []string
	labels          []int
	name            func(i int) string
	pixels          func(i int, dst []byte) error
	warnings        []string

	buffers sync.Pool // of *[]byte, for Image
}

func (s *set) Len() int             { return len(s.labels) }
func (s *set) Label(i int) int      { return s.labels[i] }
func (s *set) Name(i int) string    { return s.name(i) }
func (s *set) Shape() (c, h, w int) { return s.c, s.h, s.w }
func (s *set) Classes() []string    { return slices.Clone(s.classes) }
func (s *set) Identity() string     { return s.identity }
func (s *set) Split() string        { return s.split }
func (s *set) Warnings() []string   { return slices.Clone(s.warnings) }

func (s *set) Pixels(i int, dst []byte) ([]byte, error) {
	if i < 0 || i >= len(s.labels) {
		return nil, fmt.Errorf("example %d of a data set of %d", i, len(s.labels))
	}
	dst = slices.Grow(dst[:0], s.c*s.h*s.w)[:s.c*s.h*s.w]
	return dst, s.pixels(i, dst)
}

func (s *set) Image(i int, dst []float32) ([]float32, error) {
	buf, _ := s.buffers.Get().(*[]byte)
	if buf == nil {
		buf = new([]byte)
	}
	defer s.buffers.Put(buf)
	pixels, err := s.Pixels(i, *buf)
	if err != nil {
		return nil, err
	}
	*buf = pixels
	dst = slices.Grow(dst[:0], len(pixels))[:len(pixels)]
	for k, v := range pixels {
		dst[k] = float32(v) / 255
	}
	return dst, nil
}

// newSet makes a set of images that lie in memory, channels x height x width
// bytes each.
func newSet(c, h, w int, labels []int, pixels []byte) *set {
	size := c * h * w
	return &set{c: c, h: h, w: w, labels: labels, pixels: func(i int, dst []byte) error {
		copy(dst, pixels[i*size:])
		return nil
	}}
}

// options are the settings behind the question mark. Each is asked for once;
// what nobody asked for is a mistake.
type options struct {
	values url.Values
	asked  []string
}

func (o *options) get(key string) string {
	o.asked = append(o.asked, key)
	return o.values.Get(key)
}

func (o *options) unused() error {
	for key, values := range o.values {
		switch {
		case !slices.Contains(o.asked, key):
			return fmt.Errorf("unknown option %q; it has %s", key, strings.Join(append(o.asked, "no other"), ", "))
		case len(values) != 1:
			return fmt.Errorf("option %q stands %d times", key, len(values))
		}
	}
	return nil
}

// wantSplit resolves the empty split and refuses a split that the data does not
// have.
func wantSplit(split string, have ...string) (string, error) {
	if split == "" {
		if slices.Contains(have, "test") {
			return "test", nil
		}
		return have[0], nil
	}
	if !slices.Contains(have, split) {
		return "", fmt.Errorf("no split %q; it has %s", split, strings.Join(have, ", "))
	}
	return split, nil
}

// digest is the part of an identity that tells contents apart.
func digest(h hash.Hash) string { return "sha256:" + hex.EncodeToString(h.Sum(nil))[:16] }

func digestOf(data ...[]byte) string {
	h := sha256.New()
	for _, d := range data {
		h.Write(d)
	}
	return digest(h)
}
