// Package draw says what one noisy draw is: its identity, its noise, and the
// request that the sampling loop hands to an engine.
//
// The noise of a draw is a pure function of (seed, phase, example, index).
// Batch size, worker count, order, restart and redelivery cannot change it:
// the identity is the counter of a counter-based generator (Philox4x32-10), so
// any draw can be made anywhere, alone, without the ones before it.
package draw

import "context"

// Phase separates the draws that choose a class from the draws that bound its
// probability. The certificate is sound only because the two are independent.
type Phase uint32

const (
	Select   Phase = iota // chooses the top class
	Estimate              // fresh draws for the bounds
)

// Chunk is a run of consecutive draws of one example: the unit of work.
type Chunk struct {
	Seed    uint64 `json:"seed"`
	Phase   Phase  `json:"phase"`
	Example int    `json:"example"` // index in the data set, below 2^32
	First   int64  `json:"first"`   // index of the first draw, below 2^32
	Count   int    `json:"count"`   // number of draws
}

// Job is a chunk with the image it perturbs.
type Job struct {
	Image []float32 // channels x height x width, in [0,1]
	Chunk Chunk
}

// Tally is what a chunk came to. Counts sums, with Invalid, to Chunk.Count.
type Tally struct {
	Counts  []int64 // one per class
	Invalid int64   // draws whose logits were NaN: they count for no class
}

// Sampler runs a classifier on noisy images and counts its answers. It is the
// whole interface between the sampling loop and an engine.
type Sampler interface {
	// Sample returns one tally a job, in order. On an error no tally is valid.
	// It may be called from several goroutines at once.
	Sample(ctx context.Context, jobs []Job) ([]Tally, error)
	// Classes is the number of classes that the classifier tells apart.
	Classes() int
	// Batch is the number of draws that fills the device once. Jobs that sum to
	// several times this number keep it busy; any number is right.
	Batch() int
}
