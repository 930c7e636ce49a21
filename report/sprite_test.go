package report

import (
	"bytes"
	"encoding/base64"
	"image"
	"strings"
	"testing"

	"lorica/dataset"
)

// gradient is a set of images of any shape whose pixels a formula gives.
type gradient struct{ c, h, w, n int }

func (g gradient) Len() int               { return g.n }
func (g gradient) Label(int) int          { return 0 }
func (g gradient) Classes() []string      { return nil }
func (g gradient) Shape() (c, h, w int)   { return g.c, g.h, g.w }
func (g gradient) at(i, ch, y, x int) int { return (i*31 + ch*57 + y*y*3 + x*7) % 256 }
func (g gradient) Pixels(i int, dst []byte) ([]byte, error) {
	dst = dst[:0]
	for ch := range g.c {
		for y := range g.h {
			for x := range g.w {
				dst = append(dst, byte(g.at(i, ch, y, x)))
			}
		}
	}
	return dst, nil
}

// decodeURI reads the picture out of the page's URI.
func decodeURI(t *testing.T, s *sprite, budget int) (image.Image, string) {
	t.Helper()
	head, text, _ := strings.Cut(s.URI, ",")
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	img, kind, err := image.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if head != "data:image/"+kind+";base64" || len(raw) > budget {
		t.Errorf("%d bytes of %s under %s", len(raw), kind, head)
	}
	return img, kind
}

// While they fit, thumbnails are the model's input to the bit: the noise that
// the page adds to them is what the model saw.
func TestThumbnailsAreExact(t *testing.T) {
	for _, g := range []gradient{{3, 32, 32, 40}, {1, 28, 28, 40}, {3, 48, 64, 7}} {
		indices := []int{5, 0, 6, 3}
		s, err := newSprite(g, indices, spriteBudget)
		if err != nil {
			t.Fatal(err)
		}
		img, _ := decodeURI(t, s, spriteBudget)
		if !s.Exact || s.Shrink != 1 || s.Missing != 0 {
			t.Fatalf("%+v: exact %v, shrunk by %d", g, s.Exact, s.Shrink)
		}
		for _, i := range indices {
			x0, y0 := s.Place[i]%s.Columns*s.Cell, s.Place[i]/s.Columns*s.CellH
			for y := range g.h {
				for x := range g.w {
					r, gr, b, _ := img.At(x0+x, y0+y).RGBA()
					for ch, v := range []uint32{r, gr, b} {
						if int(v>>8) != g.at(i, min(ch, g.c-1), y, x) {
							t.Fatalf("%+v: example %d, channel %d at (%d, %d) is %d", g, i, ch, x, y, v>>8)
						}
					}
				}
			}
		}
	}
}

// Large images are shrunk by whole factors, to the mean of what they stand for.
func TestThumbnailsAreShrunk(t *testing.T) {
	g := gradient{3, 160, 160, 3}
	s, err := newSprite(g, []int{0, 1, 2}, spriteBudget)
	if err != nil {
		t.Fatal(err)
	}
	if s.Exact || s.Shrink != 4 || s.Cell != 40 {
		t.Fatalf("exact %v, shrunk by %d to %d", s.Exact, s.Shrink, s.Cell)
	}
	pixels, _ := g.Pixels(1, nil)
	sum := 0
	for y := 8; y < 12; y++ {
		for x := 20; x < 24; x++ {
			sum += g.at(1, 2, y, x)
		}
	}
	if got := s.mean(pixels, 2, 5, 2); int(got) != (sum+8)/16 {
		t.Errorf("the mean is %d, want %d", got, (sum+8)/16)
	}
}

// Photographs that do not fit are compressed, then shrunk, then left out, the
// least interesting first.
func TestThumbnailsStayInBudget(t *testing.T) {
	set, err := dataset.Open("builtin", "")
	if err != nil {
		t.Fatal(err)
	}
	many := repeated{Set: set, labels: make([]int, 900)}
	const budget = 60_000
	for _, test := range []struct {
		n      int
		shrink int
		kind   string
	}{{15, 1, "png"}, {110, 1, "jpeg"}, {300, 2, "jpeg"}, {900, 2, "jpeg"}} {
		indices := make([]int, test.n)
		for i := range indices {
			indices[i] = i
		}
		s, err := newSprite(many, indices, budget)
		if err != nil {
			t.Fatal(err)
		}
		_, kind := decodeURI(t, s, budget)
		if kind != test.kind || s.Shrink != test.shrink || s.Exact != (kind == "png") {
			t.Errorf("%d pictures: %s, shrunk by %d, %d missing", test.n, kind, s.Shrink, s.Missing)
		}
		if len(s.Place)+s.Missing != test.n {
			t.Errorf("%d pictures and %d missing of %d", len(s.Place), s.Missing, test.n)
		}
		if (s.Missing > 0) != (test.n == 900) {
			t.Errorf("%d of %d pictures are missing", s.Missing, test.n)
		}
		if _, ok := s.Place[0]; !ok {
			t.Error("the first picture is missing")
		}
	}
}

func TestPicturesOfOtherDataAreRefused(t *testing.T) {
	set, err := dataset.Open("builtin", "")
	if err != nil {
		t.Fatal(err)
	}
	r := golden(t, Settings{Eps: 0.5})[0]
	if err := r.CheckPictures(repeated{set, nil}); err == nil || !strings.Contains(err.Error(), "examples") {
		t.Errorf("too few pictures: %v", err)
	}
	if err := r.CheckPictures(gradient{3, 32, 32, 10000}); err == nil || !strings.Contains(err.Error(), "label") {
		t.Errorf("other labels: %v", err)
	}
}
