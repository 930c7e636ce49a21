package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Terminal writes the summary that people read first.
func Terminal(w io.Writer, runs []*Run) {
	eps := runs[0].Eps
	t := Table(runs, eps)
	writeAligned(w, t.Head, t.Rows)
	for _, r := range runs {
		fmt.Fprintln(w)
		if len(runs) > 1 {
			fmt.Fprintf(w, "%s. ", r.Name)
		}
		fmt.Fprintln(w, r.sentence(eps))
		sw := newSweep(r, []float64{eps})
		sw.step(0)
		for _, m := range sw.costliest(3) {
			fmt.Fprintf(w, "  %s\n", r.inWords(m, eps, r.answered(m.cellID)))
		}
	}
	b := &builder{runs: runs}
	for _, s := range b.warnings() {
		fmt.Fprintln(w, "take care:", s)
	}
}

// writeAligned writes columns: the first to the left, the others to the right.
func writeAligned(w io.Writer, head []string, rows [][]string) {
	all := append([][]string{head}, rows...)
	width := make([]int, len(head))
	for _, row := range all {
		for j, s := range row {
			width[j] = max(width[j], utf8.RuneCountInString(s))
		}
	}
	for _, row := range all {
		var b strings.Builder
		for j, s := range row {
			pad := strings.Repeat(" ", width[j]-utf8.RuneCountInString(s))
			if j == 0 {
				b.WriteString(s + pad)
			} else {
				b.WriteString("  " + pad + s)
			}
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
}
