package bound

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// falseProof is the exact probability that Lower at the given level exceeds p
// at any of the looks: a sum over all paths of the number of successes, of
// which those that fail are taken out at each look. least[j] is the smallest
// count that is above p at look j.
func falseProof(looks []int64, least []int64, p float64) float64 {
	alive, failed := []float64{1}, 0.0
	prev := int64(0)
	for j, n := range looks {
		for range n - prev { // one draw at a time: nothing to get wrong
			next := make([]float64, len(alive)+1)
			for k, w := range alive {
				next[k] += w * (1 - p)
				next[k+1] += w * p
			}
			alive = next
		}
		prev = n
		for k := least[j]; k < int64(len(alive)); k++ {
			failed += alive[k]
			alive[k] = 0
		}
	}
	return failed
}

// worstFalseProof is the largest false-proof probability over all p. Between
// two neighbouring values that the bounds can take the failing counts are the
// same and more likely the larger p is, so the supremum is approached from
// below at one of those values, where a bound equal to it counts as above.
func worstFalseProof(looks []int64, level func(n int64) float64) float64 {
	var values []float64
	lower := make([][]float64, len(looks))
	for j, n := range looks {
		for k := range n + 1 {
			lower[j] = append(lower[j], Lower(k, n, level(n)))
		}
		values = append(values, lower[j]...)
	}
	worst := 0.0
	for _, p := range values {
		least := make([]int64, len(looks))
		for j := range looks {
			at, _ := slices.BinarySearch(lower[j], p)
			least[j] = int64(at)
		}
		if p > 0 {
			worst = math.Max(worst, falseProof(looks, least, p))
		}
	}
	return worst
}

func TestFalseProofsOverAllPaths(t *testing.T) {
	for _, looks := range [][]int64{
		{7}, {5, 8, 12, 20, 30}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {10, 60}, Geometric(5, 80, 1.25).Looks,
	} {
		for _, alpha := range []float64{0.001, 0.01, 0.1, 0.4} {
			for _, share := range []float64{0, 0.25, 0.9} {
				s := Schedule{Looks: looks, LastShare: share}
				got := worstFalseProof(looks, func(n int64) float64 { return s.Level(n, alpha) })
				if got > alpha {
					t.Errorf("looks %v, %v for the last: false proofs with probability %v, alpha is %v", looks, share, got, alpha)
				}
			}
			// Bounds for a fixed n, looked at often, must be caught by this test.
			if wrong := worstFalseProof(looks, func(int64) float64 { return alpha }); len(looks) > 4 && wrong <= alpha {
				t.Errorf("looks %v: without sharing alpha the probability is %v: the test sees nothing", looks, wrong)
			}
		}
	}
}

// The default design is too large for all paths: draw some, at a p that no
// bound can attain exactly. docs/adaptive says how to make a million of them at
// alpha .001.
func TestFalseProofsOfALongSchedule(t *testing.T) {
	const alpha, runs = 0.2, 1500
	s := Geometric(64, 100_000, 1.25)
	s.LastShare = 0.25
	for _, p := range []float64{0.5, 0.8413, 0.99, 0.9999} {
		for name, level := range map[string]func(n int64) float64{
			"shared":     func(n int64) float64 { return s.Level(n, alpha) },
			"not shared": func(int64) float64 { return alpha },
		} {
			rng := rand.New(rand.NewPCG(1, 2))
			least := make([]int64, len(s.Looks))
			for j, n := range s.Looks {
				least[j] = leastAbove(n, level(n), p)
			}
			failed := int64(0)
			for range runs {
				k, prev := int64(0), int64(0)
				for j, n := range s.Looks {
					k += approxBinomial(rng, n-prev, p)
					prev = n
					if k >= least[j] {
						failed++
						break
					}
				}
			}
			// Beyond chance: 1e-6 for the whole test.
			if name == "shared" && Lower(failed, runs, 1e-7) > alpha {
				t.Errorf("p %v: %d false proofs of %d at alpha %v", p, failed, runs, alpha)
			}
			if name == "not shared" && Lower(failed, runs, 1e-7) <= alpha {
				t.Errorf("p %v: %d false proofs of %d without sharing alpha: the test sees nothing", p, failed, runs)
			}
		}
	}
}

// leastAbove is the smallest count whose bound is above p; n+1 where none is.
func leastAbove(n int64, level, p float64) int64 {
	lo, hi := int64(0), n+1
	for lo < hi {
		if mid := (lo + hi) / 2; Lower(mid, n, level) > p {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}

// approxBinomial is exact up to 50 expected failures and normal above.
func approxBinomial(rng *rand.Rand, n int64, p float64) int64 {
	if float64(n)*(1-p) > 50 {
		return int64(math.Round(float64(n)*p + rng.NormFloat64()*math.Sqrt(float64(n)*p*(1-p))))
	}
	k := n // failures by their gaps
	for i := int64(0); ; {
		i += int64(math.Log1p(-rng.Float64())/math.Log(p)) + 1
		if i > n {
			return k
		}
		k--
	}
}

func TestSchedule(t *testing.T) {
	s := Geometric(64, 100_000, 1.25)
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	first := s.Looks[0]
	if len(s.Looks) != 30 || first != 76 || s.Last() != 100_000 {
		t.Errorf("looks at %v", s.Looks)
	}
	for _, g := range []Schedule{s, Geometric(64, 3000, 1.25), Geometric(64, 65, 1.25), Geometric(7, 1_000_000, 1.1)} {
		gap := g.Looks[0] - 1 // of rounding
		for j, n := range g.Looks[1:] {
			step := n - g.Looks[j]
			if step < gap || float64(step) > 0.26*float64(g.Looks[j])+float64(gap)+2 {
				t.Errorf("looks at %v: %d after %d", g.Looks, n, g.Looks[j])
			}
		}
	}
	if s.Stage(first) != 1 || s.Stage(100_000) != 30 || s.Stage(first+1) != 0 || s.Stage(100_001) != 0 {
		t.Error("stages are counted wrongly")
	}
	if n, ok := s.Next(0); n != first || !ok {
		t.Errorf("the first look is %d", n)
	}
	if _, ok := s.Next(100_000); ok {
		t.Error("a look behind the last")
	}
	if n, ok := s.Next(first); n <= first || !ok || s.Stage(n) != 2 {
		t.Errorf("the second look is %d", n)
	}
	if g := Geometric(1, 1, 2); len(g.Looks) != 1 || g.Looks[0] != 1 {
		t.Errorf("one draw: %v", g.Looks)
	}
	for _, share := range []float64{0, 0.25} {
		s.LastShare = share
		sum := 0.0
		for _, n := range s.Looks {
			sum += s.Level(n, 0.001)
		}
		if sum > 0.001 || sum < 0.001*(1-1e-12) {
			t.Errorf("the looks share %v of 0.001", sum)
		}
	}
	if got := s.Level(100_000, 0.001); got > 0.00025 || got < 0.000249999 {
		t.Errorf("the last look has %v of 0.001", got)
	}
	for _, bad := range []Schedule{{}, {Looks: []int64{0}}, {Looks: []int64{5, 5}}, {Looks: []int64{5, 4}}, {Looks: []int64{MaxTrials + 1}}, {Looks: []int64{5}, LastShare: 1}} {
		if bad.Validate() == nil {
			t.Errorf("%v is accepted", bad.Looks)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a ratio of 1 is accepted")
		}
	}()
	Geometric(1, 10, 1)
}
