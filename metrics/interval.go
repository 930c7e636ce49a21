package metrics

import (
	"math"

	"lorica/bound"
)

// confidence of every interval, two-sided, over the choice of examples.
const confidence = 0.95

// Share is a part of a set of examples, with a two-sided 95% Clopper-Pearson
// interval over the choice of examples. Of an empty set the value is 0 and the
// interval says that nothing is known: 0 to 1.
type Share struct {
	Value float64 `json:"value"`
	Hits  int     `json:"hits"`
	Of    int     `json:"of"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

func share(hits, of int) Share {
	if of == 0 {
		return Share{High: 1}
	}
	side := (1 - confidence) / 2
	return Share{
		Value: float64(hits) / float64(of), Hits: hits, Of: of,
		Low:  bound.Lower(int64(hits), int64(of), side),
		High: bound.Upper(int64(hits), int64(of), side),
	}
}

// Mean is an average over examples with a two-sided 95% interval.
type Mean struct {
	Value  float64 `json:"value"`
	Of     int     `json:"of"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Max    float64 `json:"max"`    // the most one example can add
	Method string  `json:"method"` // of the interval: one of the two below
}

const (
	methodExact    = "clopper-pearson"
	methodChernoff = "chernoff-kl"
)

// mean makes a Mean of values that lie in [0, top]. Where one example can only
// add 0 or top the interval is Clopper-Pearson; else it is the Chernoff bound
// in Hoeffding's form, sound for any bounded values: with m the average of n
// values over top, {mu : n KL(m, mu) <= log(2/0.05)}.
func mean(sum float64, of int, top float64, twoValued bool) Mean {
	m := Mean{Of: of, Max: top, High: top, Method: methodChernoff}
	if twoValued {
		m.Method = methodExact
	}
	if of == 0 {
		return m
	}
	m.Value = sum / float64(of)
	if twoValued {
		s := share(int(math.Round(sum/top)), of)
		m.Low, m.High = top*s.Low, top*s.High
		return m
	}
	x := math.Min(1, m.Value/top)
	reach := math.Log(2/(1-confidence)) / float64(of)
	m.Low, m.High = top*klRoot(x, 0, reach), top*klRoot(x, 1, reach)
	return m
}

// klRoot finds by bisection the mu between x and end with KL(x, mu) = reach,
// from the far side; it is end where no mu reaches it.
func klRoot(x, end, reach float64) float64 {
	near, far := x, end
	if kl(x, end) <= reach {
		return end
	}
	for range 60 {
		mid := (near + far) / 2
		if kl(x, mid) > reach {
			far = mid
		} else {
			near = mid
		}
	}
	return far
}

// kl is the divergence of Bernoulli(x) from Bernoulli(mu).
func kl(x, mu float64) float64 {
	d := 0.0
	if x > 0 {
		d += x * math.Log(x/mu)
	}
	if x < 1 {
		d += (1 - x) * math.Log((1-x)/(1-mu))
	}
	return d
}
