package certify

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

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

func fromCounts(t testing.TB, rec counts.Record, p Params) Result {
	t.Helper()
	res, err := FromCounts(rec, p)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// random makes a record of n draws over the classes, some of them invalid.
func random(rng *rand.Rand, classes int, n int64) counts.Record {
	rec := counts.Record{Label: rng.IntN(classes), N: n, Select: make([]int64, classes), Count: make([]int64, classes)}
	left := n
	for _, k := range rng.Perm(classes) {
		v := int64(float64(left) * rng.Float64())
		rec.Count[k] = v
		left -= v
	}
	if rng.IntN(2) == 0 {
		rec.Invalid = left
	} else {
		rec.Count[0] += left
	}
	copy(rec.Select, rec.Count)
	if rng.IntN(4) == 0 { // selection chose another class
		rec.Select[rng.IntN(classes)] = n
	}
	return rec
}

// The closed form: a half-space at distance d is predicted with probability
// Phi(d/sigma), and its radius is d. Draws are exact binomial ones.
func TestLinearClassifiers(t *testing.T) {
	const n, n0, classifiers = 100_000, 100, 1000
	for _, alpha := range []float64{0.001, 0.05} {
		rng := rand.New(rand.NewPCG(7, uint64(alpha*1000)))
		false1, false2, false3 := 0, 0, 0
		ratio := 0.0
		for range classifiers {
			sigma := 0.1 + rng.Float64()
			d := sigma * (0.3 + 3*rng.Float64())
			label := rng.IntN(2)
			p := 0.5 * math.Erfc(-d/sigma/math.Sqrt2)
			rec := counts.Record{Label: label, N: n, Select: make([]int64, 2), Count: make([]int64, 2)}
			rec.Select[label] = binomial(rng, n0, p)
			rec.Select[1-label] = n0 - rec.Select[label]
			rec.Count[label] = binomial(rng, n, p)
			rec.Count[1-label] = n - rec.Count[label]
			res := fromCounts(t, rec, Params{Sigma: sigma, Alpha: alpha, Cost: matrix(t, "0->1;1->0", 2)})
			limit := d
			if res.Top != label {
				limit = 0 // the other half-space does not hold x at all
			}
			for claim, r := range map[*int]float64{&false1: res.RStd, &false2: res.RGroup, &false3: res.Pairs[0].Radius} {
				if r > limit {
					*claim++
				}
			}
			ratio += res.RStd / d / classifiers
		}
		// The number of false claims is at most binomial(1000, alpha): five
		// standard deviations above its mean.
		limit := classifiers*alpha + 5*math.Sqrt(classifiers*alpha)
		for i, f := range []int{false1, false2, false3} {
			if float64(f) > limit {
				t.Errorf("alpha %g: claim %d is false %d times in %d, at most %.0f can be chance", alpha, i+1, f, classifiers, limit)
			}
		}
		if ratio < 0.95 || ratio > 1 {
			t.Errorf("alpha %g: radii reach %.3f of the distance on average, want 0.95", alpha, ratio)
		}
		t.Logf("alpha %g: false claims %d, %d, %d of %d; %.4f of the distance", alpha, false1, false2, false3, classifiers, ratio)
	}
}

// binomial draws by inversion, walking out from the mode.
func binomial(rng *rand.Rand, n int64, p float64) int64 {
	mode := int64(float64(n+1) * p)
	lg := func(v int64) float64 { l, _ := math.Lgamma(float64(v) + 1); return l }
	at := math.Exp(lg(n) - lg(mode) - lg(n-mode) + float64(mode)*math.Log(p) + float64(n-mode)*math.Log1p(-p))
	u := rng.Float64()
	lo, hi, pLo, pHi := mode, mode, at, at
	u -= at
	for u > 0 && (lo > 0 || hi < n) {
		if hi < n {
			pHi *= float64(n-hi) / float64(hi+1) * p / (1 - p)
			hi++
			if u -= pHi; u <= 0 {
				return hi
			}
		}
		if lo > 0 {
			pLo *= float64(lo) / float64(n-lo+1) * (1 - p) / p
			lo--
			if u -= pLo; u <= 0 {
				return lo
			}
		}
		if pLo == 0 && pHi == 0 {
			break
		}
	}
	return mode
}

// The identities of the contract, over random counts.
func TestIdentities(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const tiny = 1e-12
	exprs := map[int][]string{2: {"0->1;1->0"}, 4: {"0->*;1->*;2->*;3->*", "0->1:3,2;2->3;3->0"}}
	for range 3000 {
		classes := 2 + 2*rng.IntN(2)
		rec := random(rng, classes, 1+rng.Int64N(5000))
		m := matrix(t, exprs[classes][rng.IntN(len(exprs[classes]))], classes)
		p := Params{Sigma: 0.5, Alpha: 0.01, Cost: m}
		joint := fromCounts(t, rec, p)
		for _, procedure := range []Procedure{Joint, Paper} {
			p.Procedure = procedure
			res := fromCounts(t, rec, p)
			claims := res.RStd > 0 || res.RGroup > 0
			for _, pair := range res.Pairs {
				claims = claims || pair.Radius > 0
				if pair.Radius < res.RGroup {
					t.Fatalf("%+v: a pair radius is below the group's", rec)
				}
				if pair.Class == res.Top && (pair.Radius != 0 || res.RGroup != 0) {
					t.Fatalf("%+v: a claim about the predicted class", rec)
				}
				if procedure == Joint && pair.Class == res.Worst && pair.Radius != res.RGroup {
					t.Fatalf("%+v: the worst class is not where the group radius comes from", rec)
				}
			}
			if res.Abstained == claims {
				t.Fatalf("%+v: abstained %v with claims %v", rec, res.Abstained, claims)
			}
			// Surer claims are smaller.
			surer := p
			surer.Alpha /= 10
			if s := fromCounts(t, rec, surer); s.RStd > res.RStd || s.RGroup > res.RGroup {
				t.Fatalf("%+v: radii grow as alpha falls", rec)
			}
			// Radii scale with sigma.
			wide := p
			wide.Sigma *= 2
			if w := fromCounts(t, rec, wide); math.Abs(w.RGroup-2*res.RGroup) > tiny || math.Abs(w.RStd-2*res.RStd) > tiny {
				t.Fatalf("%+v: radii do not scale with sigma", rec)
			}
		}
		if len(joint.Pairs) == classes-1 && !joint.InOmega() {
			// Omega is everything else: the group claim is the prediction's,
			// at the level it uses, or better.
			half := p
			half.Alpha /= 2
			std := fromCounts(t, rec, half).RStd
			if joint.RGroup < std-tiny {
				t.Fatalf("%+v: group radius %v is below the standard one %v at alpha/2", rec, joint.RGroup, std)
			}
			if classes == 2 && rec.Invalid == 0 && math.Abs(joint.RGroup-std) > 1e-10 {
				t.Fatalf("%+v: two classes: group radius %v, standard one %v at alpha/2", rec, joint.RGroup, std)
			}
		}
	}
}

// Draws without a class count for nobody and against the top class.
func TestInvalidDraws(t *testing.T) {
	p := Params{Sigma: 1, Alpha: 0.001, Cost: matrix(t, "0->1", 3)}
	sel := []int64{10, 0, 0}
	all := fromCounts(t, counts.Record{Select: sel, Count: []int64{900, 50, 50}, N: 1000}, p)
	lost := fromCounts(t, counts.Record{Select: sel, Count: []int64{900, 50, 0}, Invalid: 50, N: 1000}, p)
	if all.RStd != lost.RStd || all.RGroup != lost.RGroup {
		t.Errorf("draws of an idle class turned invalid: %v %v, want %v %v", lost.RStd, lost.RGroup, all.RStd, all.RGroup)
	}
	none := fromCounts(t, counts.Record{Select: []int64{0, 0, 0}, Count: []int64{0, 0, 0}, Invalid: 1000, InvalidSelect: 10, N: 1000}, p)
	if !none.Abstained {
		t.Errorf("nothing but invalid draws: %+v", none)
	}
}

// A group claim without a prediction claim: p below 1/2.
func TestNeverInOmegaIsNotAlwaysTop(t *testing.T) {
	p := Params{Sigma: 1, Alpha: 0.001, Cost: matrix(t, "0->1", 4)}
	res := fromCounts(t, counts.Record{Select: []int64{40, 1, 30, 29}, Count: []int64{4000, 100, 3000, 2900}, N: 10000}, p)
	if res.RStd != 0 || res.RGroup <= 0 || res.Abstained {
		t.Errorf("%+v: want a group claim and no prediction claim", res)
	}
}

func TestTiesGoToTheLowest(t *testing.T) {
	p := Params{Sigma: 1, Alpha: 0.001, Cost: matrix(t, "0->1", 3)}
	res := fromCounts(t, counts.Record{Select: []int64{0, 5, 5}, Count: []int64{0, 5, 5}, N: 10}, p)
	if res.Top != 1 {
		t.Errorf("top %d, want 1", res.Top)
	}
}

func TestRefusals(t *testing.T) {
	m := matrix(t, "0->1", 2)
	good := Params{Sigma: 1, Alpha: 0.001, Cost: m}
	rec := func(f func(*counts.Record)) counts.Record {
		r := counts.Record{Index: 17, Select: []int64{1, 0}, Count: []int64{8, 2}, N: 10}
		f(&r)
		return r
	}
	ok := rec(func(*counts.Record) {})
	for _, c := range []struct {
		rec  counts.Record
		p    Params
		want string
	}{
		{ok, Params{Alpha: 0.1, Cost: m}, "sigma"},
		{ok, Params{Sigma: math.Inf(1), Alpha: 0.1, Cost: m}, "sigma"},
		{ok, Params{Sigma: 1, Cost: m}, "alpha"},
		{ok, Params{Sigma: 1, Alpha: 1, Cost: m}, "alpha"},
		{ok, Params{Sigma: 1, Alpha: 0.1}, "cost"},
		{ok, Params{Sigma: 1, Alpha: 0.1, Cost: m, Procedure: "magic"}, `"magic"`},
		{rec(func(r *counts.Record) { r.Count = []int64{10} }), good, "example 17"},
		{rec(func(r *counts.Record) { r.Label = 2 }), good, "label 2"},
		{rec(func(r *counts.Record) { r.Label = -1 }), good, "label -1"},
		{rec(func(r *counts.Record) { r.N = 11 }), good, "sum to 10, n is 11"},
		{rec(func(r *counts.Record) { r.N = 0 }), good, "n = 0"},
		{rec(func(r *counts.Record) { r.Count = []int64{12, -2} }), good, "negative"},
	} {
		if _, err := FromCounts(c.rec, c.p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q in it", err, c.want)
		}
	}
}

func TestFormatRadiusCuts(t *testing.T) {
	for _, c := range []struct {
		r    float64
		d    int
		want string
	}{
		{0, 3, "0.000"}, {0.9999, 3, "0.999"}, {1.25, 2, "1.25"}, {0.3, 3, "0.299"}, {0.29999999999999999, 6, "0.299999"},
		{12.0005, 0, "12"}, {1e-9, 6, "0.000000"}, {0.5, 1, "0.5"},
	} {
		if got := FormatRadius(c.r, c.d); got != c.want {
			t.Errorf("FormatRadius(%v, %d) = %s, want %s", c.r, c.d, got, c.want)
		}
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		r := rng.ExpFloat64()
		var v float64
		if err := json.Unmarshal([]byte(FormatRadius(r, 4)), &v); err != nil || v > r || r-v > 1.0001e-4 {
			t.Fatalf("%v is printed as %s", r, FormatRadius(r, 4))
		}
	}
}

// The form of the lines; the radii themselves are held against scipy and the
// closed forms above.
func TestJSONL(t *testing.T) {
	p := Params{Sigma: 0.5, Alpha: 0.001, Cost: matrix(t, "0->1,2", 3)}
	a := fromCounts(t, counts.Record{Index: 4, Select: []int64{9, 1, 0}, Count: []int64{9000, 600, 400}, N: 10000}, p)
	b := fromCounts(t, counts.Record{Index: 5, Label: 2, Select: []int64{0, 0, 9}, Count: []int64{0, 0, 10000}, N: 10000}, p)
	var out bytes.Buffer
	if err := WriteJSONL(&out, []Result{a, b}); err != nil {
		t.Fatal(err)
	}
	want := `{"index":4,"label":0,"top":0,"abstained":false,"r_std":0.614355,"r_group":0.678663,"r_pair":{"1":0.678663,"2":0.725375}}
{"index":5,"label":2,"top":2,"abstained":false,"r_std":1.599288}
`
	if got := out.String(); got != want {
		t.Errorf("certificates:\n%swant:\n%s", got, want)
	}
}

func BenchmarkCertify(b *testing.B) {
	for _, c := range []struct {
		name    string
		classes int
	}{{"10classes", 10}, {"1000classes", 1000}} {
		b.Run(c.name, func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 1))
			recs := make([]counts.Record, 64)
			for i := range recs {
				recs[i] = random(rng, c.classes, 100_000)
				recs[i].Label = 3
			}
			p := Params{Sigma: 0.5, Alpha: 0.001, Cost: matrix(b, "3->*", c.classes)}
			for i := 0; b.Loop(); i++ {
				fromCounts(b, recs[i%len(recs)], p)
			}
		})
	}
}
