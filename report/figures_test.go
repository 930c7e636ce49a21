package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"flag"
	"image"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lorica/certify"
)

var update = flag.Bool("update", false, "write the golden files anew")

// marksOf are the marks of a figure of one kind and class.
func marksOf(f *Figure, k kind, class string) []mark {
	var out []mark
	for _, m := range f.marks {
		if m.kind == k && m.class == class {
			out = append(out, m)
		}
	}
	return out
}

// back maps a point of a panel to data.
func back(a axes, p point) (x, y float64) {
	return (p.x - a.left) / (a.right - a.left) * a.xmax, (a.bottom - p.y) / (a.bottom - a.top) * a.ymax
}

func panelAxes(xmax, ymax float64) axes {
	return axes{padLeft, panelW - padRight, padTop, panelH - padBottom, xmax, ymax}
}

// What the curves draw, read back from the drawing, is what counting each
// example by hand comes to.
func TestCurvesDrawTheShares(t *testing.T) {
	runs := golden(t, Settings{Eps: 0.5})
	eps := grid(runs)
	top := 0.0
	for _, r := range runs {
		top = math.Max(top, r.Set.RobCost(eps[len(eps)-1]).High)
		for _, e := range eps {
			top = math.Max(top, r.Set.RobCost(e).High)
		}
	}
	figures := curveFigures(runs, eps)
	for i, r := range runs {
		for j, f := range figures {
			ymax := 1.0
			if j == 1 {
				ymax = top
			}
			line := marksOf(f, polyline, runClass("line", i))
			if len(line) != 1 || len(line[0].pts) != len(eps) {
				t.Fatalf("%s: %d lines of run %d", f.Name, len(line), i)
			}
			for at, p := range line[0].pts {
				x, y := back(panelAxes(eps[len(eps)-1], ymax), p)
				want := byHand(r, eps[at])[j]
				if math.Abs(x-eps[at]) > 1e-9 || math.Abs(y-want) > 1e-9 {
					t.Fatalf("%s of %s at %g is drawn at (%g, %g), want %g", f.Name, r.Name, eps[at], x, y, want)
				}
			}
		}
	}
}

// byHand counts Rob_cs, Rob_cost and certified accuracy, strictly.
func byHand(r *Run, eps float64) [3]float64 {
	var safe, cost, right, sensitive float64
	for _, res := range r.Results {
		if res.Top == res.Label && res.RStd > eps {
			right++
		}
		if len(res.Pairs) == 0 {
			continue
		}
		sensitive++
		if res.Top == res.Label && res.RGroup > eps {
			safe++
		}
		for _, p := range res.Pairs {
			if res.Top != res.Label || p.Radius <= eps {
				cost += r.Params.Cost.At(res.Label, p.Class)
			}
		}
	}
	return [3]float64{safe / sensitive, cost / sensitive, right / float64(len(r.Results))}
}

// The dots are the examples' radii, as proved.
func TestScatterDrawsEveryExample(t *testing.T) {
	r := golden(t, Settings{Eps: 0.5})[0]
	f := scatterFigure(r, 0, 2)
	dot := marksOf(f, dots, "dots s0")[0].pts
	var want []certify.Result
	for _, res := range r.Results {
		if res.Sensitive {
			want = append(want, res)
		}
	}
	if len(dot) != 292 || len(want) != 292 {
		t.Fatalf("%d dots for %d examples", len(dot), len(want))
	}
	for i, p := range dot {
		if x, y := back(panelAxes(2, 2), p); math.Abs(x-want[i].RStd) > 1e-9 || math.Abs(y-want[i].RGroup) > 1e-9 {
			t.Fatalf("example %d is drawn at (%g, %g), its radii are %g and %g", want[i].Index, x, y, want[i].RStd, want[i].RGroup)
		}
	}
}

// A histogram counts everything once, what is 0 apart.
func TestHistogram(t *testing.T) {
	h := histogram([]float64{0, 0, 0.001, 0.5, 1, 1}, 1)
	want := make([]float64, bins+1)
	want[0], want[1], want[bins/2], want[bins] = 2.0/6, 1.0/6, 1.0/6, 2.0/6
	for i := range want {
		if math.Abs(h[i]-want[i]) > 1e-12 {
			t.Errorf("bin %d is %g, want %g", i, h[i], want[i])
		}
	}
}

// numbers are what stands behind the figures that the other tests do not
// count by hand.
type numbers struct {
	Histograms map[string][]float64 `json:"histograms"` // shares by bin, of the marks' heights
	Wins       map[string]float64   `json:"wins"`       // share won by the group radius
	Clean      map[string][]int     `json:"clean"`      // permille, row of the cats
	NoClaim    map[string]int       `json:"no_claim"`
	Robust     map[string][]int     `json:"robust"` // at 0.5
	Changes    map[string][4]int    `json:"changes"`
	First      []string             `json:"first"` // rows of the table without a script
}

func TestNumbersAreTheGoldenOnes(t *testing.T) {
	runs := golden(t, Settings{Eps: 0.5, Cost: "cat->dog:10,bird:1,deer:1,frog:2"})
	n := numbers{map[string][]float64{}, map[string]float64{}, map[string][]int{}, map[string]int{}, map[string][]int{}, map[string][4]int{}, nil}
	round := func(v float64) float64 { return math.Round(v*1e6) / 1e6 }
	b, err := newBuilder(runs, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range runs {
		var group []float64
		for _, res := range r.Results {
			if res.Sensitive {
				group = append(group, r.counted(res, res.RGroup))
			}
		}
		for _, v := range histogram(group, 2) {
			n.Histograms[r.Name] = append(n.Histograms[r.Name], round(v))
		}
		bar := marksOf(winsFigure(runs), cell, runClass("bar", i))[0].pts
		n.Wins[r.Name] = round((bar[1].x - bar[0].x) / (panelW - 46 - 12))
		n.Clean[r.Name], n.NoClaim[r.Name] = b.views[i].Clean[3], b.views[i].Unproved[3]
		n.Robust[r.Name] = b.frames[i][b.start].Heat
	}
	for _, eps := range []float64{0, 0.5, 1} {
		both, onlyA, onlyB, none := changes(runs[0], runs[1], eps)
		n.Changes[epsText(eps)] = [4]int{both, onlyA, onlyB, none}
	}
	for _, row := range b.rows()[:5] {
		raw, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		n.First = append(n.First, string(raw))
	}
	got, err := json.MarshalIndent(n, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	const path = "testdata/numbers.golden.json"
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the numbers differ from %s:\n%s", path, got)
	}
}

// Every figure is well-formed SVG in both kinds, and a PNG with something on it.
func TestFiguresAreFiles(t *testing.T) {
	runs := golden(t, Settings{Eps: 0.5})
	runs[0].Name = `<"&>`
	figures, err := Figures(runs)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, f := range figures {
		names = append(names, f.Name)
		for _, paper := range []bool{false, true} {
			d := xml.NewDecoder(strings.NewReader(f.svg(paper)))
			for {
				if _, err := d.Token(); err == io.EOF {
					break
				} else if err != nil {
					t.Fatalf("%s: %v", f.Name, err)
				}
			}
		}
		var b bytes.Buffer
		if err := f.png(&b, 1); err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(&b)
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		ink := 0
		pix := img.(*image.RGBA).Pix
		for i := 0; i < len(pix); i += 4 {
			if int(pix[i])+int(pix[i+1])+int(pix[i+2]) < 3*200 {
				ink++
			}
		}
		if img.Bounds().Dx() < 300 || ink < 300 {
			t.Errorf("%s is %v with %d dark pixels", f.Name, img.Bounds(), ink)
		}
	}
	want := []string{"curve-rob-cs", "curve-rob-cost", "curve-accuracy", "radii-sensitive", "radii-normal", "radii-all",
		"scatter-1", "scatter-2", "wins", "cost-1", "clean-1", "robust-1", "cost-2", "clean-2", "robust-2"}
	if !slices.Equal(names, want) {
		t.Errorf("the figures are %q", names)
	}
	dir := t.TempDir()
	if err := figures[8].Write(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"wins.svg", "wins.png"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() < 1000 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
