package cluster

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"lorica/draw"
)

// Spec is what a worker must know of a run: everything that a draw depends on
// except its identity and the image.
type Spec struct {
	Protocol int    `json:"protocol"`
	Version  string `json:"version"` // of lorica; a worker's must be the same
	Name     string `json:"name"`    // stays when a coordinator is started again
	Run      string `json:"run"`     // one start of a coordinator
	Title    string `json:"title,omitempty"`

	Model      string `json:"model"` // sha256 of the model's bytes, in hex
	ModelName  string `json:"model_name,omitempty"`
	ModelBytes int64  `json:"model_bytes"`

	// Engine is the engine and precision that every worker must have, as the
	// counts' header names it; "" is that of the first worker to join. With
	// Mixed any engine may take part.
	Engine string `json:"engine"`
	Mixed  bool   `json:"mixed,omitempty"`
	// Options is what a worker's builder needs besides: opaque to this package.
	Options map[string]string `json:"options,omitempty"`

	Sigma   float64 `json:"sigma"`
	Classes int     `json:"classes"`
	Image   [3]int  `json:"image"` // channels, height, width
	Chunk   int     `json:"chunk"` // draws in a chunk, at most
}

// Pixels is the number of values in an image.
func (s Spec) Pixels() int { return s.Image[0] * s.Image[1] * s.Image[2] }

// Validate names the first field that makes no sense. Workers call it too: a
// spec comes from the network.
func (s Spec) Validate() error {
	for _, d := range s.Image {
		if d < 1 || d > maxPixels {
			return fmt.Errorf("image is %v: channels, height and width must be positive", s.Image)
		}
	}
	hash, err := hex.DecodeString(s.Model)
	switch {
	case s.Image[0]*s.Image[1] > maxPixels || s.Pixels() > maxPixels:
		return fmt.Errorf("image is %v: more than %d values", s.Image, maxPixels)
	case !token(s.Name) || !token(s.Run):
		return fmt.Errorf("name %q and run %q must be letters and digits", clip(s.Name), clip(s.Run))
	case err != nil || len(hash) != 32:
		return fmt.Errorf("model is %q: a sha256 in hex was expected", clip(s.Model))
	case s.ModelBytes < 0 || s.ModelBytes > maxModelBytes:
		return fmt.Errorf("model has %d bytes: at most %d fit", s.ModelBytes, int64(maxModelBytes))
	case !(s.Sigma > 0) || math.IsInf(s.Sigma, 0):
		return fmt.Errorf("sigma is %g: the noise level must be a positive number", s.Sigma)
	case s.Classes < 2 || s.Classes > maxClasses:
		return fmt.Errorf("classes is %d: 2 to %d were expected", s.Classes, maxClasses)
	case s.Chunk < 1 || s.Chunk > math.MaxInt32:
		return fmt.Errorf("chunk is %d: a unit of work has at least one draw", s.Chunk)
	}
	return nil
}

// token says whether s can stand in a subject and a key as it is.
func token(s string) bool {
	for _, c := range []byte(s) {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
			return false
		}
	}
	return len(s) > 0 && len(s) <= 64
}

// clip bounds a text from the network before it is shown or kept, and takes
// out what could write on a terminal.
func clip(s string) string {
	if len(s) > maxText {
		s = s[:maxText] + "..."
	}
	clean := []rune(s)
	for i, r := range clean {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			clean[i] = ' '
		}
	}
	return string(clean)
}

// order is a chunk on its way to a worker.
type order struct {
	ID uint64 `json:"id"` // unique in its run
	draw.Chunk
}

func decodeOrder(data []byte, s *Spec) (order, error) {
	var o order
	if err := decode(data, maxChunkMsg, &o); err != nil {
		return o, err
	}
	if o.Count < 1 || o.Count > s.Chunk || o.First < 0 || o.First > math.MaxUint32-int64(o.Count) ||
		o.Example < 0 || int64(o.Example) > math.MaxUint32 || o.Phase > draw.Estimate {
		return o, fmt.Errorf("chunk %+v makes no sense", o)
	}
	return o, nil
}

// hello is a worker's request to join a run; welcome is the answer.
type hello struct {
	Worker   string `json:"worker"`
	Protocol int    `json:"protocol"`
	Version  string `json:"version"`
	Engine   string `json:"engine"`
	Model    string `json:"model"` // sha256 of the bytes that it loaded
	Classes  int    `json:"classes"`
	Capacity int    `json:"capacity"` // chunks that it holds at once
}

type welcome struct {
	Member string `json:"member,omitempty"` // to be shown with every message
	Beat   int64  `json:"beat,omitempty"`   // nanoseconds between life signs
	Reason string `json:"reason,omitempty"` // why not
}

// beat is a sign of life; the answer to it is a verdict.
type beat struct {
	Member  string `json:"member"`
	Leaving bool   `json:"leaving,omitempty"`
}

type verdict struct {
	Reason string `json:"reason,omitempty"` // "" is yes
}

// wanted asks for a part of the image that an open chunk perturbs. The answer
// is its float32 values, little-endian, or notOpen.
type wanted struct {
	ID     uint64 `json:"id"`
	Offset int    `json:"offset"` // in bytes
}

var notOpen = []byte{0} // not a multiple of four bytes, so no part of an image

// delivery is what a call of a worker's engine came to.
type delivery struct {
	Member  string   `json:"member"`
	Results []result `json:"results"`
}

// result is the tally of one chunk, or why there is none.
type result struct {
	ID      uint64     `json:"id"`
	Counts  [][2]int64 `json:"counts,omitempty"` // class and count, where it is not 0
	Invalid int64      `json:"invalid,omitempty"`
	Error   string     `json:"error,omitempty"`
}

// receipt has one entry a result: "" where the chunk is done with, else why the
// result was not taken.
type receipt struct {
	Reason   string   `json:"reason,omitempty"` // the whole delivery was refused
	Verdicts []string `json:"verdicts,omitempty"`
}

func packTally(id uint64, t draw.Tally) result {
	r := result{ID: id, Invalid: t.Invalid}
	for k, n := range t.Counts {
		if n != 0 {
			r.Counts = append(r.Counts, [2]int64{int64(k), n})
		}
	}
	return r
}

// unpack is the tally of a chunk of count draws, or why it cannot be one.
func (r result) unpack(classes, count int) (draw.Tally, error) {
	t := draw.Tally{Counts: make([]int64, classes), Invalid: r.Invalid}
	left := int64(count) // falls, so that no sum can overflow
	if r.Invalid < 0 || r.Invalid > left {
		return t, fmt.Errorf("%d invalid draws of %d", r.Invalid, count)
	}
	left -= r.Invalid
	last := int64(-1)
	for _, kn := range r.Counts {
		k, n := kn[0], kn[1]
		if k <= last || k >= int64(classes) {
			return t, fmt.Errorf("class %d after class %d, of %d", k, last, classes)
		}
		if n < 1 || n > left {
			return t, fmt.Errorf("%d draws for class %d, %d of %d are left", n, k, left, count)
		}
		t.Counts[k], left, last = n, left-n, k
	}
	if left != 0 {
		return t, fmt.Errorf("%d of %d draws are missing", left, count)
	}
	return t, nil
}

func decode(data []byte, limit int, into any) error {
	if len(data) > limit {
		return fmt.Errorf("message has %d bytes, at most %d are allowed", len(data), limit)
	}
	return json.Unmarshal(data, into)
}

// encode cannot fail: the types above hold nothing that JSON refuses.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

// putImage appends the part of an image that starts at byte offset.
func putImage(image []float32, offset int) []byte {
	if offset < 0 || offset%4 != 0 || offset >= 4*len(image) {
		return nil
	}
	part := image[offset/4 : min(len(image), (offset+maxImagePart)/4)]
	out := make([]byte, 0, 4*len(part))
	for _, v := range part {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
	}
	return out
}

var errPart = errors.New("the coordinator sent a part of an image that does not fit")

// getImage puts a part into its place and returns the next offset.
func getImage(image []float32, offset int, part []byte) (int, error) {
	if len(part)%4 != 0 || len(part) == 0 || offset+len(part) > 4*len(image) {
		return 0, errPart
	}
	for i := 0; i < len(part); i += 4 {
		image[(offset+i)/4] = math.Float32frombits(binary.LittleEndian.Uint32(part[i:]))
	}
	return offset + len(part), nil
}
