package main

import (
	"lorica/cost"
	"lorica/dataset"
	"lorica/train"
)

// openTraining opens the training part of the data, or all of it where it is
// not divided.
func openTraining(f trainFlags) (dataset.Set, error) {
	if f.split != "" {
		return dataset.Open(f.data, f.split)
	}
	set, err := dataset.Open(f.data, "train")
	if err == nil {
		return set, nil
	}
	if all, err := dataset.Open(f.data, ""); err == nil && all.Split() != "val" && (f.data == "builtin" || all.Split() == "all") {
		return all, nil
	}
	return nil, err
}

// heldSet is where examples for looking come from: never those trained on,
// where the data has others.
type heldSet struct {
	set     dataset.Set
	indices []int // nil: all
	spec    string
}

// divide keeps every K-th example back, or else looks at another split.
func divide(f trainFlags, set dataset.Set) (kept []int, held heldSet, err error) {
	held = heldSet{set: set, spec: f.data}
	if f.holdout > 0 {
		for i := range set.Len() {
			if i%f.holdout == 0 {
				held.indices = append(held.indices, i)
			} else {
				kept = append(kept, i)
			}
		}
		return kept, held, nil
	}
	for _, split := range []string{"val", "test"} {
		if other, err := dataset.Open(f.data, split); err == nil {
			held.set = other
			break
		}
	}
	return nil, held, nil
}

// choose takes examples spread over the held ones, and as many sensitive ones
// at most, spread too. The first spread of them are the former.
func (h heldSet) choose(most int, costs *cost.Matrix) (indices []int, spread int) {
	all := h.indices
	if all == nil {
		for i := range h.set.Len() {
			all = append(all, i)
		}
	}
	every := func(from []int) []int {
		step := max(1, (len(from)+most-1)/most)
		var some []int
		for i := 0; i < len(from); i += step {
			some = append(some, from[i])
		}
		return some
	}
	indices = every(all)
	spread = len(indices)
	if costs == nil {
		return indices, spread
	}
	seen := map[int]bool{}
	for _, i := range indices {
		seen[i] = true
	}
	var sensitive []int
	for _, i := range all {
		if costs.Sensitive(h.set.Label(i)) {
			sensitive = append(sensitive, i)
		}
	}
	for _, i := range every(sensitive) {
		if !seen[i] {
			indices = append(indices, i)
		}
	}
	return indices, spread
}

// pick loads the examples of the running estimate.
func (h heldSet) pick(f trainFlags, costs *cost.Matrix) (*train.Held, error) {
	indices, spread := h.choose(f.look, costs)
	data, err := train.Load(h.set, indices)
	if err != nil {
		return nil, err
	}
	return &train.Held{Data: data, Spread: spread, Eps: f.eps, Draws: f.lookDraws}, nil
}
