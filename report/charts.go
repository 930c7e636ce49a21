package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// series is one run's line in a panel.
type series struct {
	name string
	run  int
	x    []float64
	y    []float64
	low  []float64 // nil: no band
	high []float64
}

// runClass is the class of a run's marks.
func runClass(word string, run int) string { return word + " s" + strconv.Itoa(run%len(runColours)) }

// curveFigures are certified accuracy, Rob_cs and Rob_cost over eps, every run
// in each. They share the horizontal axis, along which the slider moves.
func curveFigures(runs []*Run, eps []float64) []*Figure {
	var acc, cs, cost []series
	top := 0.0
	for i, r := range runs {
		a := series{name: r.Name, run: i, x: eps}
		b, c := a, a
		for _, p := range r.Set.Curve(eps) {
			a.y, a.low, a.high = append(a.y, p.CertAcc.Value), append(a.low, p.CertAcc.Low), append(a.high, p.CertAcc.High)
			b.y, b.low, b.high = append(b.y, p.RobCS.Value), append(b.low, p.RobCS.Low), append(b.high, p.RobCS.High)
			c.y, c.low, c.high = append(c.y, p.RobCost.Value), append(c.low, p.RobCost.Low), append(c.high, p.RobCost.High)
			top = math.Max(top, p.RobCost.High)
		}
		acc, cs, cost = append(acc, a), append(cs, b), append(cost, c)
	}
	if top == 0 {
		top = 1
	}
	xmax := eps[len(eps)-1]
	return []*Figure{
		curvePanel("curve-rob-cs", "Proved safe from costly mistakes (Rob_cs)", cs, xmax, 1, "%"),
		curvePanel("curve-rob-cost", "Open cost per sensitive example (Rob_cost)", cost, xmax, top, ""),
		curvePanel("curve-accuracy", "Certified accuracy, all examples", acc, xmax, 1, "%"),
	}
}

func curvePanel(name, title string, all []series, xmax, ymax float64, unit string) *Figure {
	f, a := newPanel(name, title, "radius ε", xmax, ymax, unit)
	for _, s := range all {
		if s.low != nil {
			f.add(mark{kind: area, class: runClass("band", s.run), pts: band(a, s)})
		}
	}
	for _, s := range all {
		pts := make([]point, len(s.x))
		for i := range s.x {
			pts[i] = a.at(s.x[i], s.y[i])
		}
		f.line(runClass("line", s.run), pts...)
		f.Desc += fmt.Sprintf("%s: %s at radius 0, %s half-way, %s at %s. ", s.name,
			valueText(s.y[0], unit), valueText(s.y[len(s.y)/2], unit), valueText(s.y[len(s.y)-1], unit), number(xmax))
	}
	labelSeries(f, a, all)
	return f
}

func valueText(v float64, unit string) string {
	if unit == "%" {
		return number(math.Round(v*1000)/10) + "%"
	}
	return number(math.Round(v*100) / 100)
}

func band(a axes, s series) []point {
	var pts []point
	for i := range s.x {
		pts = append(pts, a.at(s.x[i], s.high[i]))
	}
	for i := len(s.x) - 1; i >= 0; i-- {
		pts = append(pts, a.at(s.x[i], s.low[i]))
	}
	return pts
}

// labelSeries writes each run's name at its own line, where the lines are
// furthest apart, on a side that no line crosses. One run needs no name. More than four names
// would hide the lines: then the colours of the headline are the key.
func labelSeries(f *Figure, a axes, all []series) {
	if len(all) < 2 || len(all) > 4 {
		return
	}
	best, gap := 0, -1.0
	n := len(all[0].x)
	for i := n / 12; i < n*7/10; i++ {
		g := math.Inf(1)
		for p := range all {
			for q := range p {
				g = math.Min(g, math.Abs(all[p].y[i]-all[q].y[i]))
			}
		}
		if g > gap {
			best, gap = i, g
		}
	}
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(p, q series) int { return cmp.Compare(q.y[best], p.y[best]) })
	for i, s := range sorted {
		name := short(s.name, 26)
		rising := s.y[n-1] > s.y[0]
		at := a.at(s.x[best], s.y[best])
		// The side of the line that is free: right of a falling line lies
		// above it, right of a climbing one below; the lowest line has the
		// other side.
		right, above := !rising, true
		if i > 0 && i == len(sorted)-1 {
			right, above = rising, false
		}
		if width := 6.4 * float64(len([]rune(name))); right && at.x+7+width > a.right || !right && at.x-7-width < a.left {
			right, above = !right, !above
		}
		p := point{at.x + 7, at.y + 14}
		if above {
			p.y = at.y - 6
		}
		how := start
		if !right {
			p.x, how = at.x-7, end
		}
		f.text(runClass("series", s.run), p.x, math.Min(p.y, a.bottom-3), how, name)
	}
}

// short cuts a long name in the middle: its ends tell more.
func short(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n/2]) + "…" + string(r[len(r)-n/2+1:])
}

// bins of the histograms.
const bins = 24

// histogramFigures are the distributions of counted radii: the group radius of
// sensitive examples, the prediction's radius of normal ones and of all.
func histogramFigures(runs []*Run, xmax float64) []*Figure {
	var group, normal, all []series
	for i, r := range runs {
		var g, n, a []float64
		for _, res := range r.Results {
			a = append(a, r.counted(res, res.RStd))
			if res.Sensitive {
				g = append(g, r.counted(res, res.RGroup))
			} else {
				n = append(n, r.counted(res, res.RStd))
			}
		}
		for _, part := range []struct {
			to    *[]series
			radii []float64
		}{{&group, g}, {&normal, n}, {&all, a}} {
			if len(part.radii) > 0 {
				*part.to = append(*part.to, series{name: r.Name, run: i, y: histogram(part.radii, xmax)})
			}
		}
	}
	var out []*Figure
	for _, p := range []struct {
		name, title string
		all         []series
	}{
		{"radii-sensitive", "Sensitive examples: group radius", group},
		{"radii-normal", "Normal examples: prediction radius", normal},
		{"radii-all", "All examples: prediction radius", all},
	} {
		if len(p.all) > 0 {
			out = append(out, histogramPanel(p.name, p.title, p.all, xmax))
		}
	}
	return out
}

// histogram is the share of radii in each bin. Bin 0 holds what is 0, where
// nothing is proved; bin i holds ((i-1)w, iw] of the rest, w = xmax/bins.
func histogram(radii []float64, xmax float64) []float64 {
	h := make([]float64, bins+1)
	for _, r := range radii {
		i := 0
		if r > 0 {
			i = min(max(int(math.Ceil(r/xmax*bins)), 1), bins)
		}
		h[i] += 1 / float64(len(radii))
	}
	return h
}

func histogramPanel(name, title string, all []series, xmax float64) *Figure {
	ymax := 0.05
	for _, s := range all {
		for _, v := range s.y[1:] {
			ymax = math.Max(ymax, v*1.45) // room for the notes
		}
	}
	f, a := newPanel(name, title, "certified radius", xmax, ymax, "%")
	for j, s := range all {
		pts := []point{a.at(0, 0)}
		for i, v := range s.y[1:] {
			pts = append(pts, a.at(float64(i)*xmax/bins, v), a.at(float64(i+1)*xmax/bins, v))
		}
		pts = append(pts, a.at(xmax, 0))
		f.add(mark{kind: area, class: runClass("fill", s.run), pts: pts})
		f.line(runClass("line", s.run), pts...)
		if j < 5 {
			f.text(runClass("series", s.run), a.right, a.top+10+13*float64(j), end,
				short(s.name, 22)+": "+valueText(s.y[0], "%")+" have radius 0")
		}
		f.Desc += fmt.Sprintf("%s: nothing is proved for %s. ", s.name, valueText(s.y[0], "%"))
	}
	return f
}

// scatterFigure is the prediction's radius against the group radius, one dot a
// sensitive example, as proved (whatever the prediction).
func scatterFigure(r *Run, run int, xmax float64) *Figure {
	f, a := newPanel("scatter-"+strconv.Itoa(run+1), short(r.Name, 30)+": both radii of each example", "prediction radius", xmax, xmax, "")
	f.line("diagonal", a.at(0, 0), a.at(xmax, xmax))
	var pts []point
	above, onAxis := 0, 0
	for _, res := range r.Results {
		if !res.Sensitive {
			continue
		}
		pts = append(pts, a.at(res.RStd, res.RGroup))
		if res.RGroup > res.RStd {
			above++
			if res.RStd == 0 {
				onAxis++
			}
		}
	}
	f.add(mark{kind: dots, class: runClass("dots", run), pts: pts})
	f.text("note", a.left+6, a.top+8, start, "group radius ↑")
	f.text("note", a.right, a.bottom-8, end, fmt.Sprintf("%d of %d above the line", above, len(pts)))
	f.Desc = fmt.Sprintf("The group radius is the larger one for %d of %d sensitive examples; for %d of them only the group claim holds.", above, len(pts), onAxis)
	return f
}
