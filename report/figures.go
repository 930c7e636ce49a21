package report

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
)

// Figures are all figures of the page, for papers: curves, distributions,
// both radii of each example, who wins, and the three matrices of each run at
// the first run's radius.
func Figures(runs []*Run) ([]*Figure, error) {
	if len(runs) == 0 {
		return nil, fmt.Errorf("figures need at least one run")
	}
	eps, at := grid(runs), runs[0].Eps
	out := curveFigures(runs, eps)
	xmax := largest(runs)
	out = append(out, histogramFigures(runs, xmax)...)
	for i, r := range runs {
		if r.Set.Sensitive() > 0 {
			out = append(out, scatterFigure(r, i, xmax))
		}
	}
	out = append(out, winsFigure(runs))
	for i, r := range runs {
		v := r.view(at)
		out = append(out, r.heatFigures(i, v, at, r.frames([]float64{at}, v.Cells)[0].Heat)...)
	}
	return out, nil
}

// Write writes the figure into a folder as NAME.svg and NAME.png.
func (f *Figure) Write(dir string) error {
	if err := os.WriteFile(filepath.Join(dir, f.Name+".svg"), []byte(f.svg(true)), 0o644); err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(dir, f.Name+".png"))
	if err != nil {
		return err
	}
	w := bufio.NewWriter(file)
	if err := f.png(w, paperScale); err != nil {
		file.Close()
		return err
	}
	if err := w.Flush(); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}
