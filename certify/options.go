package certify

import (
	"fmt"
	"math"

	"lorica/bound"
	"lorica/counts"
)

// Two ways to tighter bounds at no draw, both off by default because their gain
// is small (docs/adaptive.md has the figures).

// Split is how a pair claim of procedure joint divides alpha between the lower
// bound on the top class and the upper bound on its rival. Any split that is
// fixed before the estimation draws are made is valid: the two parts sum to
// alpha, and the union bound asks for no more. The group claim stays valid with
// another split for each pair, since its proof needs the pair claim of one
// fixed class only (package comment, Group).
type Split string

const (
	Half     Split = "half"     // alpha/2 each; the default
	Selected Split = "selected" // chosen for each pair by its selection counts
)

// ParseSplit reads a split's name.
func ParseSplit(s string) (Split, error) {
	switch x := Split(s); x {
	case Half, Selected:
		return x, nil
	}
	return "", fmt.Errorf("unknown split of alpha %q: want half or selected", s)
}

// shares of alpha that the top class may get. Extremes would gain more where
// they fit and lose far more where a hundred selection draws mislead.
var shares = [...]float64{0.4, 0.5, 0.6, 0.7, 0.8}

// share is the part of alpha that the top class's bound gets against class k:
// the one that would prove the largest radius if the estimation draws had the
// selection's frequencies. It depends on the selection and on numbers that are
// fixed before estimation, of which rec.N is one only where there is no
// schedule.
func (p Params) share(rec *counts.Record, top, k int) float64 {
	if p.Split != Selected {
		return 0.5
	}
	n, level := rec.N, p.Alpha
	if p.Schedule != nil {
		n, level = p.Schedule.Last(), p.planned
	}
	n0 := rec.InvalidSelect
	for _, v := range rec.Select {
		n0 += v
	}
	at := func(k int) int64 { // half a draw more and less: a rival may be unseen by chance
		return min(n, int64((float64(rec.Select[k])+0.5)/(float64(n0)+1)*float64(n)))
	}
	best, r := 0.5, math.Inf(-1)
	for _, s := range shares {
		lower := bound.Lower(at(top), n, level*s)
		upper := math.Min(complement(lower), bound.Upper(at(k), n, level*(1-s)))
		if x := bound.QuantileDown(lower) - bound.QuantileUp(upper); x > r {
			best, r = s, x
		}
	}
	return best
}

// lower bounds P(f = k) from below.
func (p Params) lower(rec *counts.Record, k int, level float64) float64 {
	if p.Randomize {
		return bound.LowerRandomized(rec.Count[k], rec.N, level, p.uniform(rec.Index, k, 0))
	}
	return bound.Lower(rec.Count[k], rec.N, level)
}

// upper bounds P(f = k) from above.
func (p Params) upper(rec *counts.Record, k int, level float64) float64 {
	if p.Randomize {
		return bound.UpperRandomized(rec.Count[k], rec.N, level, p.uniform(rec.Index, k, 1))
	}
	return bound.Upper(rec.Count[k], rec.N, level)
}

// uniform is the number in [0, 1) that randomises one bound. It depends on the
// seed of the run and on which bound it is, never on counts, so that whoever
// repeats the evaluation gets the same certificates, and nobody who has seen
// the counts can try again. The hash is SplitMix64 (Steele, Lea, Flood 2014).
func (p Params) uniform(index, class, side int) float64 {
	x := p.Seed
	for _, part := range []int{0x10c1ca, index, class, side} {
		x += 0x9e3779b97f4a7c15 + uint64(part)
		x ^= x >> 30
		x *= 0xbf58476d1ce4e5b9
		x ^= x >> 27
		x *= 0x94d049bb133111eb
		x ^= x >> 31
	}
	return float64(x>>11) * 0x1p-53
}
