package report

import (
	"slices"
	"strings"
	"testing"

	"lorica/counts"
)

// odd are runs that a page must survive: its figures have nothing to divide,
// its axes nothing to span, its colours wrap around.
func odd(t testing.TB) map[string][]*Run {
	t.Helper()
	part := func(s Settings, keep func(i int, rec counts.Record) bool) []*Run {
		runs := golden(t, s)
		for _, r := range runs {
			var left []counts.Record
			for i, rec := range r.Records {
				if keep(i, rec) {
					left = append(left, rec)
				}
			}
			r.Records = left
			if err := r.certify(s, saved{}); err != nil {
				t.Fatal(err)
			}
		}
		return runs
	}
	cats := Settings{Cost: "cat->*", Names: cifar, Eps: 0.5}
	some := func(i int, _ counts.Record) bool { return i < 90 }
	with := func(change func(*Settings)) Settings { s := cats; change(&s); return s }
	many := part(cats, func(i int, _ counts.Record) bool { return i < 60 })
	for len(many) < 9 {
		r := *many[0]
		many = append(many, &r)
	}
	Distinguish(many)
	small := large(t, 40, 3, "0->1")
	return map[string][]*Run{
		"nothing sensitive": part(cats, func(i int, rec counts.Record) bool { return i < 90 && rec.Label != 3 }),
		"all sensitive":     part(cats, func(i int, rec counts.Record) bool { return i < 200 && rec.Label == 3 }),
		"one example":       part(cats, func(i int, _ counts.Record) bool { return i == 0 })[:1],
		"radius 0":          part(with(func(s *Settings) { s.Eps = 0 }), some),
		"radius 7":          part(with(func(s *Settings) { s.Eps = 7 }), some),
		"odd radius":        part(with(func(s *Settings) { s.Eps = 1.0 / 3 }), some),
		"paper, harmless":   part(with(func(s *Settings) { s.Procedure, s.Counting = "paper", "harmless" }), some),
		"hopeless alpha":    part(with(func(s *Settings) { s.Alpha = 1e-300 }), func(i int, _ counts.Record) bool { return i < 20 }),
		"nine runs":         many,
		"other classes":     {many[0], small},
	}
}

// What makes figures doubtful or runs hard to compare is said.
var oddWarnings = map[string]string{
	"nothing sensitive": "no example has a sensitive label",
	"paper, harmless":   "1 - 1.5 alpha",
	"radius 7":          "more draws are needed",
	"other classes":     "The runs differ in their costs",
}

func TestOddRuns(t *testing.T) {
	for name, runs := range odd(t) {
		html := render(t, runs)
		p := data(t, html) // NaN and Inf are no JSON
		if strings.Contains(html, "NaN") || strings.Contains(html, "+Inf") {
			t.Errorf("%s: the page holds what is no number", name)
		}
		if !slices.IsSorted(p.Eps) || p.Eps[p.Start] != runs[0].Eps {
			t.Errorf("%s: the slider stands at %g of %v", name, p.Eps[p.Start], p.Eps)
		}
		if !strings.Contains(html, oddWarnings[name]) {
			t.Errorf("%s: the page does not say %q", name, oddWarnings[name])
		}
		if _, err := Figures(runs); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		Terminal(&strings.Builder{}, runs)
	}
}

// The noise of another tool cannot be drawn again, and the page says so.
func TestNoiseNote(t *testing.T) {
	r := golden(t, Settings{Eps: 0.5})[0]
	if got := r.noiseNote(); !strings.Contains(got, "cannot be made again") {
		t.Errorf("of PyTorch's counts: %s", got)
	}
	for _, engine := range []string{"cpu float32", "xla:cuda bfloat16"} {
		r.Header.Engine = engine
		if got := r.noiseNote(); !strings.Contains(got, "as the model saw them") {
			t.Errorf("of %s: %s", engine, got)
		}
	}
}
