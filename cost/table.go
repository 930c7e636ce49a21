package cost

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Table is the matrix for people: truth down, answer across, "·" for a mistake
// that costs nothing and "-" on the diagonal.
func (m *Matrix) Table() string {
	n := m.Classes()
	cells := make([][]string, n+1)
	cells[0] = make([]string, n+1)
	for k := range n {
		cells[0][k+1] = m.Name(k)
	}
	for y := range n {
		cells[y+1] = make([]string, n+1)
		cells[y+1][0] = m.Name(y)
		for k := range n {
			s := "·"
			switch c := m.At(y, k); {
			case y == k:
				s = "-"
			case c > 0:
				s = strconv.FormatFloat(c, 'g', -1, 64)
			}
			cells[y+1][k+1] = s
		}
	}
	width := make([]int, n+1)
	for _, row := range cells {
		for j, s := range row {
			width[j] = max(width[j], utf8.RuneCountInString(s))
		}
	}
	var b strings.Builder
	for _, row := range cells {
		for j, s := range row {
			pad := strings.Repeat(" ", width[j]-utf8.RuneCountInString(s))
			if j == 0 {
				b.WriteString(s + pad)
			} else {
				b.WriteString("  " + pad + s)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}
