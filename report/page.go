package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"
)

//go:embed page.html.tmpl
var pageTemplate string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageScript string

// staticRows is how many examples the page lists where no script runs.
const staticRows = 50

// thumbW is the width of a thumbnail on the page, in CSS pixels.
const thumbW = 48

// page is what the template shows.
type page struct {
	Title, Subtitle, Version string
	CSS                      template.CSS
	Script                   template.JS
	ScriptHash               string
	Data                     template.JS

	Lead, Size, EpsText string
	Warnings            []string
	Start, LastFrame    int
	Strict              bool
	Runs                []runView
	Curves              []curveView
	Histograms          []template.HTML
	Scatters            []template.HTML
	Changes             *changesView
	Rows                []rowView
	TableNote           string
	ReportCommand       string
}

type runView struct {
	Name, Crowd string
	Colour      int
	Frame       frame
	Acc         figure
	Meter       template.CSS
	Matrices    []tableView
	LeftOut     string
	Facts       []fact
	Command     string
	CommandNote string
}

type fact struct{ Name, Value string }

type curveView struct {
	ID                string
	SVG               template.HTML
	Left, Right, W, H float64
	XMax              float64
}

type changesView struct {
	A, B, Intro              string
	Both, OnlyA, OnlyB, None int
}

type rowView struct {
	Index                  int
	Label, Top, Group, Std string
	Worst, Cost, Status    string
	StatusClass, Sprite    string
	Thumb                  template.CSS
	Wrong                  bool
}

// Options are the parts of a page that the runs do not hold.
type Options struct {
	Version string   // of the lorica that writes it
	Command []string // that writes it
}

// Page writes the report of some runs as one HTML file that needs nothing
// else. The radius it opens at is the first run's.
func Page(w io.Writer, runs []*Run, o Options) error {
	if len(runs) == 0 {
		return fmt.Errorf("a report needs at least one run")
	}
	b, err := newBuilder(runs, o)
	if err != nil {
		return err
	}
	p, err := b.page()
	if err != nil {
		return err
	}
	t, err := template.New("page").Parse(pageTemplate)
	if err != nil {
		return err
	}
	return t.Execute(w, p)
}

// builder holds what several parts of the page are made from.
type builder struct {
	runs    []*Run
	options Options
	eps     []float64
	start   int
	views   []matrixView
	frames  [][]frame
	sprites []*sprite
	sprite  []int // of each run; its data set's place in sprites
}

func newBuilder(runs []*Run, o Options) (*builder, error) {
	b := &builder{runs: runs, options: o, eps: grid(runs)}
	b.start = slices.Index(b.eps, runs[0].Eps)
	keys := map[string]int{}
	for _, r := range runs {
		v := r.view(b.eps[b.start])
		b.views = append(b.views, v)
		b.frames = append(b.frames, r.frames(b.eps, v.Cells))
		at, known := keys[r.dataKey()]
		if !known {
			at = len(b.sprites)
			keys[r.dataKey()] = at
			s, err := b.newSprite(r.dataKey())
			if err != nil {
				return nil, err
			}
			b.sprites = append(b.sprites, s)
		}
		b.sprite = append(b.sprite, at)
	}
	return b, nil
}

// newSprite makes the thumbnails of a data set: those of all runs on it, the
// most interesting first.
func (b *builder) newSprite(key string) (*sprite, error) {
	var indices []int
	var pictures Pictures
	seen := map[int]bool{}
	for _, r := range b.runs {
		if r.dataKey() != key || r.Pictures == nil {
			continue
		}
		pictures = r.Pictures
		for _, i := range r.byInterest(b.eps[b.start]) {
			if index := r.Results[i].Index; !seen[index] {
				seen[index] = true
				indices = append(indices, index)
			}
		}
	}
	if pictures == nil {
		return nil, nil
	}
	return newSprite(pictures, indices, spriteBudget)
}

func (b *builder) page() (*page, error) {
	eps := b.eps[b.start]
	script := pageScript
	sum := sha256.Sum256([]byte(script))
	p := &page{
		Title: "lorica report: " + b.title(), Subtitle: b.title(), Version: b.options.Version,
		CSS: template.CSS(pageCSS + b.spriteCSS()), Script: template.JS(script),
		ScriptHash: "sha256-" + base64.StdEncoding.EncodeToString(sum[:]),
		Lead:       b.lead(eps), Size: b.size(eps), EpsText: epsText(eps), Warnings: b.warnings(),
		Start: b.start, LastFrame: len(b.eps) - 1, Strict: b.strict(),
		Changes: b.changes(eps), ReportCommand: shellLine(b.options.Command),
	}
	for i := range b.runs {
		p.Runs = append(p.Runs, b.runView(i))
	}
	for _, f := range curveFigures(b.runs, b.eps) {
		p.Curves = append(p.Curves, curveView{f.Name, template.HTML(f.svg(false)), padLeft, panelW - padRight, f.W, f.H, b.eps[len(b.eps)-1]})
	}
	xmax := largest(b.runs)
	for _, f := range histogramFigures(b.runs, xmax) {
		p.Histograms = append(p.Histograms, template.HTML(f.svg(false)))
	}
	for i, r := range b.runs {
		if r.Set.Sensitive() > 0 {
			p.Scatters = append(p.Scatters, template.HTML(scatterFigure(r, i, xmax).svg(false)))
		}
	}
	p.Scatters = append(p.Scatters, template.HTML(winsFigure(b.runs).svg(false)))
	p.Rows = b.rows()
	p.TableNote = fmt.Sprintf("The first %d of %d examples of %s, the costliest open ones first.", len(p.Rows), len(b.runs[0].Results), b.runs[0].Name)
	data, err := json.Marshal(b.payload())
	if err != nil {
		return nil, err
	}
	p.Data = template.JS(data)
	return p, nil
}

// spriteCSS has one rule a data set, so that its picture is in the page once.
func (b *builder) spriteCSS() string {
	var s strings.Builder
	for i, sp := range b.sprites {
		if sp == nil {
			continue
		}
		h := float64(thumbW) * float64(sp.CellH) / float64(sp.Cell)
		fmt.Fprintf(&s, ".sp%d{background-image:url(%s);background-size:%dpx auto;height:%spx}\n", i, sp.URI, thumbW*sp.Columns, coord(h))
	}
	return s.String()
}

// rows is the table for those who run no script.
func (b *builder) rows() []rowView {
	r, eps := b.runs[0], b.eps[b.start]
	order := r.byInterest(eps)
	var out []rowView
	for _, i := range order[:min(len(order), staticRows)] {
		res := r.Results[i]
		v := rowView{Index: res.Index, Label: r.className(res.Label), Top: r.className(res.Top), Wrong: !res.Correct(),
			Std: radius(res.RStd), Status: r.status(res, eps)}
		v.StatusClass = statusClass[v.Status]
		if res.Sensitive {
			v.Group, v.Worst, v.Cost = radius(res.RGroup), r.className(res.Worst), plainCost(r.Params.Cost.At(res.Label, res.Worst))
		}
		if s := b.sprites[b.sprite[0]]; s != nil {
			if at, ok := s.Place[res.Index]; ok {
				scale := float64(thumbW) / float64(s.Cell)
				x, y := float64(at%s.Columns*s.Cell)*scale, float64(at/s.Columns*s.CellH)*scale
				v.Sprite = "sp" + strconv.Itoa(b.sprite[0])
				v.Thumb = template.CSS("background-position:-" + coord(x) + "px -" + coord(y) + "px")
			}
		}
		out = append(out, v)
	}
	return out
}

var statusClass = map[string]string{
	"proved safe": "safe", "prediction proved": "safe", "costly mistake": "bad", "misread": "bad", "open": "open",
}
