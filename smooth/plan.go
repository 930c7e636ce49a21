package smooth

import (
	"fmt"
	"slices"
)

// Selection says which examples of a data set are sampled.
type Selection struct {
	Skip    int   // take every Skip-th example; 0 and 1 take all
	Max     int   // take at most this many; 0 takes all
	Indices []int // take these, whatever Skip says

	// Only, where it is set, leaves out the examples whose label it refuses:
	// with a cost matrix's Sensitive only those are sampled that can cost.
	Only func(label int) bool
}

// Plan returns the chosen indices in ascending order. Skip counts all examples
// and Max those that are left at the end, so that "every 20th, cats only, at
// most 50" means what it says.
func (s Selection) Plan(n int, label func(i int) int) ([]int, error) {
	if s.Skip < 0 || s.Max < 0 {
		return nil, fmt.Errorf("skip is %d and max is %d: both must be positive", s.Skip, s.Max)
	}
	chosen := slices.Clone(s.Indices)
	if s.Indices == nil {
		for i := 0; i < n; i += max(s.Skip, 1) {
			chosen = append(chosen, i)
		}
	}
	slices.Sort(chosen)
	chosen = slices.Compact(chosen)
	for _, i := range chosen {
		if i < 0 || i >= n {
			return nil, fmt.Errorf("index %d: the data has examples 0 to %d", i, n-1)
		}
	}
	if s.Only != nil {
		chosen = slices.DeleteFunc(chosen, func(i int) bool { return !s.Only(label(i)) })
	}
	if s.Max > 0 && len(chosen) > s.Max {
		chosen = chosen[:s.Max]
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no example of %d is left to sample", n)
	}
	return chosen, nil
}
