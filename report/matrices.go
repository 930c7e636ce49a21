package report

import (
	"fmt"
	"html/template"
)

// tableView is a class-by-class matrix as a table of the page.
type tableView struct {
	Kind, Title, Note string
	Cols              []string
	Rows              []tableRow
}

type tableRow struct {
	Name      string
	Sensitive bool
	Cells     []tableCell
}

type tableCell struct {
	Text, Class string
	Style       template.CSS
	At          int // 1 + place in the frames' heat; 0: it does not move
}

// hot cells are dark enough to need light text; the script has the same rule.
const hot = 910

func heatStyle(v float64) template.CSS { return template.CSS(fmt.Sprintf("--v:%.3f", v)) }

// matrices are the three tables of a run: costs, clean error, robust error.
func (b *builder) matrices(i int) []tableView {
	r, v, heat := b.runs[i], b.views[i], b.frames[i][b.start].Heat
	var cols []string
	for _, k := range v.Cols {
		cols = append(cols, r.Params.Cost.Name(k))
	}
	cost := tableView{Kind: "cost", Title: "Cost", Note: "of reading the row as the column", Cols: cols}
	clean := tableView{Kind: "clean", Title: "Clean error", Note: "% of the row, with no attack", Cols: append(cols[:len(cols):len(cols)], "no claim")}
	robust := tableView{Kind: "robust", Title: "Robust error at", Note: "% of the row, not ruled out", Cols: cols}
	for y, label := range v.Rows {
		row := tableRow{Name: r.Params.Cost.Name(label), Sensitive: r.Params.Cost.Sensitive(label)}
		a, c, d := row, row, row
		for k, class := range v.Cols {
			a.Cells = append(a.Cells, costCell(v.Cost[y][k], v.CostFill[y][k]))
			c.Cells = append(c.Cells, cleanCell(v.Clean[y][k], label == class))
			cell := tableCell{}
			if at := v.Robust[y][k]; at >= 0 {
				cell = heatCell(heat[at])
				cell.At = at + 1
			}
			d.Cells = append(d.Cells, cell)
		}
		c.Cells = append(c.Cells, cleanCell(v.Unproved[y], false))
		cost.Rows, clean.Rows, robust.Rows = append(cost.Rows, a), append(clean.Rows, c), append(robust.Rows, d)
	}
	return []tableView{cost, clean, robust}
}

func costCell(text string, fill float64) tableCell {
	if text == "" {
		return tableCell{}
	}
	c := tableCell{Text: text, Class: "v", Style: heatStyle(fill)}
	if fill > 0.6 {
		c.Class = "v hot"
	}
	return c
}

func cleanCell(permille int, right bool) tableCell {
	switch {
	case permille < 0:
		return tableCell{}
	case right:
		return tableCell{Text: percentDown(permille), Class: "right"}
	case permille == 0:
		return tableCell{Text: "0"}
	}
	return heatCell(permille)
}

func heatCell(permille int) tableCell {
	c := tableCell{Text: percentUp(permille), Class: "v", Style: heatStyle(float64(max(permille, 0)) / 1000)}
	if permille > hot {
		c.Class = "v hot"
	}
	return c
}
