package main

import (
	"fmt"
	"math"

	"lorica/bound"
	"lorica/smooth"
)

// A proof says whether the counts c of n draws, at look j, prove that class k
// cannot be forced within eps; for k < 0, that the top class stays.
type proof func(e *example, c []int64, top, k int, n int64, j int, eps float64) bool

// design is a way to decide by stages.
type design struct {
	name   string
	looks  []int64
	proves proof
}

// spending makes Clopper-Pearson bounds at each look, with a share of alpha.
func spending(name string, looks []int64, share func(j int) float64) design {
	total := 0.0
	for j := range looks {
		total += share(j)
	}
	return design{name, looks, func(e *example, c []int64, top, k int, n int64, j int, eps float64) bool {
		return joint(c, top, k, n, alpha*share(j)/total) > eps
	}}
}

func equal(int) float64 { return 1 }

// joint is the radius of procedure joint at a level.
func joint(c []int64, top, k int, n int64, level float64) float64 {
	if k < 0 {
		return sigma * bound.QuantileDown(lower(c[top], n, level))
	}
	return pairRadius(lower(c[top], n, level/2), 1-lower(n-c[k], n, level/2))
}

func pairRadius(p, q float64) float64 {
	return sigma / 2 * (bound.QuantileDown(p) - bound.QuantileUp(math.Min(1-p, q)))
}

// bounds are asked for again and again in a simulation.
type boundKey struct {
	k, n  int64
	level float64
}

var known = map[boundKey]float64{}

func lower(k, n int64, level float64) float64 {
	key := boundKey{k, n, level}
	v, ok := known[key]
	if !ok {
		v = bound.Lower(k, n, level)
		known[key] = v
	}
	return v
}

// mixture is the confidence sequence of Robbins (1970): the likelihood of the
// counts averaged over a beta prior, over that of p, is a martingale under p,
// and by Ville's inequality ever reaches 1/level with probability at most
// level. weight says how much the selection counts shape the prior.
func mixture(name string, looks []int64, base, weight float64) design {
	return design{name, looks, func(e *example, c []int64, top, k int, n int64, j int, eps float64) bool {
		n0 := total(e.selected)
		side := func(hits, selected int64, level float64) float64 {
			return mixtureLower(hits, n, level, base+weight*float64(selected), base+weight*float64(n0-selected))
		}
		if k < 0 {
			return sigma*bound.QuantileDown(side(c[top], e.selected[top], alpha)) > eps
		}
		return pairRadius(side(c[top], e.selected[top], alpha/2), 1-side(n-c[k], n0-e.selected[k], alpha/2)) > eps
	}}
}

func mixtureLower(k, n int64, level, a, b float64) float64 {
	m := logBeta(a+float64(k), b+float64(n-k)) - logBeta(a, b) + math.Log(level)
	lo, hi := 0.0, math.Min(float64(k)/float64(n), 1-1e-15)
	for range 50 {
		p := (lo + hi) / 2
		if m >= float64(k)*math.Log(p)+float64(n-k)*math.Log1p(-p) {
			lo = p
		} else {
			hi = p
		}
	}
	return lo
}

func logBeta(a, b float64) float64 { return logGamma(a) + logGamma(b) - logGamma(a+b) }

func total(c []int64) int64 {
	s := int64(0)
	for _, v := range c {
		s += v
	}
	return s
}

// direct tests the pair claim itself instead of bounding two probabilities: a
// Dirichlet mixture over (top, k, rest) with the selection counts as prior,
// over the largest likelihood among all (p, q) whose radius is eps or less.
// That is at most the mixture over the true (p, q), a martingale.
func direct(name string, looks []int64) design {
	const base = 0.5
	alone := mixture("", looks, base, 1)
	return design{name, looks, func(e *example, c []int64, top, k int, n int64, j int, eps float64) bool {
		if k < 0 {
			return alone.proves(e, c, top, k, n, j, eps)
		}
		x := [3]float64{float64(c[top]), float64(c[k]), float64(n - c[top] - c[k])}
		s := [3]float64{float64(e.selected[top]), float64(e.selected[k]), float64(total(e.selected) - e.selected[top] - e.selected[k])}
		mix, prior := 0.0, 0.0
		for i := range x {
			a := base + s[i]
			mix += logGamma(a+x[i]) - logGamma(a)
			prior += a
		}
		mix += logGamma(prior) - logGamma(prior+float64(n))
		gap := 2 * eps / sigma
		if x[0] == 0 || x[1] > 0 && bound.QuantileUp(math.Min(x[0]/float64(n), 1-1e-12))-bound.QuantileUp(x[1]/float64(n)) <= gap {
			return false
		}
		return mix-likeliestNull(x, gap) >= -math.Log(alpha)
	}}
}

// likeliestNull maximises the likelihood along the edge Phi^-1(p) - Phi^-1(q) =
// gap by golden section.
func likeliestNull(x [3]float64, gap float64) float64 {
	at := func(z float64) float64 {
		p, q := normal(z), normal(z-gap)
		v := 0.0
		for i, f := range [3]float64{p, q, 1 - p - q} {
			if x[i] > 0 {
				v += x[i] * math.Log(math.Max(f, 0))
			}
		}
		return v
	}
	const golden = 0.6180339887498949
	lo, hi := -8.0, gap/2
	a, b := hi-golden*(hi-lo), lo+golden*(hi-lo)
	fa, fb := at(a), at(b)
	for hi-lo > 1e-7 {
		if fa < fb {
			lo, a, fa = a, b, fb
			b = lo + golden*(hi-lo)
			fb = at(b)
		} else {
			hi, b, fb = b, a, fa
			a = hi - golden*(hi-lo)
			fa = at(a)
		}
	}
	return math.Max(math.Max(fa, fb), at(gap/2))
}

func normal(z float64) float64 { return 0.5 * math.Erfc(-z/math.Sqrt2) }

// allDesigns are compared on one footing: the same patience, the same draws.
func allDesigns() []design {
	geo := func(ratio float64) []int64 { return bound.Geometric(64, most, ratio).Looks }
	kept := smooth.DefaultSchedule(most)
	looks := kept.Looks
	last := len(looks) - 1
	forLast := func(share float64) func(int) float64 {
		return func(j int) float64 {
			if j == last {
				return share / (1 - share) * float64(last)
			}
			return 1
		}
	}
	fine := geo(1.1)
	obf := func(j int) float64 { // O'Brien-Fleming-like: Lan and DeMets' spending function
		at := func(n int64) float64 {
			return 2 * normal(bound.QuantileUp(alpha/2)/math.Sqrt(float64(n)/most))
		}
		if j == 0 {
			return at(looks[0]) + 1e-12
		}
		return at(looks[j]) - at(looks[j-1]) + 1e-12
	}
	ds := []design{
		spending("Clopper-Pearson at 200, 1000, 5000, 20000, 100000, equal", []int64{200, 1000, 5000, 20000, 100000}, equal),
		spending("Clopper-Pearson, x2, equal", geo(2), equal),
		spending("Clopper-Pearson, x1.5, equal", geo(1.5), equal),
		spending("Clopper-Pearson, x1.25, equal", looks, equal),
		spending("**Clopper-Pearson, x1.25, a quarter for the last look** (kept)", looks, forLast(0.25)),
		spending("Clopper-Pearson, x1.25, half for the last look", looks, forLast(0.5)),
		spending("Clopper-Pearson, x1.25, shares grow by 1.15", looks, func(j int) float64 { return math.Pow(1.15, float64(j)) }),
		spending("Clopper-Pearson, x1.25, shares fall by 1.15", looks, func(j int) float64 { return math.Pow(1.15, -float64(j)) }),
		spending("Clopper-Pearson, x1.25, O'Brien-Fleming-like", looks, obf),
		spending("Clopper-Pearson, x1.1, equal", fine, equal),
		mixture("beta mixture, uniform prior, x1.1", fine, 1, 0),
		mixture("beta mixture, prior from the selection, x1.1", fine, 1, 1),
		direct("Dirichlet mixture for the pair itself, prior from the selection, x1.1", fine),
	}
	c := calibrate(kept, 0.8413)
	ideal := spending(fmt.Sprintf("the kept one with an exact boundary by dynamic programming (levels %.2f times larger)", c), looks, equal)
	ideal.proves = func(e *example, x []int64, top, k int, n int64, j int, eps float64) bool {
		return joint(x, top, k, n, kept.Level(n, c*alpha)) > eps
	}
	return append(ds, ideal)
}
