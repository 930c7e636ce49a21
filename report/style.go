package report

import (
	"fmt"
	"image/color"
	"strings"
)

// style is how a mark looks on paper. The page's style sheet has the same
// classes with the page's colours.
type style struct {
	stroke, fill color.NRGBA
	width        float64
	dash         []float64
	size         float64 // of text
	bold         bool
	halo         bool // text stands on a white edge, to be read over lines
}

// runColours tell the runs apart, also for people who see few colours, in
// print, and in grey (each next one is lighter or darker).
var runColours = [...]color.NRGBA{
	{0x1d, 0x5f, 0xd0, 255}, {0xd9, 0x5f, 0x0e, 255}, {0x0f, 0x8a, 0x6b, 255}, {0xa3, 0x2c, 0x8f, 255},
	{0x6b, 0x6e, 0x14, 255}, {0x0a, 0x8f, 0xb5, 255}, {0xb8, 0x2a, 0x3c, 255}, {0x5a, 0x4a, 0xc7, 255},
}

var runDashes = [...][]float64{nil, {6, 2}, {2, 2}, {8, 2, 2, 2}, nil, {6, 2}, {2, 2}, {8, 2, 2, 2}}

var (
	ink  = color.NRGBA{0x1a, 0x20, 0x2c, 255}
	mute = color.NRGBA{0x5b, 0x64, 0x70, 255}
	thin = color.NRGBA{0xdf, 0xe3, 0xe8, 255}
	heat = color.NRGBA{0xb4, 0x23, 0x18, 255}
	cool = color.NRGBA{0x4a, 0x55, 0x68, 255}
)

// styleOf reads a class: a word for the kind, then s0 to s7 for the run.
func styleOf(class string) style {
	word, run, _ := strings.Cut(class, " s")
	k := 0
	if run != "" {
		k = int(run[0]-'0') % len(runColours)
	}
	c := runColours[k]
	faint := c
	switch word {
	case "title":
		return style{fill: ink, size: 12, bold: true}
	case "tick":
		return style{fill: mute, size: 10}
	case "name":
		return style{fill: ink, size: 10.5}
	case "note":
		return style{fill: mute, size: 10, halo: true}
	case "series":
		return style{fill: c, size: 10.5, bold: true, halo: true}
	case "grid":
		return style{stroke: thin, width: 1}
	case "axis":
		return style{stroke: mute, width: 1}
	case "diagonal":
		return style{stroke: mute, width: 1, dash: []float64{3, 3}}
	case "line":
		return style{stroke: c, width: 2, dash: runDashes[k]}
	case "band", "fill":
		faint.A = 40
		return style{fill: faint}
	case "bar":
		return style{fill: c}
	case "bar2":
		faint.A = 110
		return style{fill: faint}
	case "dots":
		faint.A = 110
		return style{stroke: faint, width: 3}
	case "heat":
		return style{fill: heat}
	case "cost":
		return style{fill: cool}
	case "void":
		return style{fill: thin}
	case "onheat":
		return style{fill: ink, size: 9}
	}
	return style{fill: ink, stroke: ink, width: 1, size: 10}
}

// attributes are the style as SVG attributes.
func (s style) attributes(k kind) string {
	var b strings.Builder
	paint := func(name string, c color.NRGBA) {
		fmt.Fprintf(&b, ` %s="#%02x%02x%02x"`, name, c.R, c.G, c.B)
		if c.A != 255 {
			fmt.Fprintf(&b, ` %s-opacity="%.2f"`, name, float64(c.A)/255)
		}
	}
	switch k {
	case polyline, dots:
		b.WriteString(` fill="none"`)
		paint("stroke", s.stroke)
		b.WriteString(` stroke-width="` + coord(s.width) + `"`)
		if len(s.dash) > 0 {
			parts := make([]string, len(s.dash))
			for i, d := range s.dash {
				parts[i] = coord(d)
			}
			b.WriteString(` stroke-dasharray="` + strings.Join(parts, " ") + `"`)
		}
	case label:
		paint("fill", s.fill)
		b.WriteString(` font-size="` + coord(s.size) + `"`)
		if s.bold {
			b.WriteString(` font-weight="bold"`)
		}
		if s.halo {
			b.WriteString(` stroke="#fff" stroke-width="3" stroke-linejoin="round" paint-order="stroke"`)
		}
	default:
		paint("fill", s.fill)
	}
	return b.String()
}
