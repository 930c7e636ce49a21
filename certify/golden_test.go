package certify

import (
	"compress/gzip"
	"encoding/json"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"lorica/bound"
	"lorica/cost"
	"lorica/counts"
)

type goldenRadius struct {
	Classes, Label, Top int
	N                   int64
	Alpha, Sigma        float64
	Omega               []int
	Counts              map[string]int64
	RStd                number            `json:"r_std"`
	RGroup              number            `json:"r_group"`
	RPair               map[string]number `json:"r_pair"`
	PLower              float64           `json:"p_a_lower"`
	PUpper              float64           `json:"p_b_upper"`
}

// number is a float64 that may be "-inf".
type number float64

func (n *number) UnmarshalJSON(b []byte) error {
	v, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	*n = number(v)
	return err
}

func readGolden(t *testing.T) []goldenRadius {
	t.Helper()
	f, err := os.Open("testdata/radii.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var rows []goldenRadius
	if err := json.NewDecoder(z).Decode(&rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

// record makes a record whose selection draws are its estimation draws: the
// golden file has one set of counts and takes its arg max.
func (g goldenRadius) record(t *testing.T) (counts.Record, *cost.Matrix) {
	t.Helper()
	c := make([]int64, g.Classes)
	for k, v := range g.Counts {
		i, err := strconv.Atoi(k)
		if err != nil {
			t.Fatal(err)
		}
		c[i] = v
	}
	rows := make([][]float64, g.Classes)
	for y := range rows {
		rows[y] = make([]float64, g.Classes)
	}
	for _, k := range g.Omega {
		rows[g.Label][k] = 1
	}
	m, err := cost.New(rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	return counts.Record{Label: g.Label, Select: c, Count: c, N: g.N}, m
}

// The golden radii are scipy's, of the procedure paper, before the larger of
// two is taken and before claims are withdrawn.
func TestGoldenRadii(t *testing.T) {
	rows := readGolden(t)
	if len(rows) != 120 {
		t.Fatalf("%d golden rows, want 120", len(rows))
	}
	near := func(i int, name string, got float64, golden ...number) {
		want := 0.0 // the larger of the golden radii, 0 where none is above it
		for _, g := range golden {
			want = math.Max(want, float64(g))
		}
		if math.Abs(got-want) > 1e-9*math.Max(1, math.Abs(want)) || got > want+1e-12 {
			t.Errorf("row %d: %s = %v, want %v", i, name, got, want)
		}
	}
	claimed, inOmega := 0, 0
	for i, g := range rows {
		rec, m := g.record(t)
		res, err := FromCounts(rec, Params{Sigma: g.Sigma, Alpha: g.Alpha, Procedure: Paper, Cost: m})
		if err != nil {
			t.Fatal(err)
		}
		if res.Top != g.Top {
			t.Errorf("row %d: top %d, want %d", i, res.Top, g.Top)
		}
		near(i, "p_a_lower", res.PTop, number(g.PLower))
		near(i, "r_std", res.RStd, g.RStd)
		in := res.InOmega()
		if in {
			inOmega++
			near(i, "r_group", res.RGroup)
		} else {
			near(i, "r_group", res.RGroup, g.RStd, g.RGroup)
			if u := bound.Upper(rec.Count[res.Worst], g.N, g.Alpha/(2*float64(len(g.Omega)))); u < g.PUpper-1e-12 || u > g.PUpper*(1+1e-9) {
				t.Errorf("row %d: p_b_upper = %v, want %v", i, u, g.PUpper)
			}
		}
		raw := func(name string, level float64, count int64, want number) {
			q := bound.Upper(count, g.N, level)
			got := g.Sigma / 2 * (bound.QuantileDown(res.PTop) - bound.QuantileUp(q))
			if math.Abs(got-float64(want)) > 1e-9 || got > float64(want)+1e-12 {
				t.Errorf("row %d: %s before the rules = %v, want %v", i, name, got, want)
			}
		}
		if !in {
			raw("r_group", g.Alpha/(2*float64(len(g.Omega))), rec.Count[res.Worst], g.RGroup)
			for _, p := range res.Pairs {
				raw("r_pair", g.Alpha/2, rec.Count[p.Class], g.RPair[strconv.Itoa(p.Class)])
			}
		}
		if len(res.Pairs) != len(g.RPair) {
			t.Errorf("row %d: %d pairs, want %d", i, len(res.Pairs), len(g.RPair))
		}
		for _, p := range res.Pairs {
			if name := strconv.Itoa(p.Class); p.Class == g.Top {
				near(i, "r_pair of the top class", p.Radius)
			} else {
				near(i, "r_pair "+name, p.Radius, g.RStd, g.RPair[name])
			}
			if p.Radius > 0 {
				claimed++
			}
		}
	}
	if claimed < 100 {
		t.Errorf("only %d golden claims: the file tests nothing", claimed)
	}
	t.Logf("%d pair claims, %d rows with the top class in Omega", claimed, inOmega)
}
