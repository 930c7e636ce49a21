package report

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"lorica/certify"
	"lorica/metrics"
)

// Figures are rounded to the side that promises less: what is proved goes
// down, what is open goes up, an interval grows.

// down writes hits of n as a percentage, cut to one decimal.
func down(hits, of int) string {
	if of == 0 {
		return "–"
	}
	return tenths(int64(hits) * 1000 / int64(of))
}

// up writes hits of n as a percentage, rounded up to one decimal.
func up(hits, of int) string {
	if of == 0 {
		return "–"
	}
	return tenths((int64(hits)*1000 + int64(of) - 1) / int64(of))
}

func tenths(permille int64) string {
	return strconv.FormatInt(permille/10, 10) + "." + strconv.FormatInt(permille%10, 10) + "%"
}

// interval writes the ends of a share as percentages, outward.
func interval(s metrics.Share) string {
	if s.Of == 0 {
		return "nothing to count"
	}
	return tenths(int64(floorTo(s.Low, 1000))) + " to " + tenths(int64(ceilTo(s.High, 1000)))
}

// floorTo and ceilTo scale v and round the exact product: v*scale in floating
// point could land on the wrong side of a whole number.
func floorTo(v float64, scale int64) float64 {
	n, exact := scaled(v, scale)
	if !exact && n.Sign() < 0 {
		n.Sub(n, big.NewInt(1))
	}
	f, _ := new(big.Float).SetInt(n).Float64()
	return f
}

func ceilTo(v float64, scale int64) float64 {
	n, exact := scaled(v, scale)
	if !exact && v > 0 {
		n.Add(n, big.NewInt(1))
	}
	f, _ := new(big.Float).SetInt(n).Float64()
	return f
}

// scaled is v*scale cut to a whole number, and whether nothing was cut.
func scaled(v float64, scale int64) (*big.Int, bool) {
	p := new(big.Float).SetPrec(200).SetFloat64(v)
	p.Mul(p, new(big.Float).SetPrec(200).SetInt64(scale))
	n, acc := p.Int(nil)
	return n, acc == big.Exact
}

// costUp writes a mean cost with two decimals, rounded up. Costs are sums of
// decimals that a float64 holds to 1e-16, so a nine-digit grain is taken off
// first: 0.07 stays 0.07.
func costUp(v float64) string {
	return strconv.FormatFloat(math.Ceil(math.Round(v*1e9)/1e7)/100, 'f', 2, 64)
}

func costDown(v float64) string {
	return strconv.FormatFloat(math.Floor(math.Round(v*1e9)/1e7)/100, 'f', 2, 64)
}

func costInterval(m metrics.Mean) string {
	if m.Of == 0 {
		return "nothing to count"
	}
	return costDown(m.Low) + " to " + costUp(m.High)
}

// plainCost writes one cost of the matrix.
func plainCost(c float64) string { return strconv.FormatFloat(c, 'g', 6, 64) }

// radius writes a radius with three decimals, cut.
func radius(r float64) string { return certify.FormatRadius(r, 3) }

// epsText writes a radius that somebody chose: as it is, two decimals or more.
func epsText(eps float64) string {
	s := strconv.FormatFloat(eps, 'f', -1, 64)
	_, frac, _ := strings.Cut(s, ".")
	if len(frac) < 2 {
		s = strconv.FormatFloat(eps, 'f', 2, 64)
	}
	return s
}

// list writes names as a sentence does.
func list(names []string) string {
	switch n := len(names); n {
	case 0:
		return ""
	case 1:
		return names[0]
	default:
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
}

// className shows a class; a number alone says that it is one.
func (r *Run) className(k int) string {
	if r.Params.Cost.Names() == nil {
		return "class " + strconv.Itoa(k)
	}
	return r.Params.Cost.Name(k)
}

// crowd names the sensitive examples: "the 292 examples of cat".
func (r *Run) crowd() string {
	classes := r.sensitiveClasses()
	n := r.Set.Sensitive()
	if len(classes) > 3 {
		return fmt.Sprintf("the %d sensitive examples", n)
	}
	var names []string
	for _, k := range classes {
		names = append(names, r.className(k))
	}
	return fmt.Sprintf("the %d examples of %s", n, list(names))
}

// sentence is the headline in plain words.
func (r *Run) sentence(eps float64) string {
	cs := r.Set.RobCS(eps)
	if cs.Of == 0 {
		return "No example has a label whose mistakes cost anything: there is nothing to prove here."
	}
	s := fmt.Sprintf("At radius %s, %s of %s are proved safe: no change of the input within that radius makes the model answer a class that costs something. ",
		epsText(eps), down(cs.Hits, cs.Of), r.crowd())
	if cs.Hits == cs.Of {
		return s + "None is left open."
	}
	s += fmt.Sprintf("%s may still be turned into something costly", up(cs.Of-cs.Hits, cs.Of))
	if misread := r.misread(); misread > 0 && r.Counting == metrics.Strict {
		s += fmt.Sprintf("; that counts the %s that are misread with no attack at all", up(misread, cs.Of))
	}
	return s + "."
}

// misread counts the sensitive examples whose prediction is wrong.
func (r *Run) misread() int {
	n := 0
	for _, res := range r.Results {
		if res.Sensitive && !res.Correct() {
			n++
		}
	}
	return n
}

// atOnce is the confidence of what is said about all examples together.
const atOnce = 0.99

// together says what holds for these examples at once, where each claim alone
// may fail with probability alpha.
func (r *Run) together(a metrics.AtOnce, l metrics.AtOnceLevel) string {
	if a.Group.Of == 0 {
		return ""
	}
	return fmt.Sprintf("Taken together: with confidence %s%% at most %d of %d group proofs are false, so at least %s of these very examples are safe; likewise their open cost is at most %s.",
		number(100*a.Confidence), a.Group.Most, a.Group.Of, tenths(int64(floorTo(l.RobCS, 1000))), costUp(l.RobCost))
}
