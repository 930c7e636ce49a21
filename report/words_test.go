package report

import (
	"bytes"
	"encoding/csv"
	"math"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lorica/metrics"
)

// Shares are rounded to the side that promises less, exactly, for all small n.
func TestSharesAreRoundedSafely(t *testing.T) {
	for of := 1; of <= 130; of++ {
		for hits := 0; hits <= of; hits++ {
			exact := big.NewRat(int64(hits)*100, int64(of))
			for text, safe := range map[string]func(*big.Rat) bool{
				down(hits, of): func(r *big.Rat) bool { return r.Cmp(exact) <= 0 },
				up(hits, of):   func(r *big.Rat) bool { return r.Cmp(exact) >= 0 },
			} {
				r, ok := new(big.Rat).SetString(strings.TrimSuffix(text, "%"))
				if !ok {
					t.Fatalf("%q is no number", text)
				}
				off := new(big.Rat).Sub(r, exact)
				if !safe(r) || off.Abs(off).Cmp(big.NewRat(1, 10)) >= 0 {
					t.Fatalf("%d of %d is shown as %s", hits, of, text)
				}
			}
		}
	}
	if down(0, 0) != "–" || up(0, 0) != "–" {
		t.Error("nothing of nothing has a share")
	}
}

// floorTo and ceilTo see through what v*scale rounds to in floating point.
func TestScalingIsExact(t *testing.T) {
	for _, v := range []float64{0, 0.3, 0.29, 0.57, 1.15, 0.1 + 0.2, math.Nextafter(0.5, 0), math.Nextafter(0.5, 1), 1e-9, 3.9999999999999996} {
		exact := new(big.Rat).Mul(new(big.Rat).SetFloat64(v), big.NewRat(10000, 1))
		low, high := new(big.Rat).SetFloat64(floorTo(v, 10000)), new(big.Rat).SetFloat64(ceilTo(v, 10000))
		if low.Cmp(exact) > 0 || high.Cmp(exact) < 0 || new(big.Rat).Sub(high, low).Cmp(big.NewRat(1, 1)) > 0 {
			t.Errorf("%v lies between %v and %v", v, low, high)
		}
	}
}

func TestCostsAreRoundedUp(t *testing.T) {
	for v, want := range map[float64]string{0: "0.00", 0.07: "0.07", 0.0701: "0.08", 5.698630136986301: "5.70", 0.1 + 0.2: "0.30", 9: "9.00"} {
		if got := costUp(v); got != want {
			t.Errorf("a cost of %v is shown as %s, want %s", v, got, want)
		}
	}
}

func TestSentences(t *testing.T) {
	for _, test := range []struct {
		cost, count string
		eps         float64
		want        string
	}{
		{"cat->*", "strict", 0.5, "At radius 0.50, 16.0% of the 292 examples of cat are proved safe: no change of the input within that radius makes the model answer a class that costs something. 84.0% may still be turned into something costly; that counts the 54.5% that are misread with no attack at all."},
		{"bird->*;deer->*", "strict", 0.25, "At radius 0.25, 34.0% of the 97 examples of bird and deer are proved safe"},
		{"cat->dog", "harmless", 0.5, "may still be turned into something costly."},
	} {
		r := golden(t, Settings{Cost: test.cost, Counting: test.count, Eps: test.eps})[0]
		if got := r.sentence(test.eps); !strings.Contains(got, test.want) {
			t.Errorf("%s, %s, %g: %q", test.cost, test.count, test.eps, got)
		}
	}
}

// A shell reads back every command that the page prints.
func TestShellLine(t *testing.T) {
	args := []string{"lorica", "3->2:1,5:10", "it's", "", "a b", `$HOME"\`, "-o", "x.html", "🐈"}
	out, err := exec.Command("sh", "-c", "printf '%s\\n' "+shellLine(args)).Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSuffix(string(out), "\n"); got != strings.Join(args, "\n") {
		t.Errorf("%s is read as %q", shellLine(args), got)
	}
}

func TestTables(t *testing.T) {
	runs := golden(t, Settings{Eps: 0.5})
	runs[0].Name = `a|b_&`
	c := Table(runs, 0.5)
	var md, tex, sheet bytes.Buffer
	for _, err := range []error{c.Markdown(&md), c.LaTeX(&tex), c.CSV(&sheet)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if want := `| a\|b_& | 52.7% | 49.0–56.4 | 30.9% | 16.0% | 12.0–20.9 | 5.70 | 4.99–6.37 | 292 | 736 |`; !strings.Contains(md.String(), want) {
		t.Errorf("Markdown:\n%s", md.String())
	}
	if want := `a|b\_\& & 52.7\% & 49.0--56.4 & 30.9\% & 16.0\%`; !strings.Contains(tex.String(), want) {
		t.Errorf("LaTeX:\n%s", tex.String())
	}
	rows, err := csv.NewReader(&sheet).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range rows[0] {
		if name == "rob_cs" && (rows[1][i] != "0.16095890410958905" || rows[1][0] != `a|b_&`) {
			t.Errorf("CSV: %q", rows[1])
		}
	}
}

// A run folder says what it needs; flags come first; what is missing is named.
func TestLoadFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "margin")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile("testdata/margin-cs.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("counts.jsonl", string(raw))
	if _, err := Load(dir, Settings{Eps: -1}); err == nil || !strings.Contains(err.Error(), "--cost") {
		t.Errorf("without costs: %v", err)
	}
	write("metrics.json", `{"cost":"3->5","alpha":0.01,"procedure":"paper","count":"harmless","levels":[{"eps":0.25},{"eps":1}],"command":["lorica","certify"],"version":"v1"}`)
	r, err := Load(dir, Settings{Eps: -1})
	if err != nil {
		t.Fatal(err)
	}
	if r.Name != "margin" || r.Eps != 0.25 || r.Params.Alpha != 0.01 || r.Params.Procedure != "paper" || r.Counting != metrics.Harmless ||
		r.Params.Cost.String() != "3->5" || r.Version != "v1" || len(r.Command) != 2 {
		t.Errorf("read as %q at %g: %+v, %s", r.Name, r.Eps, r.Params, r.Counting)
	}
	if r, err = Load(filepath.Join(dir, "counts.jsonl"), Settings{Eps: 0, Cost: "3->*", Alpha: 0.1, Procedure: "joint", Counting: "strict"}); err != nil {
		t.Fatal(err)
	}
	if r.Name != "margin" || r.Eps != 0 || r.Params.Alpha != 0.1 || r.Params.Procedure != "joint" || r.Counting != metrics.Strict || r.Params.Cost.String() != "3->*" {
		t.Errorf("flags do not come first: %q at %g: %+v, %s", r.Name, r.Eps, r.Params, r.Counting)
	}
	write("metrics.json", "{")
	if _, err := Load(dir, Settings{Eps: -1}); err == nil || !strings.Contains(err.Error(), "metrics.json") {
		t.Errorf("a broken metrics.json: %v", err)
	}
	if _, err := Load(filepath.Join(dir, "none"), Settings{Eps: -1}); err == nil {
		t.Error("a run that is not there was read")
	}
}

func TestDistinguish(t *testing.T) {
	runs := []*Run{{Name: "run", Path: "a/run/counts.jsonl"}, {Name: "run", Path: "b/run/counts.jsonl"}, {Name: "run", Path: "b/run/counts.jsonl"}}
	Distinguish(runs)
	if runs[0].Name != "a/run" || runs[1].Name != "b/run (2)" || runs[2].Name != "b/run (3)" {
		t.Errorf("%q %q %q", runs[0].Name, runs[1].Name, runs[2].Name)
	}
}
