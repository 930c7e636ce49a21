package report

import (
	"bytes"
	"encoding/json"
	"math"
	"regexp"
	"strings"
	"testing"
)

var cifar = []string{"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"}

// golden loads the two models' counts: 736 CIFAR-10 test images each.
func golden(t testing.TB, s Settings) []*Run {
	t.Helper()
	if s.Cost == "" {
		s.Cost = "cat->*"
	}
	if s.Names == nil {
		s.Names = cifar
	}
	var runs []*Run
	for _, name := range []string{"gaussian", "margin-cs"} {
		r, err := Load("testdata/"+name+".jsonl.gz", s)
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, r)
	}
	Distinguish(runs)
	return runs
}

func render(t testing.TB, runs []*Run) string {
	t.Helper()
	var b bytes.Buffer
	if err := Page(&b, runs, Options{Version: "test", Command: []string{"lorica", "report"}}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// data reads the numbers behind the page back from it.
func data(t testing.TB, html string) payload {
	t.Helper()
	m := regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`).FindStringSubmatch(html)
	if m == nil {
		t.Fatal("the page holds no data")
	}
	var p payload
	if err := json.Unmarshal([]byte(m[1]), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// Every frame of the slider says what metrics says, rounded to the side that
// promises less.
func TestFramesAreTheMetrics(t *testing.T) {
	runs := golden(t, Settings{Eps: 0.5})
	p := data(t, render(t, runs))
	if p.EpsText[p.Start] != "0.50" {
		t.Fatalf("the page opens at %s", p.EpsText[p.Start])
	}
	for i, r := range runs {
		for at, eps := range p.Eps {
			f := p.Runs[i].Frames[at]
			cs, mean := r.Set.RobCS(eps), r.Set.RobCost(eps)
			if got := percent(t, f.RobCS.Value); got > 100*cs.Value+1e-9 || got < 100*cs.Value-0.1-1e-9 {
				t.Errorf("%s at %g: Rob_cs is shown as %v, it is %v", r.Name, eps, got, cs.Value)
			}
			low, high, _ := strings.Cut(f.RobCS.Range, " to ")
			if percent(t, low) > 100*cs.Low+1e-9 || percent(t, high) < 100*cs.High-1e-9 {
				t.Errorf("%s at %g: the interval %s is inside [%v, %v]", r.Name, eps, f.RobCS.Range, cs.Low, cs.High)
			}
			if got := decimal(t, f.RobCost.Value); got < mean.Value-1e-9 || got > mean.Value+0.01+1e-9 {
				t.Errorf("%s at %g: Rob_cost is shown as %v, it is %v", r.Name, eps, got, mean.Value)
			}
		}
	}
}

// The figures that PyTorch's counts came to, computed by another program.
func TestHeadlineIsTheGoldenOne(t *testing.T) {
	runs := golden(t, Settings{Eps: 0.5})
	p := data(t, render(t, runs))
	for i, want := range []frame{
		{RobCS: figure{"16.0%", "12.0% to 20.9%"}, RobCost: figure{"5.70", "4.99 to 6.37"}, Cert: figure{"30.9%", "27.6% to 34.5%"}},
		{RobCS: figure{"67.4%", "61.7% to 72.9%"}, RobCost: figure{"1.70", "1.18 to 2.31"}, Cert: figure{"46.0%", "42.4% to 49.8%"}},
	} {
		got := p.Runs[i].Frames[p.Start]
		if got.RobCS != want.RobCS || got.RobCost != want.RobCost || got.Cert != want.Cert {
			t.Errorf("%s: %+v %+v %+v, want %+v", runs[i].Name, got.RobCS, got.RobCost, got.Cert, want)
		}
	}
	want := "At radius 0.50, gaussian proves 16.0% of the 292 examples of cat safe from every costly mistake; margin-cs 67.4%."
	if p.Lead[p.Start] != want {
		t.Errorf("the page says %q", p.Lead[p.Start])
	}
	together := "Taken together: with confidence 99% at most 2 of 248 group proofs are false, so at least 66.7% of these very examples are safe; likewise their open cost is at most 1.89."
	if got := p.Runs[1].Frames[p.Start].Together; got != together {
		t.Errorf("of all examples at once the page says %q", got)
	}
	open := "cat read as dog, at cost 1: not ruled out within 0.50 for 219 of 292 (75.0%); 58 answered so already."
	if got := p.Runs[0].Frames[p.Start].Open; len(got) != 3 || got[0] != open {
		t.Errorf("the costliest open mistakes are %q", got)
	}
}

func percent(t testing.TB, s string) float64 {
	return decimal(t, strings.TrimSuffix(s, "%"))
}

func decimal(t testing.TB, s string) float64 {
	t.Helper()
	var v float64
	if err := json.Unmarshal([]byte(s), &v); err != nil || math.IsNaN(v) {
		t.Fatalf("%q is no number", s)
	}
	return v
}
