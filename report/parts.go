package report

import (
	"fmt"
	"html/template"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"lorica/certify"
	"lorica/metrics"
)

// title names the runs.
func (b *builder) title() string {
	var names []string
	for _, r := range b.runs {
		names = append(names, r.Name)
	}
	if len(names) > 3 {
		return fmt.Sprintf("%d runs", len(names))
	}
	return list(names)
}

// lead is the page's first sentence: what every run proves at eps.
func (b *builder) lead(eps float64) string {
	r := b.runs[0]
	cs := r.Set.RobCS(eps)
	if cs.Of == 0 {
		return r.sentence(eps)
	}
	if len(b.runs) == 1 {
		return fmt.Sprintf("At radius %s, %s of %s are proved safe from every costly mistake; %s may still be turned into something costly.",
			epsText(eps), down(cs.Hits, cs.Of), r.crowd(), up(cs.Of-cs.Hits, cs.Of))
	}
	if len(b.runs) > 3 {
		best, worst := r, r
		for _, o := range b.runs {
			if o.Set.RobCS(eps).Value > best.Set.RobCS(eps).Value {
				best = o
			}
			if o.Set.RobCS(eps).Value < worst.Set.RobCS(eps).Value {
				worst = o
			}
		}
		x, y := best.Set.RobCS(eps), worst.Set.RobCS(eps)
		return fmt.Sprintf("At radius %s, of %d runs %s proves the largest share of its sensitive examples safe from every costly mistake: %s; %s the smallest: %s.",
			epsText(eps), len(b.runs), best.Name, down(x.Hits, x.Of), worst.Name, down(y.Hits, y.Of))
	}
	var parts []string
	for i, o := range b.runs {
		s := o.Set.RobCS(eps)
		of := ""
		if i == 0 || o.crowd() != r.crowd() {
			of = " of " + o.crowd()
		}
		verb := ""
		if i == 0 {
			verb = " proves"
		}
		parts = append(parts, fmt.Sprintf("%s%s %s%s", o.Name, verb, down(s.Hits, s.Of), of))
	}
	return fmt.Sprintf("At radius %s, %s safe from every costly mistake; %s.", epsText(eps), parts[0], strings.Join(parts[1:], ", "))
}

// size gives a feeling for a radius, where the size of the images is known.
func (b *builder) size(eps float64) string {
	p := b.runs[0].Pictures
	if p == nil {
		return ""
	}
	c, h, w := p.Shape()
	levels := eps * 255 / math.Sqrt(float64(c*h*w))
	return fmt.Sprintf("A radius of %s is as far as moving each of the %d values of a picture by %.1f of 255 levels, or one value by %.0f.",
		epsText(eps), c*h*w, levels, eps*255)
}

// strict says whether any run counts a misread example as open everywhere.
func (b *builder) strict() bool {
	return slices.ContainsFunc(b.runs, func(r *Run) bool { return r.Counting == metrics.Strict })
}

// warnings are the runs' own and what makes runs hard to compare.
func (b *builder) warnings() []string {
	var out []string
	for _, r := range b.runs {
		for _, w := range r.Summary.Warnings {
			if len(b.runs) > 1 {
				w = r.Name + ": " + w
			}
			out = append(out, w+".")
		}
		if s := r.Sampled; s != nil && s.Asked.Tolerance == 0 {
			out = append(out, fmt.Sprintf("%s drew only until its question was answered at radius %s. At other radii its claims hold, but more draws could prove more.", r.Name, epsList(s.Asked.Eps)))
		}
	}
	differ := func(what string, of func(*Run) string) {
		for _, r := range b.runs[1:] {
			if of(r) != of(b.runs[0]) {
				out = append(out, fmt.Sprintf("The runs differ in %s (%s: %s; %s: %s).", what, b.runs[0].Name, of(b.runs[0]), r.Name, of(r)))
				return
			}
		}
	}
	differ("their costs", func(r *Run) string { return short(r.Params.Cost.String(), 60) })
	differ("alpha", func(r *Run) string { return fmt.Sprint(r.Params.Alpha) })
	differ("sigma", func(r *Run) string { return fmt.Sprint(r.Header.Sigma) })
	differ("their procedure", func(r *Run) string { return string(r.Params.Procedure) })
	differ("the way of counting", func(r *Run) string { return string(r.Counting) })
	differ("their data", func(r *Run) string { return strings.TrimSpace(r.Header.Data + " " + r.Header.Split) })
	differ("the number of examples", func(r *Run) string { return strconv.Itoa(len(r.Results)) })
	return out
}

func epsList(eps []float64) string {
	var out []string
	for _, e := range eps {
		out = append(out, epsText(e))
	}
	return list(out)
}

func (b *builder) runView(i int) runView {
	r, f := b.runs[i], b.frames[i][b.start]
	acc, cs := r.Set.Acc(), r.Set.RobCS(b.eps[b.start])
	v := runView{
		Name: r.Name, Crowd: r.crowd(), Colour: i % len(runColours), Frame: f,
		Acc:      figure{down(acc.Hits, acc.Of), interval(acc)},
		Meter:    template.CSS(fmt.Sprintf("--v:%.3f;--lo:%.3f;--hi:%.3f", cs.Value, cs.Low, cs.High)),
		Matrices: b.matrices(i), Facts: r.facts(),
	}
	if !b.views[i].Whole {
		v.LeftOut = fmt.Sprintf("There are %d classes: shown are the %d labels and %d answers whose open mistakes at radius %s cost most together.",
			r.Header.Classes, len(b.views[i].Rows), len(b.views[i].Cols), epsText(b.eps[b.start]))
	}
	v.Command, v.CommandNote = shellLine(r.Command), "The command that made it:"
	if len(r.Command) == 0 {
		v.Command, v.CommandNote = shellLine(r.repeat()), "To repeat it (put together from the header of its counts):"
	}
	return v
}

// comparable says whether two runs of the same examples can be set against
// each other, example by example.
func (b *builder) comparable() bool {
	return len(b.runs) == 2 && b.sprite[0] == b.sprite[1]
}

func (b *builder) changes(eps float64) *changesView {
	if !b.comparable() {
		return nil
	}
	v := &changesView{A: b.runs[0].Name, B: b.runs[1].Name}
	v.Both, v.OnlyA, v.OnlyB, v.None = changes(b.runs[0], b.runs[1], eps)
	v.Intro = fmt.Sprintf("The %d sensitive examples that both runs hold, by what is proved at the chosen radius.", v.Both+v.OnlyA+v.OnlyB+v.None)
	return v
}

// noiseNote says whose noise a click shows. Only lorica's own engines draw by
// identity, so only theirs can be drawn again.
func (r *Run) noiseNote() string {
	engine := r.Header.Engine
	if strings.HasPrefix(engine, "cpu") || strings.HasPrefix(engine, "xla") {
		return fmt.Sprintf("The first six estimation draws as the model saw them: noise of σ = %g from seed %d, made again in this page (what lies below black or above white is cut for the eye).", r.Header.Sigma, r.Header.Seed)
	}
	return fmt.Sprintf("Noise of the same strength, σ = %g. The counts come from another tool (%s), whose own draws cannot be made again.", r.Header.Sigma, first(engine, "engine unknown"))
}

// facts is the provenance of a run.
func (r *Run) facts() []fact {
	h := r.Header
	procedure := "joint: proved at 1 − α"
	if r.Params.Procedure == certify.Paper {
		procedure = "paper: Algorithms 1 and 2; proved at 1 − 1.5 α"
	}
	if r.Params.Split == certify.Selected {
		procedure += "; α divided by the selection draws"
	}
	if r.Params.Randomize {
		procedure += "; randomised bounds: α is also over the seed"
	}
	counting := "strict: a misread example counts as radius 0"
	if r.Counting == metrics.Harmless {
		counting = "harmless: claims of misread examples stand"
	}
	costs := r.Params.Cost.String()
	if len(costs) > 400 {
		costs = costs[:400] + "…"
	}
	out := []fact{{"Counts", r.Path}, {"Model", h.Model.Path}}
	if h.Model.SHA256 != "" {
		out = append(out, fact{"Model SHA-256", h.Model.SHA256})
	}
	draws := fmt.Sprintf("%d to select, %d to estimate; %d in all", h.N0, h.N, r.Summary.Draws)
	if r.Sampled != nil {
		draws = fmt.Sprintf("%d to select, up to %d to estimate, stopped when the question was answered (%s bounds over %d looks); %d in all", h.N0, h.N, r.Sampled.Bounds, len(r.Sampled.Looks), r.Summary.Draws)
	}
	out = append(out,
		fact{"Data", strings.TrimSpace(h.Data + " " + h.Split)},
		fact{"Examples", fmt.Sprintf("%d, of which %d sensitive and %d abstained on", r.Summary.Examples, r.Summary.Sensitive, r.Summary.Abstained)},
		fact{"Costs", costs},
		fact{"σ", fmt.Sprint(h.Sigma)},
		fact{"Draws", draws},
		fact{"α", fmt.Sprint(r.Params.Alpha)},
		fact{"Procedure", procedure}, fact{"Counting", counting},
		fact{"Seed", strconv.FormatUint(h.Seed, 10)}, fact{"Engine", first(h.Engine, "not said")})
	if r.Version != "" {
		out = append(out, fact{"Sampled by", "lorica " + r.Version})
	}
	return out
}

// repeat is the command that would sample the run again, as far as its header
// says.
func (r *Run) repeat() []string {
	h := r.Header
	costs := r.Params.Cost.String()
	if len(costs) > 400 {
		costs = "costs.csv" // no command line holds a thousand classes
	}
	out := []string{"lorica", "certify", "--model", h.Model.Path, "--data", h.Data, "--cost", costs,
		"--sigma", fmt.Sprint(h.Sigma), "--n", strconv.FormatInt(h.N, 10), "--n0", strconv.FormatInt(h.N0, 10),
		"--alpha", fmt.Sprint(r.Params.Alpha), "--eps", fmt.Sprint(r.Eps), "--seed", strconv.FormatUint(h.Seed, 10)}
	return append(out, "--out", filepath.Dir(r.Path))
}

// shellLine writes a command so that a POSIX shell reads it back.
func shellLine(args []string) string {
	plain := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("-_./:=,@%+", c)
	}
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = a
		if a == "" || strings.ContainsFunc(a, func(c rune) bool { return !plain(c) }) {
			out[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}
