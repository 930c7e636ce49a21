package report

import (
	"html"
	"math"
	"strconv"
	"strings"
)

// svg writes a figure. With paper set it carries its own colours and stands
// alone; otherwise the page's style sheet gives them, in light and dark.
// Every text is escaped here: class names come from files.
func (f *Figure) svg(paper bool) string {
	var b strings.Builder
	b.WriteString(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ` + coord(f.W) + " " + coord(f.H) + `"`)
	if paper {
		b.WriteString(` width="` + coord(f.W) + `pt" height="` + coord(f.H) + `pt" font-family="Helvetica, Arial, sans-serif"`)
	} else {
		b.WriteString(` role="img" aria-label="` + html.EscapeString(f.Title+". "+f.Desc) + `"`)
	}
	b.WriteString(">\n")
	if paper {
		b.WriteString("<title>" + html.EscapeString(f.Title) + "</title>\n<desc>" + html.EscapeString(f.Desc) + "</desc>\n")
		b.WriteString(`<rect width="100%" height="100%" fill="#fff"/>` + "\n")
	}
	for _, m := range f.marks {
		m.svg(&b, paper)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func (m mark) svg(b *strings.Builder, paper bool) {
	looks := ` class="` + m.class + `"`
	s := styleOf(m.class)
	if paper {
		looks = s.attributes(m.kind)
	}
	switch m.kind {
	case polyline:
		b.WriteString(`<path` + looks + ` d="` + path(m.pts) + `"`)
		if !paper {
			b.WriteString(` fill="none"`)
		}
		b.WriteString("/>\n")
	case area:
		b.WriteString(`<path` + looks + ` d="` + path(m.pts) + `Z"/>` + "\n")
	case cell:
		a, c := m.pts[0], m.pts[1]
		b.WriteString(`<rect` + looks + ` x="` + coord(a.x) + `" y="` + coord(a.y) + `" width="` + coord(c.x-a.x) + `" height="` + coord(c.y-a.y) + `" fill-opacity="` + coord2(m.alpha) + `"/>` + "\n")
	case dots: // one path of zero-length strokes with round ends: ten bytes a dot
		b.WriteString(`<path` + looks + ` stroke-linecap="round" d="`)
		for _, p := range m.pts {
			b.WriteString("M" + coord(p.x) + " " + coord(p.y) + "h0")
		}
		b.WriteString(`"/>` + "\n")
	case label:
		p := m.pts[0]
		b.WriteString(`<text` + looks + ` x="` + coord(p.x) + `" y="` + coord(p.y) + `"`)
		b.WriteString(` text-anchor="` + [...]string{"start", "middle", "end"}[m.anchor] + `"`)
		if m.turn != 0 {
			b.WriteString(` transform="rotate(` + coord(m.turn) + " " + coord(p.x) + " " + coord(p.y) + `)"`)
		}
		b.WriteString(">" + html.EscapeString(m.text) + "</text>\n")
	}
}

// path writes a line, without the points that repeat a direction.
func path(pts []point) string {
	var b strings.Builder
	for i, p := range pts {
		if i > 0 && i < len(pts)-1 && (pts[i-1].y == p.y && pts[i+1].y == p.y) {
			continue
		}
		if i == 0 {
			b.WriteByte('M')
		} else {
			b.WriteByte('L')
		}
		b.WriteString(coord(p.x) + " " + coord(p.y))
	}
	return b.String()
}

func coord(v float64) string  { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }
func coord2(v float64) string { return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64) }
