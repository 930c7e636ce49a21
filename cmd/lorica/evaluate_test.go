package main

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"testing"

	"lorica/metrics"
)

// lorica runs one command line and returns its exit code and streams.
func lorica(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), &out, &errs, args)
	return code, out.String(), errs.String()
}

// Every row was computed with scipy from counts that PyTorch drew from real
// models.
func TestEvaluateReproducesGoldenMetrics(t *testing.T) {
	raw, err := os.ReadFile("testdata/golden/expected_metrics.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct {
		File, Cost, Procedure, Count string
		Eps, Acc                     float64
		RobCS                        float64 `json:"rob_cs"`
		RobCost                      float64 `json:"rob_cost"`
		Sensitive, Examples          int
	}
	if err := json.Unmarshal(raw, &rows); err != nil {
		t.Fatal(err)
	}
	if len(rows) != 120 {
		t.Fatalf("%d golden rows, want 120", len(rows))
	}
	// One run states three eps: forty runs for the rows.
	type key struct{ file, cost, procedure, count string }
	runs := map[key]metrics.Summary{}
	for _, r := range rows {
		k := key{r.File, r.Cost, r.Procedure, r.Count}
		sum, ok := runs[k]
		if !ok {
			code, out, errs := lorica(t, "evaluate", "--counts", "testdata/golden/"+r.File+".gz", "--cost", r.Cost,
				"--procedure", r.Procedure, "--count", r.Count, "--eps", "0.25,0.5,1", "--json")
			if code != 0 {
				t.Fatalf("%v: exit %d: %s", k, code, errs)
			}
			if err := json.Unmarshal([]byte(out), &sum); err != nil {
				t.Fatal(err)
			}
			runs[k] = sum
		}
		found := false
		for _, l := range sum.Levels {
			if l.Eps != r.Eps {
				continue
			}
			found = true
			near := func(name string, got, want float64) {
				if math.Abs(got-want) > 1e-12 {
					t.Errorf("%v eps %g: %s = %v, want %v", k, r.Eps, name, got, want)
				}
			}
			near("acc", sum.Acc.Value, r.Acc)
			near("rob_cs", l.RobCS.Value, r.RobCS)
			near("rob_cost", l.RobCost.Value, r.RobCost)
			if sum.Sensitive != r.Sensitive || sum.Examples != r.Examples {
				t.Errorf("%v: %d of %d sensitive, want %d of %d", k, sum.Sensitive, sum.Examples, r.Sensitive, r.Examples)
			}
		}
		if !found {
			t.Errorf("%v: no figures at eps %g", k, r.Eps)
		}
	}
}

// A part of the counts answers for that part: every 20th image of the golden
// counts, and the cats that were drawn besides.
func TestEvaluatePart(t *testing.T) {
	const file = "testdata/golden/counts_gaussian_resnet20_s050.jsonl.gz"
	for _, test := range []struct {
		flag, value         string
		examples, sensitive int
	}{
		{"--skip", "1", 736, 292},
		{"--skip", "20", 500, 56},
		{"--indices", "0,20,61", 3, 2},
	} {
		code, out, errs := lorica(t, "evaluate", "--counts", file, "--cost", "3->*", "--json", test.flag, test.value)
		var sum struct{ Examples, Sensitive int }
		if err := json.Unmarshal([]byte(out), &sum); code != exitDone || err != nil {
			t.Fatalf("exit %d, %v, %s", code, err, errs)
		}
		if sum.Examples != test.examples || sum.Sensitive != test.sensitive {
			t.Errorf("%s %s: %d examples, %d of them sensitive", test.flag, test.value, sum.Examples, sum.Sensitive)
		}
	}
}
