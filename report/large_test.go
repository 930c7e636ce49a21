package report

import (
	"io"
	"math/rand"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lorica/counts"
	"lorica/dataset"
)

// repeated shows the pictures that lorica carries over and over: as many real
// photographs as a test needs.
type repeated struct {
	dataset.Set
	labels []int
}

func (r repeated) Len() int        { return len(r.labels) }
func (r repeated) Label(i int) int { return r.labels[i] }
func (r repeated) Pixels(i int, dst []byte) ([]byte, error) {
	return r.Set.Pixels(i%r.Set.Len(), dst)
}

// large makes a run of many examples whose counts look like a model's: most
// draws on the label or a neighbour, the rest spread.
func large(t testing.TB, examples, classes int, cost string) *Run {
	t.Helper()
	rng := rand.New(rand.NewSource(1))
	const n = 10000
	r := &Run{Name: "large", Path: "large/counts.jsonl", Header: counts.Header{
		Lorica: "counts", Version: 1, Classes: classes, Sigma: 0.5, N0: 100, N: n, Seed: 1, Data: "large", Engine: "cpu float32"}}
	for i := range examples {
		rec := counts.Record{Index: i, Label: rng.Intn(classes), N: n, Select: make([]int64, classes), Count: make([]int64, classes)}
		top := rec.Label
		if rng.Float64() < 0.3 {
			top = rng.Intn(classes)
		}
		rec.Select[top] = 100
		left := int64(n)
		most := int64(n * (0.3 + 0.7*rng.Float64()))
		rec.Count[top], left = most, left-most
		for range 6 {
			part := rng.Int63n(left + 1)
			rec.Count[rng.Intn(classes)] += part
			left -= part
		}
		rec.Count[top] += left
		r.Records = append(r.Records, rec)
	}
	if err := r.certify(Settings{Cost: cost, Eps: 0.5}, saved{}); err != nil {
		t.Fatal(err)
	}
	return r
}

func everyPair(classes int) string {
	rules := make([]string, classes)
	for k := range rules {
		rules[k] = strconv.Itoa(k) + "->*"
	}
	return strings.Join(rules, ";")
}

func withPictures(t testing.TB, r *Run) *Run {
	t.Helper()
	set, err := dataset.Open("builtin", "")
	if err != nil {
		t.Fatal(err)
	}
	p := repeated{Set: set}
	for _, rec := range r.Records {
		p.labels = append(p.labels, rec.Label)
	}
	r.Pictures = p
	return r
}

// Ten thousand examples with pictures and every pair sensitive: below 10 MB.
func TestTenThousandExamples(t *testing.T) {
	r := withPictures(t, large(t, 10000, 10, everyPair(10)))
	html := render(t, []*Run{r})
	if len(html) >= 10e6 {
		t.Errorf("the page has %d bytes", len(html))
	}
	if !strings.Contains(html, `"missing":0`) || !strings.Contains(html, "The first 50 of 10000 examples") {
		t.Error("examples or pictures are missing")
	}
}

// A thousand classes: the matrices show the heaviest rows and columns, and
// they are the heaviest.
func TestThousandClasses(t *testing.T) {
	const classes = 1000
	r := large(t, 300, classes, "7->*;8->9:50;10->11,12")
	html := render(t, []*Run{r})
	v := r.view(0.5)
	if v.Whole || len(v.Rows) > maxShown || len(v.Cols) > maxShown {
		t.Fatalf("the view has %d rows and %d columns", len(v.Rows), len(v.Cols))
	}
	weights := map[int]float64{}
	for _, e := range r.Set.RobustErrors(0.5) {
		weights[e.Label] += e.Cost * float64(e.Share.Hits)
	}
	least := 1e300
	for _, y := range v.Rows {
		least = min(least, weights[y])
	}
	for y, w := range weights {
		if w > least && !slices.Contains(v.Rows, y) {
			t.Errorf("class %d weighs %g and is not shown; the lightest shown weighs %g", y, w, least)
		}
	}
	if n := strings.Count(html, "<td"); n > 2000 {
		t.Errorf("%d cells in the page", n)
	}
	if !strings.Contains(html, "There are 1000 classes") {
		t.Error("the page does not say that it leaves classes out")
	}
}

func BenchmarkPage10000(b *testing.B) {
	r := withPictures(b, large(b, 10000, 10, everyPair(10)))
	for b.Loop() {
		if err := Page(io.Discard, []*Run{r}, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPage1000Classes(b *testing.B) {
	r := large(b, 2000, 1000, everyPair(1000))
	for b.Loop() {
		if err := Page(io.Discard, []*Run{r}, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
