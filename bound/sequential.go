package bound

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
)

// Schedule is a plan of looks: the numbers of draws after which the counts may
// be looked at, and so the only ones at which sampling may stop. Each look has
// its part of alpha (see [Schedule.Level]).
//
// The guarantee: let X_n be the successes among the first n of a sequence of
// independent trials with success probability p, and a_n the level of look n.
// For every p,
//
//	P(Lower(X_n, n, a_n) > p at any look n) <= alpha,
//
// and the same for Upper. Look n fails with probability at most a_n, and the a_n
// sum to at most alpha: the union bound, nothing else. So the bounds hold
// at whatever look sampling stops, for whatever reason it stops there, and
// bounds at several levels alpha hold each at its own.
//
// The looks must be fixed before the first draw. Neither their number nor
// their places may depend on the draws; a count of another n proves nothing.
type Schedule struct {
	Looks []int64 `json:"looks"` // ascending

	// LastShare is the part of alpha that the last look has for itself; the
	// others share the rest equally. 0 gives all looks the same.
	LastShare float64 `json:"last_share,omitempty"`
}

// Geometric plans looks from about gap to last, each about ratio times the one
// before but at least gap draws later: the number of draws overshoots what was
// needed by less than that, at the price of a look's share of alpha.
// It panics unless 1 <= gap <= last <= MaxTrials and ratio >= 1.01.
func Geometric(gap, last int64, ratio float64) Schedule {
	if gap < 1 || gap > last || last > MaxTrials || !(ratio >= 1.01) {
		panic(fmt.Sprintf("bound: looks to %d, %d apart, by %v: want 1 <= gap <= last <= %d and a ratio of at least 1.01",
			last, gap, ratio, int64(MaxTrials)))
	}
	var looks []int64
	x := float64(last)
	for ; x-x/ratio >= float64(gap); x /= ratio {
		looks = append(looks, int64(math.Round(x)))
	}
	// Below, even steps of at least gap.
	steps := max(1, math.Floor(math.Round(x)/float64(gap)))
	for i := steps; i > 0; i-- {
		looks = append(looks, int64(math.Round(math.Round(x)*i/steps)))
	}
	slices.Reverse(looks)
	return Schedule{Looks: looks}
}

// Validate says what is wrong with a schedule, if anything is.
func (s Schedule) Validate() error {
	if len(s.Looks) == 0 {
		return errors.New("a schedule without looks")
	}
	last := int64(0)
	for _, n := range s.Looks {
		if n <= last || n > MaxTrials {
			return fmt.Errorf("look at %d draws after one at %d: want ascending numbers up to %d", n, last, int64(MaxTrials))
		}
		last = n
	}
	if !(s.LastShare >= 0 && s.LastShare < 1) {
		return fmt.Errorf("the last look has %v of alpha: want 0 or a part below 1", s.LastShare)
	}
	return nil
}

// Level is the part of alpha that the look at n draws has: the level to use
// with Lower and Upper there. The parts sum to at most alpha in exact
// arithmetic too. It panics where n is not a look.
func (s Schedule) Level(n int64, alpha float64) float64 {
	const down = 1 - 0x1p-50 // more than the roundings of these lines
	stage, looks := s.Stage(n), len(s.Looks)
	switch {
	case stage == 0:
		panic(fmt.Sprintf("bound: %d draws are not a look of the schedule", n))
	case looks == 1:
		return alpha
	case s.LastShare == 0:
		return alpha / float64(looks) * down
	case stage == looks:
		return alpha * s.LastShare * down
	}
	return alpha * (1 - s.LastShare) / float64(looks-1) * down
}

// Stage is the number of the look at n draws, from 1; 0 where there is none.
func (s Schedule) Stage(n int64) int {
	i := sort.Search(len(s.Looks), func(i int) bool { return s.Looks[i] >= n })
	if i == len(s.Looks) || s.Looks[i] != n {
		return 0
	}
	return i + 1
}

// Next is the first look after n draws; ok is false behind the last.
func (s Schedule) Next(n int64) (look int64, ok bool) {
	i := sort.Search(len(s.Looks), func(i int) bool { return s.Looks[i] > n })
	if i == len(s.Looks) {
		return 0, false
	}
	return s.Looks[i], true
}

// Last is the look at which sampling ends in any case.
func (s Schedule) Last() int64 { return s.Looks[len(s.Looks)-1] }
