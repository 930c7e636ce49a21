package certify

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"lorica/bound"
	"lorica/counts"
)

// An adversarial stopping rule: every path of a trinomial (top, rival, other)
// stops at the first look where any claim is false, if there is one. The exact
// probability of that, over all paths, must be at most alpha for each claim.
func TestFalseClaimsOverAllPaths(t *testing.T) {
	s := bound.Schedule{Looks: []int64{4, 6, 9, 14, 20}, LastShare: 0.25}
	c := matrix(t, "0->1;1->0", 3)
	for _, alpha := range []float64{0.02, 0.2, 0.5} {
		staged := claimTable(t, &s, Params{Sigma: 1, Alpha: alpha, Cost: c, Schedule: &s})
		fixed := claimTable(t, &s, Params{Sigma: 1, Alpha: alpha, Cost: c})
		seen := false
		for a := 0.04; a < 1; a += 0.06 {
			for b := 0.0; a+b <= 1; b += 0.11 {
				std, pair := falseAtAnyLook(&s, staged, a, b)
				if std > alpha || pair > alpha {
					t.Fatalf("alpha %v, p (%v, %v): false with probability %v (prediction), %v (pair)", alpha, a, b, std, pair)
				}
				std, pair = falseAtAnyLook(&s, fixed, a, b)
				seen = seen || std > alpha || pair > alpha
			}
		}
		if !seen {
			t.Errorf("alpha %v: bounds for a fixed n pass at every p: the test sees nothing", alpha)
		}
	}
}

// claims are the radii at one count: prediction and pair.
type claims struct{ std, pair float64 }

// claimTable is the claims at each look, by counts of the top and its rival.
func claimTable(t *testing.T, s *bound.Schedule, p Params) []map[[2]int64]claims {
	var table []map[[2]int64]claims
	for stage, n := range s.Looks {
		at := map[[2]int64]claims{}
		for a := range n + 1 {
			for b := range n - a + 1 {
				rec := counts.Record{N: n, Select: []int64{1, 0, 0}, Count: []int64{a, b, n - a - b}}
				if p.Schedule != nil {
					rec.Extra = stageMark(stage + 1)
				}
				res := fromCounts(t, rec, p)
				at[[2]int64{a, b}] = claims{res.RStd, res.RGroup}
			}
		}
		table = append(table, at)
	}
	return table
}

func stageMark(stage int) map[string]json.RawMessage {
	raw, _ := json.Marshal(stage)
	return map[string]json.RawMessage{stageField: raw}
}

// falseAtAnyLook sums over all paths, draw by draw. A radius above 0 is false
// where it is above what the true probabilities a and b allow.
func falseAtAnyLook(s *bound.Schedule, table []map[[2]int64]claims, a, b float64) (std, pair float64) {
	rest := 1 - a - b
	truthStd, truthPair := quantile(a), (quantile(a)-quantile(b))/2
	for claim := range 2 {
		alive := map[[2]int64]float64{{}: 1}
		failed, prev := 0.0, int64(0)
		for j, n := range s.Looks {
			for range n - prev {
				next := make(map[[2]int64]float64, len(alive)*2)
				for k, w := range alive {
					next[[2]int64{k[0] + 1, k[1]}] += w * a
					next[[2]int64{k[0], k[1] + 1}] += w * b
					next[k] += w * rest
				}
				alive = next
			}
			prev = n
			for k, w := range alive {
				c := table[j][k]
				if claim == 0 && c.std > math.Max(truthStd, 0) || claim == 1 && c.pair > math.Max(truthPair, 0) {
					failed += w
					delete(alive, k)
				}
			}
		}
		if claim == 0 {
			std = failed
		} else {
			pair = failed
		}
	}
	return std, pair
}

func TestAdaptiveHeaderComesBack(t *testing.T) {
	h := counts.Header{Lorica: "counts", Version: 1, Classes: 3, Sigma: 1, N0: 10, N: 20}
	if a, err := FromHeader(h); a != nil || err != nil {
		t.Fatalf("a fixed run is %v, %v", a, err)
	}
	want := Adaptive{Bounds: StagedClopperPearson, Schedule: bound.Schedule{Looks: []int64{5, 20}},
		Asked: Asked{Cost: "0->1", Alpha: 0.01, Procedure: Joint, Count: "strict", Eps: []float64{0.5}}}
	h, err := want.Header(h)
	if err != nil {
		t.Fatal(err)
	}
	line, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	var back counts.Header
	if err := json.Unmarshal(line, &back); err != nil {
		t.Fatal(err)
	}
	got, err := FromHeader(back)
	if err != nil || got.Last() != 20 || got.Asked.Cost != "0->1" || len(got.Looks) != 2 {
		t.Fatalf("%+v, %v from %s", got, err, line)
	}
	for raw, want := range map[string]string{
		`{"bounds":"magic","looks":[5,20],"asked":{}}`:                              "magic",
		`{"bounds":"staged-clopper-pearson","looks":[],"asked":{}}`:                 "looks",
		`{"bounds":"staged-clopper-pearson","looks":[5,19],"asked":{}}`:             "last look",
		`{"bounds":"staged-clopper-pearson","looks":[20,5],"asked":{}}`:             "ascending",
		`{"bounds":"staged-clopper-pearson","looks":[5,20],"spend":[1],"asked":{}}`: "spend",
		`7`: "adaptive",
	} {
		back.Extra[adaptiveField] = json.RawMessage(raw)
		if _, err := FromHeader(back); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", raw, err, want)
		}
	}
}

// A record of an adaptive run must not be certified as one of a fixed n, nor
// the other way round.
func TestStagesAreChecked(t *testing.T) {
	s := bound.Schedule{Looks: []int64{5, 20}}
	staged := Params{Sigma: 1, Alpha: 0.1, Cost: matrix(t, "0->1", 3), Schedule: &s}
	fixed := staged
	fixed.Schedule = nil
	rec := func(n int64, extra map[string]json.RawMessage) counts.Record {
		return counts.Record{N: n, Select: []int64{1, 0, 0}, Count: []int64{n, 0, 0}, Extra: extra}
	}
	for name, test := range map[string]struct {
		rec  counts.Record
		p    Params
		want string // "" is no error
	}{
		"right":            {rec(5, stageMark(1)), staged, ""},
		"right, last":      {rec(20, stageMark(2)), staged, ""},
		"fixed":            {rec(7, nil), fixed, ""},
		"schedule lost":    {rec(5, stageMark(1)), fixed, "schedule is missing"},
		"mark lost":        {rec(5, nil), staged, "stage"},
		"wrong stage":      {rec(5, stageMark(2)), staged, "number 1"},
		"between looks":    {rec(6, stageMark(1)), staged, "none of the looks"},
		"beyond the looks": {rec(21, stageMark(3)), staged, "none of the looks"},
	} {
		res, err := FromCounts(test.rec, test.p)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: error %v, want %q", name, err, test.want)
		}
		if name == "right" && res.PStd != bound.Lower(5, 5, s.Level(5, 0.1)) {
			t.Errorf("the bound is %v", res.PStd)
		}
	}
}

func TestDoubts(t *testing.T) {
	a := &Adaptive{Asked: Asked{Cost: "0->1", Alpha: 0.01, Procedure: Joint, Count: "strict", Eps: []float64{0.25, 0.5}}}
	p := Params{Sigma: 1, Alpha: 0.01, Cost: matrix(t, "0->1", 3)}
	if w := a.Doubts(p, "strict", []float64{0.5}); w != nil {
		t.Errorf("its own question is doubted: %v", w)
	}
	if w := (*Adaptive)(nil).Doubts(p, "harmless", []float64{3}); w != nil {
		t.Errorf("a fixed run is doubted: %v", w)
	}
	other := Params{Sigma: 1, Alpha: 0.001, Procedure: Paper, Cost: matrix(t, "0->1;0->2", 3)}
	w := strings.Join(a.Doubts(other, "harmless", []float64{0.25, 1}), "\n")
	for _, want := range []string{"0->1", "alpha 0.01, not 0.001", "joint", "strict", "not 1:"} {
		if !strings.Contains(w, want) {
			t.Errorf("%q is missing in\n%s", want, w)
		}
	}
	a.Asked.Eps, a.Asked.Tolerance = nil, 0.01
	if w := a.Doubts(p, "strict", []float64{3}); w != nil {
		t.Errorf("a run for curves is doubted: %v", w)
	}
}
