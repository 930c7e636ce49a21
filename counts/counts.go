// Package counts keeps the class counts of noisy draws: the hub of lorica.
//
// All the expensive work ends in a file of these records; everything after it
// is a pure function of the file. The format is JSON lines: one header, then
// one record an example (docs/design.md, Files).
package counts

import "encoding/json"

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
	Chunk   int      `json:"chunk,omitempty"`

	// Extra holds the fields this version does not know; they are kept.
	Extra map[string]json.RawMessage `json:"-"`
}

// Model names the classifier that was sampled.
type Model struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256,omitempty"`
}

// Record is the outcome of one example. Select and Count have one entry a
// class; with Invalid (draws whose logits were NaN, by phase) they sum to the
// header's N0 and to N.
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
