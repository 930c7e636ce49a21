package report

import (
	"math"
	"strconv"
)

// A Figure is a list of marks: what is drawn, once, for the page (SVG whose
// colours are the page's), for papers (SVG that stands alone) and as PNG.
type Figure struct {
	Name  string // of the files: letters, digits and dashes
	Title string // what is shown, in a few words
	Desc  string // what it says, for those who cannot see it
	W, H  float64
	marks []mark
}

type point struct{ x, y float64 }

// mark is one thing that is drawn. class names its looks: a row of styles, and
// the CSS class in the page.
type mark struct {
	kind   kind
	class  string
	pts    []point
	text   string
	anchor anchor
	turn   float64 // of text, in degrees
	alpha  float64 // of a cell: how full it is, in [0,1]
}

type kind byte

const (
	polyline kind = iota
	area          // closed and filled
	cell          // pts: two corners; filled by alpha
	dots          // small discs
	label
)

type anchor byte

const (
	start anchor = iota
	middle
	end
)

func (f *Figure) add(m mark) { f.marks = append(f.marks, m) }

func (f *Figure) line(class string, pts ...point) {
	f.add(mark{kind: polyline, class: class, pts: pts})
}

func (f *Figure) text(class string, x, y float64, a anchor, s string) {
	f.add(mark{kind: label, class: class, pts: []point{{x, y}}, anchor: a, text: s})
}

// axes maps data to the figure's plane.
type axes struct {
	left, right, top, bottom float64 // edges of the plot
	xmax, ymax               float64 // both begin at 0
}

func (a axes) x(v float64) float64 { return a.left + (a.right-a.left)*v/a.xmax }
func (a axes) y(v float64) float64 { return a.bottom - (a.bottom-a.top)*v/a.ymax }
func (a axes) at(x, y float64) point {
	return point{a.x(x), a.y(math.Min(math.Max(y, 0), a.ymax))}
}

// Panels are narrow enough to stand alone on a phone and three in a row on a
// desk, so that text is never scaled.
const (
	panelW, panelH = 340, 260
	padLeft        = 46
	padRight       = 12
	padTop         = 30
	padBottom      = 40
)

// newPanel is a plot with its title, grid, ticks and axis names. unit is "%"
// for shares.
func newPanel(name, title, xname string, xmax, ymax float64, unit string) (*Figure, axes) {
	f := &Figure{Name: name, Title: title, W: panelW, H: panelH}
	a := axes{padLeft, panelW - padRight, padTop, panelH - padBottom, xmax, ymax}
	f.text("title", 0, 14, start, title)
	for _, v := range ticks(ymax, 5) {
		f.line("grid", point{a.left, a.y(v)}, point{a.right, a.y(v)})
		text := number(v)
		if unit == "%" {
			text = number(math.Round(v*1e4)/100) + "%"
		}
		f.text("tick", a.left-6, a.y(v)+3.5, end, text)
	}
	for _, v := range ticks(xmax, 6) {
		f.line("axis", point{a.x(v), a.bottom}, point{a.x(v), a.bottom + 4})
		f.text("tick", a.x(v), a.bottom+16, middle, number(v))
	}
	f.line("axis", point{a.left, a.bottom}, point{a.right, a.bottom})
	f.text("name", (a.left+a.right)/2, panelH-6, middle, xname)
	return f, a
}

// ticks are round numbers from 0 to top, about n of them.
func ticks(top float64, n int) []float64 {
	if !(top > 0) || math.IsInf(top, 0) {
		return []float64{0}
	}
	step := niceStep(top / float64(n))
	var out []float64
	for i := 0; float64(i)*step <= top*(1+1e-9); i++ {
		out = append(out, float64(i)*step)
	}
	return out
}

// niceStep is the smallest of 1, 2, 2.5, 5 times a power of ten that is not
// below v.
func niceStep(v float64) float64 {
	if !(v > 0) || math.IsInf(v, 0) {
		return 1
	}
	base := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 2.5, 5} {
		if m*base >= v*(1-1e-9) {
			return m * base
		}
	}
	return 10 * base
}

// number writes a tick: short, without a tail of zeros.
func number(v float64) string {
	return strconv.FormatFloat(math.Round(v*1e6)/1e6, 'g', 6, 64)
}
