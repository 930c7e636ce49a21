package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Comparison is the runs side by side at one radius.
type Comparison struct {
	Eps  float64
	Head []string
	Rows [][]string // as people read them, rounded to the side that promises less

	exact [][]string // for programs: every figure with all its digits
}

// Table compares runs at eps.
func Table(runs []*Run, eps float64) Comparison {
	at := " at " + epsText(eps)
	c := Comparison{Eps: eps, Head: []string{"run", "Acc", "95%", "certified" + at, "Rob_cs" + at, "95%", "Rob_cost" + at, "95%", "sensitive", "examples"}}
	for _, r := range runs {
		acc, cert, cs, mean := r.Set.Acc(), r.Set.CertAcc(eps), r.Set.RobCS(eps), r.Set.RobCost(eps)
		costs := costFigure(mean)
		c.Rows = append(c.Rows, []string{r.Name, down(acc.Hits, acc.Of), dash(interval(acc)), down(cert.Hits, cert.Of),
			down(cs.Hits, cs.Of), dash(interval(cs)), costs.Value, dash(costs.Range),
			strconv.Itoa(r.Set.Sensitive()), strconv.Itoa(r.Set.Examples())})
		f := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
		c.exact = append(c.exact, []string{r.Name, f(eps), f(acc.Value), f(acc.Low), f(acc.High), f(cert.Value), f(cert.Low), f(cert.High),
			f(cs.Value), f(cs.Low), f(cs.High), f(mean.Value), f(mean.Low), f(mean.High), strconv.Itoa(r.Set.Sensitive()), strconv.Itoa(r.Set.Examples()),
			f(r.Header.Sigma), f(r.Params.Alpha), string(r.Params.Procedure), string(r.Counting), r.Params.Cost.String()})
	}
	return c
}

// dash writes an interval the way tables do.
func dash(s string) string {
	low, high, ok := strings.Cut(s, " to ")
	if !ok {
		return "–"
	}
	return strings.TrimSuffix(low, "%") + "–" + strings.TrimSuffix(high, "%")
}

// Markdown writes the table for a README.
func (c Comparison) Markdown(w io.Writer) error {
	cell := strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;")
	line := func(row []string) string {
		var b strings.Builder
		for _, s := range row {
			b.WriteString("| " + cell.Replace(s) + " ")
		}
		return b.String() + "|\n"
	}
	text := line(c.Head) + "|---" + strings.Repeat("|---:", len(c.Head)-1) + "|\n"
	for _, row := range c.Rows {
		text += line(row)
	}
	_, err := io.WriteString(w, text)
	return err
}

// CSV writes the table for programs, with all digits.
func (c Comparison) CSV(w io.Writer) error {
	out := csv.NewWriter(w)
	head := []string{"run", "eps", "acc", "acc_low", "acc_high", "cert_acc", "cert_acc_low", "cert_acc_high",
		"rob_cs", "rob_cs_low", "rob_cs_high", "rob_cost", "rob_cost_low", "rob_cost_high", "sensitive", "examples",
		"sigma", "alpha", "procedure", "count", "cost"}
	return out.WriteAll(append([][]string{head}, c.exact...)) // flushes
}

// LaTeX writes the table for a paper that uses booktabs.
func (c Comparison) LaTeX(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%% needs \\usepackage{booktabs}\n\\begin{tabular}{l%s}\n\\toprule\n", strings.Repeat("r", len(c.Head)-1))
	line := func(row []string) {
		for j, s := range row {
			if j > 0 {
				b.WriteString(" & ")
			}
			b.WriteString(latex(s))
		}
		b.WriteString(" \\\\\n")
	}
	line(c.Head)
	b.WriteString("\\midrule\n")
	for _, row := range c.Rows {
		line(row)
	}
	b.WriteString("\\bottomrule\n\\end{tabular}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// latex escapes what LaTeX reads as commands, one pass over the text.
func latex(s string) string {
	return strings.NewReplacer(`\`, `\textbackslash{}`, "&", `\&`, "%", `\%`, "$", `\$`, "#", `\#`, "_", `\_`,
		"{", `\{`, "}", `\}`, "~", `\textasciitilde{}`, "^", `\textasciicircum{}`, "–", "--", "<", `\textless{}`, ">", `\textgreater{}`, "\n", " ").Replace(s)
}
