package report

import (
	"slices"
	"sort"
	"strconv"
)

// A matrix of more classes than this is shown by its heaviest rows and columns.
const (
	maxMatrix = 16
	maxShown  = 12
)

// matrixView is the part of the class-by-class matrices that is shown, and
// what it shows.
type matrixView struct {
	Rows, Cols []int
	Whole      bool // nothing is left out
	Cost       [][]string
	CostFill   [][]float64
	Clean      [][]int // permille of the row's examples; -1 where there is none
	Unproved   []int   // permille: no prediction was proved
	Cells      []cellID
	Robust     [][]int // place in Cells, or -1 where the mistake costs nothing
}

// view chooses what matters at eps: all of a small matrix, else the labels
// whose open mistakes cost most, and the answers that cost most among them.
func (r *Run) view(eps float64) matrixView {
	n := r.Params.Cost.Classes()
	v := matrixView{Whole: n <= maxMatrix}
	sw := newSweep(r, []float64{eps})
	sw.step(0)
	if v.Whole {
		for k := range n {
			v.Rows, v.Cols = append(v.Rows, k), append(v.Cols, k)
		}
	} else {
		v.Rows = heaviest(n, func(y int) float64 {
			w := 0.0
			for _, k := range r.Params.Cost.Omega(y) {
				w += r.Params.Cost.At(y, k) * float64(sw.open[y*n+k])
			}
			return w
		})
		v.Cols = heaviest(n, func(k int) float64 {
			w := 0.0
			for _, y := range v.Rows {
				w += r.Params.Cost.At(y, k) * float64(sw.open[y*n+k])
			}
			return w
		})
	}
	r.fillView(&v)
	return v
}

// heaviest are the classes of the largest weight, in the order of the classes.
func heaviest(n int, weight func(int) float64) []int {
	type entry struct {
		class  int
		weight float64
	}
	all := make([]entry, n)
	for k := range all {
		all[k] = entry{k, weight(k)}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].weight > all[j].weight })
	var out []int
	for _, e := range all[:min(n, maxShown)] {
		out = append(out, e.class)
	}
	slices.Sort(out)
	return out
}

func (r *Run) fillView(v *matrixView) {
	c := r.Params.Cost
	confusion := r.Summary.Confusion
	top := 0.0
	for _, y := range v.Rows {
		for _, k := range v.Cols {
			top = max(top, c.At(y, k))
		}
	}
	for _, y := range v.Rows {
		of := confusion.Unproved[y]
		for _, hits := range confusion.Counts[y] {
			of += hits
		}
		var costs []string
		var fill []float64
		var clean, robust []int
		for _, k := range v.Cols {
			text, full, at := "", 0.0, -1
			if w := c.At(y, k); w > 0 {
				text, full, at = plainCost(w), w/top, len(v.Cells)
				v.Cells = append(v.Cells, cellID{y, k})
			}
			costs, fill, robust = append(costs, text), append(fill, full), append(robust, at)
			hits := confusion.Counts[y][k]
			switch {
			case of == 0:
				clean = append(clean, -1)
			case k == y:
				clean = append(clean, hits*1000/of) // right answers go down
			default:
				clean = append(clean, permilleUp(hits, of))
			}
		}
		v.Cost, v.CostFill = append(v.Cost, costs), append(v.CostFill, fill)
		v.Clean, v.Robust = append(v.Clean, clean), append(v.Robust, robust)
		v.Unproved = append(v.Unproved, permilleUp(confusion.Unproved[y], of))
	}
}

// percentUp writes permille as a whole percentage that promises less: errors
// go up.
func percentUp(permille int) string {
	if permille < 0 {
		return ""
	}
	return strconv.Itoa((permille + 9) / 10)
}

func percentDown(permille int) string {
	if permille < 0 {
		return ""
	}
	return strconv.Itoa(permille / 10)
}
