// Package smooth samples a classifier under Gaussian noise: it decides which
// draws are made, in which order, and when an example has enough of them.
//
// For every example it draws N0 times to choose a class, then draws afresh to
// bound its probability; a Rule says how many of the latter. The two phases
// never share a draw, which is what makes the certificates sound. What a draw
// is depends on its identity alone (package draw), so the records are the same
// for any batch size, any number of calls in flight and any order of answers.
//
// The package does not interpret counts and writes no file: records leave
// through the caller's function as soon as their example is finished.
package smooth

import (
	"fmt"
	"math"

	"lorica/counts"
)

// Config says how examples are sampled. It goes into the header of the counts.
type Config struct {
	Sigma float64 `json:"sigma"`
	N0    int64   `json:"n0"` // selection draws
	N     int64   `json:"n"`  // estimation draws, or the most of them
	Seed  uint64  `json:"seed"`
	Chunk int     `json:"chunk"` // draws in one unit of work; changes no count
}

// DefaultConfig is the paper's certification at its noise level .5.
func DefaultConfig() Config {
	return Config{Sigma: 0.5, N0: 100, N: 100_000, Seed: 1, Chunk: 1000}
}

// maxDraws keeps a draw's index inside the 32 bits that its identity gives it,
// and inside the range for which package bound is proved.
const maxDraws = 1_000_000_000

// Validate names the first field that makes no sense.
func (c Config) Validate() error {
	switch {
	case !(c.Sigma > 0) || math.IsInf(c.Sigma, 0):
		return fmt.Errorf("sigma is %g: the noise level must be a positive number", c.Sigma)
	case c.N0 < 1 || c.N0 > maxDraws:
		return fmt.Errorf("n0 is %d: the selection needs 1 to %d draws", c.N0, maxDraws)
	case c.N < 1 || c.N > maxDraws:
		return fmt.Errorf("n is %d: the estimation needs 1 to %d draws", c.N, maxDraws)
	case c.Chunk < 1:
		return fmt.Errorf("chunk is %d: a unit of work has at least one draw", c.Chunk)
	}
	return nil
}

// Rule says how many estimation draws an example gets.
type Rule interface {
	// More returns how many draws to add to the record's r.N, given the
	// selection and all estimation counts so far; 0 finishes the example. It
	// must be a pure function of the record.
	More(r *counts.Record) int64
}

// Finisher is a Rule that has something to write into a finished record, before
// it is emitted: what makes the record valid later.
type Finisher interface {
	Rule
	Finish(r *counts.Record) error
}

// Fixed gives every example the same number of estimation draws.
type Fixed int64

// More implements Rule.
func (n Fixed) More(r *counts.Record) int64 { return int64(n) - r.N }

// Source is the part of a data set that sampling needs.
type Source interface {
	Label(i int) int
	// Image returns example i as channels x height x width in [0,1]. It may use
	// dst's memory when it is large enough.
	Image(i int, dst []float32) ([]float32, error)
}

// Progress is a snapshot of a run, for people.
type Progress struct {
	Examples, OfExamples int   // finished, and planned
	Draws                int64 // made so far, both phases
	OfDraws              int64 // at most this many in all
	Invalid              int64 // draws whose logits were NaN
}
