package metrics

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"lorica/certify"
	"lorica/cost"
	"lorica/counts"
)

func matrix(t testing.TB, expr string, classes int) *cost.Matrix {
	t.Helper()
	m, err := cost.ParseExpr(expr, classes, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// certified makes results of random counts that mostly favour the label.
func certified(t testing.TB, n int, p certify.Params) []certify.Result {
	t.Helper()
	rng := rand.New(rand.NewPCG(11, 12))
	var out []certify.Result
	for i := range n {
		classes := p.Cost.Classes()
		rec := counts.Record{Index: i, Label: rng.IntN(classes), N: 1000, Select: make([]int64, classes), Count: make([]int64, classes)}
		first := rec.Label
		if rng.IntN(4) == 0 {
			first = rng.IntN(classes)
		}
		left := rec.N
		for j := range classes {
			k := (first + j) % classes
			v := int64(float64(left) * math.Sqrt(rng.Float64()))
			rec.Count[k] = v
			left -= v
		}
		rec.Count[first] += left
		copy(rec.Select, rec.Count)
		res, err := certify.FromCounts(rec, p)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, res)
	}
	return out
}

// The definitions, written out, against the searches.
func TestFiguresAreTheDefinitions(t *testing.T) {
	for _, procedure := range []certify.Procedure{certify.Joint, certify.Paper} {
		for _, counting := range []Counting{Strict, Harmless} {
			m := matrix(t, "0->1:2,3;2->*;3->0:7", 4)
			results := certified(t, 300, certify.Params{Sigma: 0.5, Alpha: 0.01, Procedure: procedure, Cost: m})
			s, err := NewSet(results, m, counting)
			if err != nil {
				t.Fatal(err)
			}
			eps := []float64{0, 0.1, 0.25, 0.5, 10}
			for _, r := range results[:40] { // and exactly at radii: > is not >=
				eps = append(eps, r.RGroup, r.RStd)
			}
			for _, e := range eps {
				var right, robust, sensitive int
				var total float64
				for _, r := range results {
					zero := counting == Strict && r.Top != r.Label
					if r.Top == r.Label && r.RStd > e {
						right++
					}
					if len(m.Omega(r.Label)) == 0 {
						continue
					}
					sensitive++
					if !zero && r.RGroup > e {
						robust++
					}
					for _, p := range r.Pairs {
						if zero || p.Radius <= e {
							total += m.At(r.Label, p.Class)
						}
					}
				}
				p := s.Point(e)
				if p.CertAcc.Hits != right || p.CertAcc.Of != len(results) || p.RobCS.Hits != robust || p.RobCS.Of != sensitive {
					t.Errorf("%s %s eps %v: %+v, want %d right, %d of %d robust", procedure, counting, e, p, right, robust, sensitive)
				}
				if want := total / float64(sensitive); math.Abs(p.RobCost.Value-want) > 1e-12 {
					t.Errorf("%s %s eps %v: Rob_cost %v, want %v", procedure, counting, e, p.RobCost.Value, want)
				}
				// Each sensitive example's share of the matrix of robust errors.
				again := 0.0
				for _, pe := range s.RobustErrors(e) {
					again += pe.Cost * float64(pe.Share.Hits)
				}
				if math.Abs(again-total) > 1e-9 {
					t.Errorf("robust errors cost %v, want %v", again, total)
				}
			}
		}
	}
}

// |Omega| = 1 and C = 1: Rob_cost = 1 - Rob_cs, and so are the intervals.
func TestOnePairIdentity(t *testing.T) {
	m := matrix(t, "0->1;2->3", 4)
	results := certified(t, 400, certify.Params{Sigma: 0.5, Alpha: 0.01, Cost: m})
	s, err := NewSet(results, m, Strict)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []float64{0, 0.1, 0.3, 0.7} {
		cs, c := s.RobCS(e), s.RobCost(e)
		if math.Abs(c.Value-(1-cs.Value)) > 1e-12 || math.Abs(c.Low-(1-cs.High)) > 1e-9 || math.Abs(c.High-(1-cs.Low)) > 1e-9 {
			t.Errorf("eps %v: Rob_cost %+v, Rob_cs %+v", e, c, cs)
		}
		if c.Method != methodExact {
			t.Errorf("interval by %s", c.Method)
		}
	}
}

func TestSummaryHangsTogether(t *testing.T) {
	m := matrix(t, "0->1:2,3;2->*", 4)
	p := certify.Params{Sigma: 0.5, Alpha: 0.01, Cost: m}
	results := certified(t, 300, p)
	positive := 2
	sum, err := Compute(results, p, Options{Eps: []float64{0.25, 0.5}, Positive: &positive})
	if err != nil {
		t.Fatal(err)
	}
	diagonal, all := 0, 0
	for y, row := range sum.Confusion.Counts {
		diagonal += row[y]
		all += sum.Confusion.Unproved[y]
		for _, v := range row {
			all += v
		}
	}
	if diagonal != sum.Acc.Hits || all != 300 || sum.Examples != 300 {
		t.Errorf("confusion: %d right of %d, accuracy %+v", diagonal, all, sum.Acc)
	}
	if sum.Curve[0].CertAcc != sum.Acc {
		t.Errorf("the curve does not begin at the accuracy")
	}
	if last := sum.Curve[len(sum.Curve)-1]; last.RobCS.Hits != 0 || last.CertAcc.Hits != 0 {
		t.Errorf("the curve ends before the largest radius: %+v", last)
	}
	for i, pt := range sum.Curve[1:] {
		if before := sum.Curve[i]; pt.RobCS.Value > before.RobCS.Value || pt.RobCost.Value < before.RobCost.Value || pt.Eps <= before.Eps {
			t.Errorf("the curves are not monotone at %v", pt.Eps)
		}
	}
	row, column := sum.Confusion.Unproved[2], 0
	for k := range 4 {
		row += sum.Confusion.Counts[2][k]
		column += sum.Confusion.Counts[k][2]
	}
	if pos := sum.Positive; pos.Recall.Of != row || pos.Precision.Of != column || pos.Recall.Hits != sum.Confusion.Counts[2][2] || pos.Precision.Hits != pos.Recall.Hits {
		t.Errorf("precision and recall: %+v", pos)
	}
	wins := 0
	for _, w := range sum.StdWins {
		if w.Omega != 2 && w.Omega != 3 {
			t.Errorf("|Omega| = %d", w.Omega)
		}
		wins += w.Share.Of
	}
	want := 0
	for _, r := range results {
		if r.Sensitive && !slices.Contains(m.Omega(r.Label), r.Top) {
			want++
		}
	}
	if wins != want || want == 0 {
		t.Errorf("std wins over %d examples, want %d", wins, want)
	}
	if d := sum.Radii.SensitiveGroup; d.Of != sum.Sensitive || !slices.IsSorted(d.Quantiles) || len(d.Quantiles) != 21 {
		t.Errorf("group radii: %+v", d)
	}
	raw, err := json.Marshal(sum)
	if err != nil {
		t.Fatal(err)
	}
	var back Summary
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back, sum) {
		t.Error("metrics.json does not read back")
	}
}

func TestWarningsAndRefusals(t *testing.T) {
	m := matrix(t, "0->1", 3)
	p := certify.Params{Sigma: 0.5, Alpha: 0.001, Cost: m, Procedure: certify.Paper}
	sum, err := Compute(nil, p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(sum); err != nil || sum.Levels[0].RobCS.High != 1 || len(sum.Warnings) == 0 {
		t.Errorf("no examples: %v, %+v", err, sum)
	}
	sum, err = Compute(certified(t, 50, p), p, Options{Eps: []float64{5}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1 - 1.5 alpha", "more draws are needed"} {
		if !strings.Contains(strings.Join(sum.Warnings, "\n"), want) {
			t.Errorf("no warning of %q: %q", want, sum.Warnings)
		}
	}
	results := certified(t, 50, p)
	other := matrix(t, "1->0", 3)
	if _, err := NewSet(results, other, Strict); err == nil || !strings.Contains(err.Error(), "another cost matrix") {
		t.Errorf("results of another matrix: %v", err)
	}
	if _, err := NewSet(results, m, "lenient"); err == nil {
		t.Error("an unknown counting rule is taken")
	}
	for _, o := range []Options{{Eps: []float64{-1}}, {Eps: []float64{math.NaN()}}, {Grid: []float64{math.Inf(1)}}, {Positive: new(int)}} {
		if o.Positive != nil {
			*o.Positive = 3
		}
		if _, err := Compute(results, p, o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}

// Both intervals miss the truth with at most 5%, by enumeration of the counts
// of three cost values.
func TestIntervalCoverage(t *testing.T) {
	const n, top = 40, 3.0
	for _, p := range [][3]float64{{0.9, 0.05, 0.05}, {0.5, 0.25, 0.25}, {0.2, 0, 0.8}, {0.01, 0.01, 0.98}, {0.34, 0.33, 0.33}} {
		truth := p[1]*1 + p[2]*top
		miss, missShare := 0.0, 0.0
		for a := 0; a <= n; a++ {
			for b := 0; a+b <= n; b++ {
				c := n - a - b
				prob := multinomial(p, a, b, c)
				if m := mean(float64(b)+top*float64(c), n, top, false); truth < m.Low || truth > m.High {
					miss += prob
				}
				if s := share(c, n); p[2] < s.Low || p[2] > s.High {
					missShare += prob
				}
			}
		}
		if miss > 0.05 || missShare > 0.05+1e-12 {
			t.Errorf("p %v: the mean's interval misses with %g, the share's with %g", p, miss, missShare)
		}
	}
	wide, narrow := mean(30, 40, top, false), mean(3000, 4000, top, false)
	if narrow.High-narrow.Low > (wide.High-wide.Low)/5 {
		t.Errorf("intervals do not shrink: %+v, %+v", wide, narrow)
	}
}

func multinomial(p [3]float64, n ...int) float64 {
	total, log := 0, 0.0
	for k, v := range n {
		total += v
		if v > 0 {
			l, _ := math.Lgamma(float64(v) + 1)
			log += float64(v)*math.Log(p[k]) - l
		}
	}
	l, _ := math.Lgamma(float64(total) + 1)
	return math.Exp(log + l)
}

// Ten thousand examples of ten classes, counts to summary.
func BenchmarkCertifyAndCompute10k(b *testing.B) {
	m := matrix(b, "3->*;5->*", 10)
	p := certify.Params{Sigma: 0.5, Alpha: 0.001, Cost: m}
	for b.Loop() {
		results := certified(b, 10_000, p)
		if _, err := Compute(results, p, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
