package report

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"slices"
)

// Pictures are the images of a data set; dataset.Set is one.
type Pictures interface {
	Len() int
	Label(i int) int
	// Pixels gives image i as channels x height x width bytes.
	Pixels(i int, dst []byte) ([]byte, error)
	Shape() (channels, height, width int)
	Classes() []string
}

// spriteBudget bounds the encoded thumbnails of one data set, so that a page
// of 10,000 examples stays below 10 MB with its tables.
const spriteBudget = 4 << 20

// sprite is all thumbnails of a data set in one image, row by row.
type sprite struct {
	URI      string      `json:"uri"`
	Exact    bool        `json:"exact"` // the pixels are the model's input
	Cell     int         `json:"cell"`  // width of a thumbnail
	CellH    int         `json:"cellh"`
	Columns  int         `json:"columns"`
	Shrink   int         `json:"shrink"` // pixels of the input a side of a thumbnail's pixel
	Channels int         `json:"channels"`
	Height   int         `json:"height"` // of the input
	Width    int         `json:"width"`
	Place    map[int]int `json:"-"` // of an example's index
	Missing  int         `json:"missing"`
}

// newSprite draws the thumbnails of the given examples. It keeps them exact
// (PNG, full size) while they fit the budget in bytes, then compresses, then shrinks,
// then leaves out the last ones: order them by interest.
func newSprite(p Pictures, indices []int, budget int) (*sprite, error) {
	c, h, w := p.Shape()
	if c != 1 && c != 3 {
		return nil, fmt.Errorf("images of %d channels cannot be shown", c)
	}
	shrink := 1
	for max(h, w)/shrink > 64 {
		shrink *= 2
	}
	for ; ; shrink *= 2 {
		s := &sprite{Channels: c, Height: h, Width: w, Shrink: shrink, Cell: w / shrink, CellH: h / shrink}
		canvas, err := s.draw(p, indices)
		if err != nil {
			return nil, err
		}
		// A PNG of photographs is about two thirds of its pixels: do not try
		// what cannot fit.
		if shrink == 1 && len(canvas.Pix)/4*c < 2*budget {
			if fits, err := s.encode("png", budget, func(b *bytes.Buffer) error { return png.Encode(b, canvas) }); fits || err != nil {
				s.Exact = true
				return s, err
			}
		}
		if fits, err := s.encode("jpeg", budget, func(b *bytes.Buffer) error {
			return jpeg.Encode(b, canvas, &jpeg.Options{Quality: 80})
		}); fits || err != nil {
			return s, err
		}
		if min(s.Cell, s.CellH) < 32 {
			keep := len(indices) / 2
			missing := len(indices) - keep
			half, err := newSprite(p, indices[:keep], budget)
			if err == nil {
				half.Missing += missing
			}
			return half, err
		}
	}
}

// encode writes the picture into the page's URI, where it fits the budget.
func (s *sprite) encode(kind string, budget int, write func(*bytes.Buffer) error) (fits bool, err error) {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return false, err
	}
	if b.Len() > budget {
		return false, nil
	}
	s.URI = "data:image/" + kind + ";base64," + base64.StdEncoding.EncodeToString(b.Bytes())
	return true, nil
}

// draw puts the thumbnails side by side.
func (s *sprite) draw(p Pictures, indices []int) (*image.RGBA, error) {
	n := len(indices)
	s.Columns = 1
	for s.Columns*s.Columns < n {
		s.Columns++
	}
	rows := (n + s.Columns - 1) / s.Columns
	out := image.NewRGBA(image.Rect(0, 0, s.Columns*s.Cell, max(rows, 1)*s.CellH))
	for i := 3; i < len(out.Pix); i += 4 {
		out.Pix[i] = 255
	}
	s.Place = make(map[int]int, n)
	var buf []byte
	var err error
	for at, index := range indices {
		if buf, err = p.Pixels(index, buf); err != nil {
			return nil, err
		}
		s.Place[index] = at
		x0, y0 := at%s.Columns*s.Cell, at/s.Columns*s.CellH
		for y := range s.CellH {
			row := out.Pix[out.PixOffset(x0, y0+y):]
			for ch := range 3 {
				s.line(row[ch:], buf, min(ch, s.Channels-1), y)
			}
		}
	}
	return out, nil
}

// line writes one channel of one line of a thumbnail, every fourth byte.
func (s *sprite) line(to, pixels []byte, channel, y int) {
	if s.Shrink == 1 {
		for x, v := range pixels[(channel*s.Height+y)*s.Width:][:s.Width] {
			to[4*x] = v
		}
		return
	}
	for x := range s.Cell {
		to[4*x] = s.mean(pixels, channel, x, y)
	}
}

// mean is one value of a thumbnail: the mean of the pixels it stands for.
func (s *sprite) mean(pixels []byte, channel, x, y int) byte {
	sum := 0
	for dy := range s.Shrink {
		row := (channel*s.Height+y*s.Shrink+dy)*s.Width + x*s.Shrink
		for _, v := range pixels[row : row+s.Shrink] {
			sum += int(v)
		}
	}
	area := s.Shrink * s.Shrink
	return byte((sum + area/2) / area)
}

// dataKey tells the data sets of several runs apart.
func (r *Run) dataKey() string { return r.Header.Data + "\x00" + r.Header.Split }

// CheckPictures says why the pictures cannot be those of the run, or nil.
func (r *Run) CheckPictures(p Pictures) error {
	for _, rec := range r.Records {
		switch {
		case rec.Index >= p.Len():
			return fmt.Errorf("it has %d examples, the run has one numbered %d", p.Len(), rec.Index)
		case p.Label(rec.Index) != rec.Label:
			return fmt.Errorf("example %d has label %d in it and %d in the run", rec.Index, p.Label(rec.Index), rec.Label)
		}
	}
	if names := r.Params.Cost.Names(); names != nil && len(p.Classes()) > 0 && !slices.Equal(names, p.Classes()) {
		return fmt.Errorf("its classes have other names than the run's")
	}
	return nil
}
