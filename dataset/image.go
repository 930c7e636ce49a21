package dataset

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	_ "image/jpeg" // formats that folders may hold
	_ "image/png"
	"os"
	"strconv"
	"strings"
)

// maxPixels keeps a hostile header from asking for all memory.
const maxPixels = 100_000_000

// preprocess says how a decoded image becomes the model's input: scaled, then
// cropped about its centre. Zero means not at all.
type preprocess struct {
	short      int // the shorter side becomes this long
	resW, resH int // or both sides become these
	cropW      int
	cropH      int
}

// String is the preprocessing's part of a data set's identity.
func (p preprocess) String() string {
	var parts []string
	switch {
	case p.short > 0:
		parts = append(parts, fmt.Sprintf("resize=%d", p.short))
	case p.resW > 0:
		parts = append(parts, fmt.Sprintf("resize=%dx%d", p.resW, p.resH))
	}
	if p.cropW > 0 {
		parts = append(parts, fmt.Sprintf("crop=%dx%d", p.cropW, p.cropH))
	}
	if parts == nil {
		return "as-is"
	}
	return strings.Join(parts, " ")
}

// parsePreprocess reads the options resize and crop: N, WxH or none. given is
// false where neither stands there.
func parsePreprocess(opts *options) (p preprocess, given bool, err error) {
	res, crop := opts.get("resize"), opts.get("crop")
	if res != "" && res != "none" {
		if p.resW, p.resH, err = parseSize(res); err != nil {
			return p, false, fmt.Errorf("option resize: %w", err)
		}
		if !strings.Contains(res, "x") {
			p.short, p.resW, p.resH = p.resW, 0, 0
		}
	}
	if crop != "" && crop != "none" {
		if p.cropW, p.cropH, err = parseSize(crop); err != nil {
			return p, false, fmt.Errorf("option crop: %w", err)
		}
	}
	return p, res != "" || crop != "", nil
}

func parseSize(text string) (w, h int, err error) {
	ws, hs, two := strings.Cut(text, "x")
	if !two {
		hs = ws
	}
	w, errW := strconv.Atoi(ws)
	h, errH := strconv.Atoi(hs)
	if errW != nil || errH != nil || w < 1 || h < 1 || w > 8192 || h > 8192 {
		return 0, 0, fmt.Errorf("%q is not a size: write N, WxH (1 to 8192) or none", text)
	}
	return w, h, nil
}

// outSize is the size that an image of w x h becomes.
func (p preprocess) outSize(w, h int) (int, int, error) {
	w, h = p.resized(w, h)
	if p.cropW == 0 {
		return w, h, nil
	}
	if w < p.cropW || h < p.cropH {
		return 0, 0, fmt.Errorf("the image is %dx%d, smaller than the crop of %dx%d: resize it first (?resize=N&crop=N)", w, h, p.cropW, p.cropH)
	}
	return p.cropW, p.cropH, nil
}

func (p preprocess) resized(w, h int) (int, int) {
	switch {
	case p.short > 0 && w <= h:
		return p.short, max(1, p.short*h/w)
	case p.short > 0:
		return max(1, p.short*w/h), p.short
	case p.resW > 0:
		return p.resW, p.resH
	}
	return w, h
}

// readImage decodes a file and gives three planes of w x h bytes.
func (p preprocess) readImage(path string, w, h int, dst []byte) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := p.decodeImage(data, w, h, dst); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func (p preprocess) decodeImage(data []byte, w, h int, dst []byte) error {
	cfg, err := decodeConfig(data)
	if err != nil {
		return err
	}
	gotW, gotH, err := p.outSize(cfg.Width, cfg.Height)
	if err != nil {
		return err
	}
	if gotW != w || gotH != h {
		return fmt.Errorf("the image is %dx%d and the first one %dx%d: images of several sizes need ?resize=N&crop=N", gotW, gotH, w, h)
	}
	resW, resH := p.resized(cfg.Width, cfg.Height)
	if resW*resH > maxPixels {
		return fmt.Errorf("an image of %dx%d would be resized to %dx%d", cfg.Width, cfg.Height, resW, resH)
	}
	img, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return err
	}
	rgb := resize(toRGB(img), cfg.Width, cfg.Height, resW, resH)
	left, top := margin(resW-w), margin(resH-h)
	for y := range h {
		row := rgb[3*((top+y)*resW+left):]
		for x := range w {
			dst[y*w+x], dst[(h+y)*w+x], dst[(2*h+y)*w+x] = row[3*x], row[3*x+1], row[3*x+2]
		}
	}
	return nil
}

// margin is half of what a crop leaves, a half going to the even side: where
// torchvision's centre crop begins.
func margin(rest int) int {
	if rest%4 == 3 {
		return rest/2 + 1
	}
	return rest / 2
}

func decodeConfig(data []byte) (image.Config, error) {
	cfg, _, err := image.DecodeConfig(bytes.NewReader(data))
	switch {
	case err == image.ErrFormat:
		return cfg, fmt.Errorf("neither a JPEG nor a PNG image")
	case err != nil:
		return cfg, err
	case cfg.Width < 1 || cfg.Height < 1 || cfg.Width > maxPixels/cfg.Height:
		return cfg, fmt.Errorf("an image of %dx%d", cfg.Width, cfg.Height)
	}
	return cfg, nil
}

// toRGB gives three interleaved bytes a pixel. Grey becomes equal red, green
// and blue; an alpha channel is dropped, as Pillow's convert("RGB") does.
func toRGB(img image.Image) []byte {
	b := img.Bounds()
	out := make([]byte, 0, 3*b.Dx()*b.Dy())
	for y := b.Min.Y; y < b.Max.Y; y++ {
		switch m := img.(type) { // the common ones without an allocation a pixel
		case *image.YCbCr:
			for x := b.Min.X; x < b.Max.X; x++ {
				c := m.COffset(x, y)
				r, g, b := color.YCbCrToRGB(m.Y[m.YOffset(x, y)], m.Cb[c], m.Cr[c])
				out = append(out, r, g, b)
			}
		case *image.Gray:
			for _, v := range m.Pix[m.PixOffset(b.Min.X, y):][:b.Dx()] {
				out = append(out, v, v, v)
			}
		default:
			for x := b.Min.X; x < b.Max.X; x++ {
				c := color.NRGBAModel.Convert(img.At(x, y)).(color.NRGBA)
				out = append(out, c.R, c.G, c.B)
			}
		}
	}
	return out
}
