package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// winsFigure says by |Omega| which of the two radii of a sensitive example is
// the larger, run by run: full colour where the group radius is (or they are
// equal), pale where the prediction's radius is.
func winsFigure(runs []*Run) *Figure {
	const barH, gap, left, right = 15, 8, 46, 12
	f := &Figure{Name: "wins", Title: "Which radius is larger, by size of Ω", W: panelW}
	f.text("title", 0, 14, start, f.Title)
	f.text("name", 0, 32, start, "|Ω|")
	y := 44.0
	for i, r := range runs {
		for _, w := range r.Summary.StdWins {
			width := float64(panelW - left - right)
			group := width * (1 - w.Share.Value)
			f.text("tick", left-8, y+11, end, strconv.Itoa(w.Omega))
			f.add(mark{kind: cell, class: runClass("bar", i), alpha: 1, pts: []point{{left, y}, {left + group, y + barH}}})
			f.add(mark{kind: cell, class: runClass("bar2", i), alpha: 0.35, pts: []point{{left + group, y}, {left + width, y + barH}}})
			f.text("note", left, y+barH+12, start, fmt.Sprintf("%s: group %s, prediction %s of %d", short(r.Name, 22),
				valueText(1-w.Share.Value, "%"), valueText(w.Share.Value, "%"), w.Share.Of))
			f.Desc += fmt.Sprintf("%s, %d costly answers: the prediction radius is larger for %d of %d. ", r.Name, w.Omega, w.Share.Hits, w.Share.Of)
			y += barH + gap + 14
		}
	}
	f.H = math.Max(y, 80)
	return f
}

// heatFigure is one class-by-class matrix for papers; the page shows the same
// numbers as a table.
func heatFigure(name, title string, r *Run, v matrixView, text func(i, j int) (string, float64)) *Figure {
	const cellW, left, top = 30.0, 88.0, 96.0
	f := &Figure{Name: name, Title: title, W: left + cellW*float64(len(v.Cols)) + 12, H: top + cellW*float64(len(v.Rows)) + 12}
	f.text("title", 0, 14, start, title)
	for j, k := range v.Cols {
		f.add(mark{kind: label, class: "tick", text: short(r.className(k), 12), turn: -45,
			pts: []point{{left + cellW*(float64(j)+0.5), top - 8}}})
	}
	class := "heat"
	if strings.HasPrefix(name, "cost") {
		class = "cost"
	}
	for i, y := range v.Rows {
		y0 := top + cellW*float64(i)
		f.text("tick", left-6, y0+cellW/2+3.5, end, short(r.className(y), 14))
		for j := range v.Cols {
			x0 := left + cellW*float64(j)
			s, full := text(i, j)
			box := []point{{x0 + 1, y0 + 1}, {x0 + cellW - 1, y0 + cellW - 1}}
			f.add(mark{kind: cell, class: "void", alpha: 0.5, pts: box})
			if s == "" {
				continue
			}
			f.add(mark{kind: cell, class: class, alpha: 0.75 * full, pts: box})
			f.text("onheat", x0+cellW/2, y0+cellW/2+3.5, middle, s)
		}
	}
	f.Desc = "Truth down, answer across."
	return f
}

// heatFigures are the cost matrix, the clean error and the robust error at eps.
func (r *Run) heatFigures(run int, v matrixView, eps float64, robust []int) []*Figure {
	suffix := "-" + strconv.Itoa(run+1)
	clean := func(i, j int) (string, float64) {
		p := v.Clean[i][j]
		if p < 0 {
			return "", 0
		}
		if v.Rows[i] == v.Cols[j] {
			return percentDown(p), 0
		}
		return percentUp(p), float64(p) / 1000
	}
	return []*Figure{
		heatFigure("cost"+suffix, "Cost of each mistake", r, v, func(i, j int) (string, float64) { return v.Cost[i][j], v.CostFill[i][j] }),
		heatFigure("clean"+suffix, "Clean error, %: "+short(r.Name, 30), r, v, clean),
		heatFigure("robust"+suffix, "Robust error at "+epsText(eps)+", %: "+short(r.Name, 30), r, v, func(i, j int) (string, float64) {
			at := v.Robust[i][j]
			if at < 0 || robust[at] < 0 {
				return "", 0
			}
			return percentUp(robust[at]), float64(robust[at]) / 1000
		}),
	}
}
