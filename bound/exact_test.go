package bound

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// prec makes the sums below exact for every purpose here: 1e-36 relative.
const prec = 128

func bf(v float64) *big.Float { return new(big.Float).SetPrec(prec).SetFloat64(v) }

// exactTail is P(X >= k) for X binomial(n, p), p taken as the exact number it
// is. It sums the ratios of successive probabilities up from k and down from
// k: nothing in common with the code under test.
func exactTail(k, n int64, p float64) *big.Float {
	if k <= 0 || p == 1 {
		return bf(1)
	}
	if p == 0 {
		return bf(0)
	}
	odds := new(big.Float).Sub(bf(1), bf(p))
	odds.Quo(bf(p), odds)
	up, down := bf(1), bf(0) // in units of P(X = k)
	term, v := bf(1), bf(0)
	negligible := func(sum *big.Float) bool { return sum.MantExp(nil)-term.MantExp(nil) > 75 } // 1e-22
	for j := k; j < n; j++ {                                                                   // P(j+1)/P(j) = (n-j)/(j+1) odds
		term.Mul(term, odds).Mul(term, v.SetInt64(n-j)).Quo(term, v.SetInt64(j+1))
		up.Add(up, term)
		if negligible(up) && float64(n-j)*p < float64(j)*(1-p) {
			break
		}
	}
	term.SetInt64(1)
	for j := k; j > 0; j-- {
		term.Quo(term, odds).Mul(term, v.SetInt64(j)).Quo(term, v.SetInt64(n-j+1))
		down.Add(down, term)
		if negligible(down) && float64(n-j)*p > float64(j)*(1-p) {
			break
		}
	}
	return up.Quo(up, down.Add(down, up))
}

// exactTails is P(X >= k) for every k from 0 to n+1.
func exactTails(n int64, p float64) []*big.Float {
	q := new(big.Float).Sub(bf(1), bf(p))
	odds := new(big.Float).Quo(bf(p), q)
	pmf := bf(1)
	for range n {
		pmf.Mul(pmf, q)
	}
	tails := make([]*big.Float, n+2)
	tails[n+1] = bf(0)
	v := bf(0)
	for j := int64(0); j <= n; j++ {
		tails[j] = new(big.Float).Copy(pmf)
		pmf.Mul(pmf, odds).Mul(pmf, v.SetInt64(n-j)).Quo(pmf, v.SetInt64(j+1))
	}
	for j := n; j >= 0; j-- {
		tails[j].Add(tails[j], tails[j+1])
	}
	return tails
}

// checkRoot holds Lower and Upper against their definition at the very number
// they return: the tail there is at most alpha, and a little further in (1e-11
// of the bound or of its complement, and the rounding of the number itself) it
// is more than alpha.
func checkRoot(t *testing.T, k, n int64, alpha float64) {
	t.Helper()
	inward := func(p float64) float64 {
		return 1e-11*math.Min(p, 1-p) + 4*(math.Nextafter(p, 1)-p) + 4*(p-math.Nextafter(p, 0))
	}
	limit := bf(alpha)
	if k > 0 {
		p := Lower(k, n, alpha)
		if exactTail(k, n, p).Cmp(limit) > 0 {
			t.Errorf("Lower(%d, %d, %g) = %v is unsafe", k, n, alpha, p)
		}
		if in := math.Min(1, p+inward(p)); exactTail(k, n, in).Cmp(limit) < 0 {
			t.Errorf("Lower(%d, %d, %g) = %v is loose", k, n, alpha, p)
		}
	}
	if k < n {
		p := Upper(k, n, alpha)
		below := func(p float64) *big.Float { return new(big.Float).Sub(bf(1), exactTail(k+1, n, p)) }
		if below(p).Cmp(limit) > 0 {
			t.Errorf("Upper(%d, %d, %g) = %v is unsafe", k, n, alpha, p)
		}
		if below(p-inward(p)).Cmp(limit) < 0 {
			t.Errorf("Upper(%d, %d, %g) = %v is loose", k, n, alpha, p)
		}
	}
}

// By enumeration of all outcomes: for every n <= 200, p on a grid and several
// alpha, P(Lower > p) <= alpha and P(Upper < p) <= alpha.
func TestCoverageByEnumeration(t *testing.T) {
	alphas := []float64{1e-12, 1e-3, 0.05, 0.5}
	grid := []float64{1e-6, 0.001, 0.01, 0.05, 0.1, 0.3, 0.5, 0.6, 0.9, 0.99, 0.999, 1 - 1e-6}
	for n := int64(1); n <= 200; n++ {
		lower, upper := make([]float64, n+1), make([]float64, n+1)
		tails := make([][]*big.Float, len(grid))
		for i, p := range grid {
			tails[i] = exactTails(n, p)
		}
		for _, alpha := range alphas {
			limit := bf(alpha)
			for k := range lower {
				lower[k], upper[k] = Lower(int64(k), n, alpha), Upper(int64(k), n, alpha)
				if k > 0 && (lower[k] <= lower[k-1] || upper[k] < upper[k-1]) {
					t.Fatalf("n=%d alpha=%g: bounds do not grow at k=%d", n, alpha, k)
				}
			}
			for i, p := range grid {
				k := int64(0) // bounds grow with k, so {Lower > p} is {X >= k}
				for k <= n && lower[k] <= p {
					k++
				}
				if tails[i][k].Cmp(limit) > 0 {
					t.Errorf("n=%d alpha=%g p=%g: P(Lower > p) > alpha", n, alpha, p)
				}
				for k = n; k >= 0 && upper[k] >= p; {
					k--
				}
				if below := new(big.Float).Sub(bf(1), tails[i][k+1]); below.Cmp(limit) > 0 {
					t.Errorf("n=%d alpha=%g p=%g: P(Upper < p) > alpha", n, alpha, p)
				}
			}
		}
	}
}

// The supremum of P(Lower > p) over p is at the bounds themselves.
func TestRootsSmall(t *testing.T) {
	for _, n := range []int64{1, 2, 3, 4, 5, 10, 17, 40, 200} {
		for k := int64(0); k <= n; k += 1 + n/30 {
			for _, alpha := range []float64{1e-12, 0.0005, 0.3, 0.5, 0.7, 0.999} {
				checkRoot(t, k, n, alpha)
			}
		}
	}
}

func TestRootsLarge(t *testing.T) {
	for _, c := range []struct {
		k, n  int64
		alpha float64
	}{
		{50_000, 100_000, 0.001}, {99_000, 100_000, 0.0005}, {1, 100_000, 1e-12}, {99_999, 100_000, 1e-12},
		{100_000, 100_000, 1e-12}, {0, 100_000, 1e-12}, {300_000, 1_000_000, 1e-6}, {719_830, 1_000_000, 0.9},
		{1, MaxTrials, 1e-12}, {2, MaxTrials, 0.001}, {1000, MaxTrials, 1e-12}, {MaxTrials - 3, MaxTrials, 1e-12},
		{0, MaxTrials, 0.5}, {MaxTrials, MaxTrials, 1e-12}, {MaxTrials - 1, MaxTrials, 0.999},
		{MaxTrials / 1000, MaxTrials, 1e-12}, {5_000_000, 10_000_000, 0.5}, {1_000_000, 10_000_000, 1e-12},
	} {
		t.Run(fmt.Sprintf("%d of %d at %g", c.k, c.n, c.alpha), func(t *testing.T) {
			checkRoot(t, c.k, c.n, c.alpha)
		})
	}
}

// The middle of the largest n: one sum of a quarter of a million terms.
func TestRootLargest(t *testing.T) {
	const k, alpha = MaxTrials / 2, 0.001
	p := Lower(k, MaxTrials, alpha)
	tail, _ := exactTail(k, MaxTrials, p).Float64()
	if tail > alpha || tail < alpha*(1-1e-9) {
		t.Errorf("Lower(%d, %d, %g) = %v: the tail there is %v", int64(k), int64(MaxTrials), alpha, p, tail)
	}
}

func TestRootsRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 250 {
		n := int64(math.Exp(rng.Float64() * math.Log(1e7)))
		k := rng.Int64N(n + 1)
		if rng.IntN(2) == 0 { // the ends
			k = int64(float64(n) * math.Pow(rng.Float64(), 8))
		}
		if rng.IntN(2) == 0 {
			k = n - k
		}
		if v := float64(k) * float64(n-k) / float64(n); v > 1e4 {
			continue // a sum of too many terms for a test
		}
		checkRoot(t, k, n, math.Exp(-rng.Float64()*27))
	}
}

// The error that logTail states is one that it keeps.
func TestLogTailError(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	worst, most := 0.0, 0
	for range 250 {
		n := 2 + int64(math.Exp(rng.Float64()*math.Log(1e8)))
		k := 1 + rng.Int64N(n-1)
		if rng.IntN(2) == 0 {
			k = 1 + int64(float64(n-2)*math.Pow(rng.Float64(), 8))
		}
		if v := float64(k) * float64(n-k) / float64(n); v > 1e4 {
			continue
		}
		u, _, _ := newton(k, n, math.Log(0.5)-27*rng.Float64())
		h, _, err := logTail(k, n, u)
		x, y := expit(u)
		tail := new(big.Float).Sub(bf(1), exactTail(n-k+1, n, y))
		if x <= 0.5 {
			tail = exactTail(k, n, x)
		}
		f, _ := tail.Float64()
		off := math.Abs(h-math.Log(f)) / err
		worst = math.Max(worst, off)
		if off > 1 {
			t.Errorf("k=%d n=%d x=%v: log tail is off by %g of its bound %g", k, n, x, off, err)
		}
		_, steps := fraction(k, n, x, y)
		most = max(most, steps)
	}
	t.Logf("largest error: %.2f of its bound; at most %d steps of the fraction", worst, most)
}

func TestStirlingTable(t *testing.T) {
	f := 1.0
	for n := 1; n < 30; n++ {
		f *= float64(n)
		x := float64(n)
		want := math.Log(f) - (0.5*math.Log(2*math.Pi*x) + x*math.Log(x) - x)
		if got := stirlingError(x); math.Abs(got-want) > 3e-14 {
			t.Errorf("stirlingError(%d) = %v, want %v", n, got, want)
		}
	}
}

func TestDomain(t *testing.T) {
	for _, c := range []struct {
		k, n  int64
		alpha float64
	}{{-1, 10, 0.1}, {11, 10, 0.1}, {0, 0, 0.1}, {1, MaxTrials + 1, 0.1}, {1, 2, 0}, {1, 2, 1}, {1, 2, math.NaN()}} {
		for name, f := range map[string]func(int64, int64, float64) float64{"Lower": Lower, "Upper": Upper} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s(%d, %d, %v) did not panic", name, c.k, c.n, c.alpha)
					}
				}()
				f(c.k, c.n, c.alpha)
			}()
		}
	}
}

func FuzzBounds(f *testing.F) {
	f.Add(int64(3), int64(10), 0.001)
	f.Add(int64(500_000_000), int64(1_000_000_000), 1e-12)
	f.Fuzz(func(t *testing.T, k, n int64, alpha float64) {
		if n < 1 || n > MaxTrials || k < 0 || k > n || !(alpha >= 1e-300 && alpha < 1) {
			return
		}
		lo, hi := Lower(k, n, alpha), Upper(k, n, alpha)
		if !(lo >= 0 && lo < 1 && hi > 0 && hi <= 1) {
			t.Errorf("(%d, %d, %v): [%v, %v]", k, n, alpha, lo, hi)
		}
		if phat := float64(k) / float64(n); alpha <= 0.3 && (lo > phat || hi < phat) {
			t.Errorf("(%d, %d, %v): [%v, %v] is on one side of k/n", k, n, alpha, lo, hi)
		}
	})
}
