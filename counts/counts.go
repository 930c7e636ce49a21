// Package counts keeps the class counts of noisy draws: the hub of lorica.
//
// All the expensive work ends in a file of these records; everything after it
// is a pure function of the file. The format is JSON lines: one header, then
// one record an example (docs/design.md, Files).
//
// What is read has been checked: every count is in range, every sum is the
// number of draws, no example stands twice. What is written is canonical (the
// same records give the same bytes) and survives a kill at any byte: at most
// the record being written is lost, and [Resume] finds the rest.
//
// The package has no clock and starts no goroutine.
package counts

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Version is the format's version; files of another version are refused.
const Version = 1

// Limits that keep sums inside an int64 and a hostile header from asking for
// all memory. They lie far above what sampling can reach.
const (
	maxClasses = 1 << 16
	maxDraws   = 1 << 40
	maxIndex   = 1<<32 - 1 // a draw's identity holds 32 bits of the example (package draw)
)

// Header is the first line of a counts file: what was sampled, and how.
type Header struct {
	Lorica  string   `json:"lorica"` // "counts"
	Version int      `json:"version"`
	Classes int      `json:"classes"`
	Names   []string `json:"names,omitempty"` // class names, where the data has them
	Sigma   float64  `json:"sigma"`
	N0      int64    `json:"n0"`
	N       int64    `json:"n"`
	Seed    uint64   `json:"seed"`
	Model   Model    `json:"model"`
	Data    string   `json:"data"`
	Split   string   `json:"split,omitempty"`
	Engine  string   `json:"engine,omitempty"` // engine and precision: other draws on another
	Chunk   int      `json:"chunk,omitempty"`  // draws a request; does not change a draw

	// Extra holds the fields this version does not know; they are kept.
	Extra map[string]json.RawMessage `json:"-"`
}

// Model names the classifier that was sampled.
type Model struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256,omitempty"`

	Extra map[string]json.RawMessage `json:"-"`
}

// Record is the outcome of one example. Select and Count have one entry a
// class; with InvalidSelect and Invalid (draws whose logits were NaN, by
// phase) they sum to the header's N0 and to N.
type Record struct {
	Index         int
	Label         int
	Select        []int64
	Count         []int64
	N             int64 // estimation draws; equals the header's N unless the run was adaptive
	InvalidSelect int64
	Invalid       int64

	Extra map[string]json.RawMessage
}

// Validate says what is wrong with a header, if anything is.
func (h *Header) Validate() error {
	switch {
	case h.Lorica != "counts":
		return fmt.Errorf(`not a counts file: field "lorica" is %q, not "counts"`, h.Lorica)
	case h.Version != Version:
		return fmt.Errorf("version %d of the format; this program reads version %d", h.Version, Version)
	case h.Classes < 2 || h.Classes > maxClasses:
		return fmt.Errorf("classes is %d, not between 2 and %d", h.Classes, maxClasses)
	case h.Names != nil && len(h.Names) != h.Classes:
		return fmt.Errorf("%d names for %d classes", len(h.Names), h.Classes)
	case !(h.Sigma > 0) || math.IsInf(h.Sigma, 0):
		return fmt.Errorf("sigma is %v, not a positive number", h.Sigma)
	case h.N0 < 1 || h.N0 > maxDraws:
		return fmt.Errorf("n0 is %d, not between 1 and %d", h.N0, int64(maxDraws))
	case h.N < 1 || h.N > maxDraws:
		return fmt.Errorf("n is %d, not between 1 and %d", h.N, int64(maxDraws))
	case h.Chunk < 0:
		return fmt.Errorf("chunk is %d, below 0", h.Chunk)
	}
	return nil
}

// Validate says what is wrong with a record under a header, if anything is.
func (r *Record) Validate(h *Header) error {
	switch {
	case r.Index < 0 || int64(r.Index) > maxIndex:
		return fmt.Errorf("index %d is not between 0 and %d", r.Index, int64(maxIndex))
	case r.Label < 0 || r.Label >= h.Classes:
		return fmt.Errorf("label %d is not one of %d classes", r.Label, h.Classes)
	case r.N < 1 || r.N > maxDraws:
		return fmt.Errorf("n is %d, not between 1 and %d", r.N, int64(maxDraws))
	}
	if err := checkSum("select", "invalid_select", r.Select, r.InvalidSelect, h.N0, h.Classes); err != nil {
		return err
	}
	return checkSum("count", "invalid", r.Count, r.Invalid, r.N, h.Classes)
}

// checkSum checks one phase. Counts are bounded one by one before they are
// added, so that the sum cannot wrap round to the right number.
func checkSum(field, invalidField string, counts []int64, invalid, want int64, classes int) error {
	if len(counts) != classes {
		return fmt.Errorf("%s has %d classes, the header %d", field, len(counts), classes)
	}
	if invalid < 0 || invalid > want {
		return fmt.Errorf("%s is %d, not between 0 and the number of draws %d", invalidField, invalid, want)
	}
	sum := invalid
	for class, k := range counts {
		if k < 0 || k > want {
			return fmt.Errorf("%s of class %d is %d, not between 0 and the number of draws %d", field, class, k, want)
		}
		sum += k
	}
	if sum != want {
		return fmt.Errorf("%s sums to %d with %d invalid, not to the number of draws %d", field, sum, invalid, want)
	}
	return nil
}

// ErrMismatch is what [Header.Fits] returns wrapped: the two headers describe
// different draws.
var ErrMismatch = errors.New("the headers describe different draws")

// Fits returns nil where records under other may stand in a file under h: all
// that decides a draw is equal. The error names the first field that differs
// and both values. The model's path and the chunk may differ; the path only
// where both headers carry the model's SHA-256. Fields that this version does
// not know are taken to matter.
func (h *Header) Fits(other *Header) error {
	differ := func(field string, a, b any) error {
		return fmt.Errorf("%w: field %q is %v in the one and %v in the other", ErrMismatch, field, a, b)
	}
	switch {
	case h.Version != other.Version:
		return differ("version", h.Version, other.Version)
	case h.Classes != other.Classes:
		return differ("classes", h.Classes, other.Classes)
	case h.Names != nil && other.Names != nil && !slices.Equal(h.Names, other.Names):
		return differ("names", h.Names, other.Names)
	case h.Sigma != other.Sigma:
		return differ("sigma", h.Sigma, other.Sigma)
	case h.N0 != other.N0:
		return differ("n0", h.N0, other.N0)
	case h.N != other.N:
		return differ("n", h.N, other.N)
	case h.Seed != other.Seed:
		return differ("seed", h.Seed, other.Seed)
	case h.Model.SHA256 != other.Model.SHA256:
		return differ("model.sha256", strconv.Quote(h.Model.SHA256), strconv.Quote(other.Model.SHA256))
	case h.Model.SHA256 == "" && h.Model.Path != other.Model.Path:
		return differ("model.path", strconv.Quote(h.Model.Path), strconv.Quote(other.Model.Path))
	case h.Data != other.Data:
		return differ("data", strconv.Quote(h.Data), strconv.Quote(other.Data))
	case h.Split != other.Split:
		return differ("split", strconv.Quote(h.Split), strconv.Quote(other.Split))
	case h.Engine != other.Engine:
		return differ("engine", strconv.Quote(h.Engine), strconv.Quote(other.Engine))
	}
	if field, a, b, ok := extraDiffers(h.Model.Extra, other.Model.Extra); ok {
		return differ("model."+field, a, b)
	}
	if field, a, b, ok := extraDiffers(h.Extra, other.Extra); ok {
		return differ(field, a, b)
	}
	return nil
}

// extraDiffers finds the first unknown field, by name, that is not the same
// JSON text on both sides.
func extraDiffers(a, b map[string]json.RawMessage) (field, av, bv string, differs bool) {
	text := func(m map[string]json.RawMessage, key string) string {
		raw, ok := m[key]
		if !ok {
			return "missing"
		}
		value, err := compact(raw)
		if err != nil {
			return string(raw)
		}
		return string(value)
	}
	keys := append(sortedKeys(a), sortedKeys(b)...)
	slices.Sort(keys)
	for _, key := range keys {
		if av, bv := text(a, key), text(b, key); av != bv {
			return key, av, bv, true
		}
	}
	return "", "", "", false
}
