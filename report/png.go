package report

import (
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"math"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/f64"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"

	xdraw "golang.org/x/image/draw"
)

// paperScale is pixels a point: 300 dots an inch at the figure's own size.
const paperScale = 300.0 / 72

// raster draws marks into an image.
type raster struct {
	img   *image.RGBA
	scale float64 // pixels a point
	faces map[faceKey]font.Face
}

type faceKey struct {
	size float64
	bold bool
}

// png writes the figure as a raster image for papers.
func (f *Figure) png(w io.Writer, scale float64) error {
	size := image.Rect(0, 0, int(math.Ceil(f.W*scale)), int(math.Ceil(f.H*scale)))
	r := &raster{img: image.NewRGBA(size), scale: scale, faces: map[faceKey]font.Face{}}
	draw.Draw(r.img, size, image.White, image.Point{}, draw.Src)
	for _, m := range f.marks {
		if err := r.mark(m); err != nil {
			return err
		}
	}
	return (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(w, r.img)
}

func (r *raster) mark(m mark) error {
	s := styleOf(m.class)
	pts := make([]point, len(m.pts))
	for i, p := range m.pts {
		pts[i] = point{p.x * r.scale, p.y * r.scale}
	}
	switch m.kind {
	case polyline:
		r.stroke(pts, s)
	case area:
		r.fill(s.fill, pts)
	case cell:
		c := s.fill
		c.A = uint8(math.Round(float64(c.A) * m.alpha))
		a, b := pts[0], pts[1]
		r.fill(c, []point{a, {b.x, a.y}, b, {a.x, b.y}})
	case dots:
		for _, p := range pts {
			r.fill(s.stroke, disc(p, s.width*r.scale/2))
		}
	case label:
		return r.label(m, s, pts[0])
	}
	return nil
}

// fill paints the inside of closed paths as one shape, so that parts that
// overlap are not painted twice. It works on the box around them only.
func (r *raster) fill(c color.NRGBA, paths ...[]point) {
	low, high := point{math.Inf(1), math.Inf(1)}, point{math.Inf(-1), math.Inf(-1)}
	for _, path := range paths {
		for _, p := range path {
			low = point{math.Min(low.x, p.x), math.Min(low.y, p.y)}
			high = point{math.Max(high.x, p.x), math.Max(high.y, p.y)}
		}
	}
	if low.x > high.x {
		return
	}
	box := image.Rect(int(math.Floor(low.x)), int(math.Floor(low.y)), int(math.Ceil(high.x))+1, int(math.Ceil(high.y))+1)
	v := vector.NewRasterizer(box.Dx(), box.Dy())
	for _, path := range paths {
		for i, p := range path {
			x, y := float32(p.x-float64(box.Min.X)), float32(p.y-float64(box.Min.Y))
			if i == 0 {
				v.MoveTo(x, y)
			} else {
				v.LineTo(x, y)
			}
		}
		v.ClosePath()
	}
	v.Draw(r.img, box, image.NewUniform(c), image.Point{})
}

// stroke paints a line as one shape of quads with discs at the joints, all
// turning the same way, cut into dashes where the style says so.
func (r *raster) stroke(pts []point, s style) {
	half := s.width * r.scale / 2
	var shapes [][]point
	for _, run := range dashes(pts, s.dash, r.scale) {
		for i, p := range run {
			if i+1 < len(run) {
				q := run[i+1]
				d := math.Hypot(q.x-p.x, q.y-p.y)
				if d == 0 {
					continue
				}
				nx, ny := -(q.y-p.y)/d*half, (q.x-p.x)/d*half
				shapes = append(shapes, []point{{p.x + nx, p.y + ny}, {p.x - nx, p.y - ny}, {q.x - nx, q.y - ny}, {q.x + nx, q.y + ny}})
			}
			if i > 0 && i+1 < len(run) && half > 1.5 {
				shapes = append(shapes, disc(p, half))
			}
		}
	}
	r.fill(s.stroke, shapes...)
}

// disc is a circle as a polygon that turns as the quads of stroke do.
func disc(c point, radius float64) []point {
	const n = 16
	out := make([]point, n)
	for i := range out {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / n)
		out[i] = point{c.x + radius*cos, c.y + radius*sin}
	}
	return out
}

// dashes cuts a line into the parts that are drawn.
func dashes(pts []point, pattern []float64, scale float64) [][]point {
	if len(pattern) == 0 || len(pts) < 2 {
		return [][]point{pts}
	}
	var out [][]point
	run := []point{pts[0]}
	at, left, on := 0, pattern[0]*scale, true
	for i := 1; i < len(pts); i++ {
		p, q := pts[i-1], pts[i]
		d := math.Hypot(q.x-p.x, q.y-p.y)
		for d > left {
			t := left / d
			p = point{p.x + (q.x-p.x)*t, p.y + (q.y-p.y)*t}
			if on {
				out = append(out, append(run, p))
			}
			d -= left
			at, on = (at+1)%len(pattern), !on
			left, run = pattern[at]*scale, []point{p}
		}
		left -= d
		if on {
			run = append(run, q)
		}
	}
	if on {
		out = append(out, run)
	}
	return out
}

func (r *raster) face(s style) (font.Face, error) {
	key := faceKey{s.size, s.bold}
	if f, ok := r.faces[key]; ok {
		return f, nil
	}
	ttf := goregular.TTF
	if s.bold {
		ttf = gobold.TTF
	}
	parsed, err := opentype.Parse(ttf)
	if err != nil {
		return nil, err
	}
	f, err := opentype.NewFace(parsed, &opentype.FaceOptions{Size: s.size * r.scale, DPI: 72, Hinting: font.HintingNone})
	r.faces[key] = f
	return f, err
}

// label paints a text; turned text is painted flat and then turned.
func (r *raster) label(m mark, s style, at point) error {
	face, err := r.face(s)
	if err != nil {
		return err
	}
	width := float64(font.MeasureString(face, m.text)) / 64
	shift := [...]float64{0, width / 2, width}[m.anchor]
	if m.turn == 0 {
		if s.halo {
			white := color.NRGBA{255, 255, 255, 235}
			r.fill(white, []point{{at.x - shift - 4, at.y - s.size*r.scale*0.8}, {at.x - shift + width + 4, at.y - s.size*r.scale*0.8},
				{at.x - shift + width + 4, at.y + s.size*r.scale*0.22}, {at.x - shift - 4, at.y + s.size*r.scale*0.22}})
		}
		write(r.img, face, s.fill, at.x-shift, at.y, m.text)
		return nil
	}
	h := s.size * r.scale
	flat := image.NewRGBA(image.Rect(0, 0, int(width)+4, int(2*h)))
	write(flat, face, s.fill, 0, 1.5*h, m.text)
	sin, cos := math.Sincos(m.turn * math.Pi / 180)
	x0, y0 := shift, 1.5*h // the point of flat that comes to lie at at
	matrix := f64.Aff3{cos, -sin, at.x - cos*x0 + sin*y0, sin, cos, at.y - sin*x0 - cos*y0}
	xdraw.BiLinear.Transform(r.img, matrix, flat, flat.Bounds(), xdraw.Over, nil)
	return nil
}

func write(img draw.Image, face font.Face, c color.NRGBA, x, y float64, text string) {
	d := font.Drawer{Dst: img, Src: image.NewUniform(c), Face: face, Dot: fixed.Point26_6{X: fixed.Int26_6(x * 64), Y: fixed.Int26_6(y * 64)}}
	d.DrawString(text)
}
