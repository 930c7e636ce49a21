package dataset

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"slices"
	"testing"
)

// testImage is an image whose colour says where a pixel is.
func testImage(w, h int) *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			m.SetNRGBA(x, y, color.NRGBA{R: byte(x), G: byte(y), B: byte(x*7 + y*13), A: 255})
		}
	}
	return m
}

func pngBytes(t testing.TB, m image.Image) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := png.Encode(&buf, m); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func jpegBytes(t testing.TB, m image.Image) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := jpeg.Encode(&buf, m, &jpeg.Options{Quality: 95}); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func decodeWith(t *testing.T, p preprocess, data []byte, w, h int) []byte {
	t.Helper()
	dst := make([]byte, 3*w*h)
	if err := p.decodeImage(data, w, h, dst); err != nil {
		t.Fatal(err)
	}
	return dst
}

func TestAsIsKeepsPixels(t *testing.T) {
	m := testImage(5, 4)
	got := decodeWith(t, preprocess{}, pngBytes(t, m), 5, 4)
	for y := range 4 {
		for x := range 5 {
			c := m.NRGBAAt(x, y)
			if r, g, b := got[y*5+x], got[20+y*5+x], got[40+y*5+x]; r != c.R || g != c.G || b != c.B {
				t.Fatalf("pixel %d,%d is %d %d %d, want %v", x, y, r, g, b, c)
			}
		}
	}
}

func TestCentreCrop(t *testing.T) {
	// torchvision's begin: round((10-w)/2) to even, so 7 -> 2 (1.5), 5 -> 2 (2.5), 6 -> 2.
	for _, test := range []struct{ size, first int }{{10, 0}, {9, 0}, {8, 1}, {7, 2}, {6, 2}, {5, 2}, {3, 4}} {
		p := preprocess{cropW: test.size, cropH: 2}
		got := decodeWith(t, p, pngBytes(t, testImage(10, 6)), test.size, 2)
		if int(got[0]) != test.first || got[test.size*2] != 2 {
			t.Errorf("crop of %d begins at %d,%d, want %d,2", test.size, got[0], got[test.size*2], test.first)
		}
	}
}

func TestGreyAndAlpha(t *testing.T) {
	grey := image.NewGray(image.Rect(0, 0, 3, 2))
	for i := range grey.Pix {
		grey.Pix[i] = byte(40 * i)
	}
	for name, data := range map[string][]byte{"png": pngBytes(t, grey), "jpeg": jpegBytes(t, grey)} {
		got := decodeWith(t, preprocess{}, data, 3, 2)
		if !slices.Equal(got[:6], got[6:12]) || !slices.Equal(got[:6], got[12:]) {
			t.Errorf("%s: red, green and blue differ: %v", name, got)
		}
		if name == "png" && !slices.Equal(got[:6], grey.Pix) {
			t.Errorf("png: %v, want %v", got[:6], grey.Pix)
		}
	}
	clear := image.NewNRGBA(image.Rect(0, 0, 1, 1))
	clear.SetNRGBA(0, 0, color.NRGBA{R: 200, G: 100, B: 50, A: 10})
	if got := decodeWith(t, preprocess{}, pngBytes(t, clear), 1, 1); !slices.Equal(got, []byte{200, 100, 50}) {
		t.Errorf("alpha changed the colour: %v", got)
	}
	deep := image.NewGray16(image.Rect(0, 0, 1, 1))
	deep.SetGray16(0, 0, color.Gray16{Y: 0xabcd})
	if got := decodeWith(t, preprocess{}, pngBytes(t, deep), 1, 1); !slices.Equal(got, []byte{0xab, 0xab, 0xab}) {
		t.Errorf("16 bits became %v", got)
	}
}

// TestResizeLikePillow compares with what Pillow gave for the same pixels
// (Image.resize, BILINEAR), byte for byte.
func TestResizeLikePillow(t *testing.T) {
	src := toRGB(testImage(9, 7))
	for _, test := range pillow {
		got := resize(src, 9, 7, test.w, test.h)
		if !slices.Equal(got, test.rgb) {
			t.Errorf("9x7 to %dx%d:\n got %v\nwant %v", test.w, test.h, got, test.rgb)
		}
	}
}

func TestResizeProperties(t *testing.T) {
	for _, size := range [][4]int{{5, 3, 17, 40}, {160, 120, 33, 7}, {1, 1, 9, 9}, {500, 3, 1, 1}} {
		w, h, newW, newH := size[0], size[1], size[2], size[3]
		flat := bytes.Repeat([]byte{255, 1, 128}, w*h)
		if got := resize(flat, w, h, newW, newH); !slices.Equal(got, bytes.Repeat([]byte{255, 1, 128}, newW*newH)) {
			t.Errorf("%v: a flat image changed", size)
		}
	}
	src := toRGB(testImage(12, 9))
	if got := resize(src, 12, 9, 12, 9); !slices.Equal(got, src) {
		t.Error("resizing to the same size changed the image")
	}
	// A mirrored image resizes to the mirrored result.
	mirror := func(pix []byte, w int) []byte {
		out := slices.Clone(pix)
		for i := 0; i < len(pix); i += 3 * w {
			for x := range w {
				copy(out[i+3*x:i+3*x+3], pix[i+3*(w-1-x):])
			}
		}
		return out
	}
	a, b := resize(src, 12, 9, 5, 4), resize(mirror(src, 12), 12, 9, 5, 4)
	if !slices.Equal(a, mirror(b, 5)) {
		t.Error("resizing and mirroring do not commute")
	}
}

func TestBadImages(t *testing.T) {
	square := jpegBytes(t, testImage(32, 32))
	for _, test := range []struct {
		name string
		p    preprocess
		data []byte
		want string
	}{
		{"text", preprocess{}, []byte("no image at all"), "neither a JPEG nor a PNG"},
		{"empty", preprocess{}, nil, "neither a JPEG nor a PNG"},
		{"cut header", preprocess{}, square[:20], "EOF"},
		{"cut body", preprocess{}, square[:len(square)/2], "EOF"},
		{"other size", preprocess{}, jpegBytes(t, testImage(31, 32)), "images of several sizes"},
		{"small for crop", preprocess{cropW: 40, cropH: 40}, square, "smaller than the crop"},
	} {
		err := test.p.decodeImage(test.data, 32, 32, make([]byte, 3*32*32))
		wantError(t, test.want, func() error { return err })
	}
}

// FuzzImage: whatever the bytes are, decoding, resizing and cropping end in an
// error or in an image, and in the same one twice.
func FuzzImage(f *testing.F) {
	f.Add(pngBytes(f, testImage(5, 4)), 3, 2)
	f.Add(jpegBytes(f, testImage(16, 9)), 8, 8)
	f.Fuzz(func(t *testing.T, data []byte, short, crop int) {
		if short < 1 || short > 64 || crop < 1 || crop > short {
			return
		}
		if cfg, err := decodeConfig(data); err != nil || cfg.Width*cfg.Height > 1<<16 {
			return
		}
		p := preprocess{short: short, cropW: crop, cropH: crop}
		a, b := make([]byte, 3*crop*crop), make([]byte, 3*crop*crop)
		errA, errB := p.decodeImage(data, crop, crop, a), p.decodeImage(data, crop, crop, b)
		if (errA == nil) != (errB == nil) || !slices.Equal(a, b) {
			t.Fatalf("two decodings differ: %v, %v", errA, errB)
		}
	})
}

func BenchmarkReadImage(b *testing.B) {
	data := jpegBytes(b, testImage(500, 375))
	p := preprocess{short: 192, cropW: 160, cropH: 160}
	dst := make([]byte, 3*160*160)
	for b.Loop() {
		if err := p.decodeImage(data, 160, 160, dst); err != nil {
			b.Fatal(err)
		}
	}
}
