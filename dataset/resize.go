package dataset

import "math"

// resize scales an image of three interleaved bytes a pixel with a triangle
// filter that widens where it shrinks (antialiased bilinear, as Pillow and
// torchvision do it). Weights are rounded to integers once and each pass ends
// in bytes, so the result is the same on every machine: no sum of floats is
// left to a processor's fused multiply-add.
func resize(src []byte, w, h, newW, newH int) []byte {
	return vertical(horizontal(src, w, h, newW), newW, h, newH)
}

const weightBits = 22 // 255 * 2^22 and the rounding term stay below 2^31

// taps are the source pixels of one destination pixel.
type taps struct {
	first   int
	weights []int32 // sum 2^weightBits up to rounding
}

// filter computes the taps of every destination pixel along one axis.
func filter(from, to int) []taps {
	scale := float64(from) / float64(to)
	support := math.Max(scale, 1) // half the width of the triangle
	out := make([]taps, to)
	weights := make([]float64, 0, int(2*support)+3)
	for i := range out {
		centre := (float64(i) + 0.5) * scale
		first := max(0, int(centre-support+0.5))
		last := min(from, int(centre+support+0.5))
		weights = weights[:0]
		sum := 0.0
		for k := first; k < last; k++ {
			v := max(0, 1-math.Abs((float64(k)+0.5-centre)/support))
			weights = append(weights, v)
			sum += v
		}
		t := taps{first: first, weights: make([]int32, len(weights))}
		for k, v := range weights {
			t.weights[k] = int32(math.Floor(float64(v/sum*(1<<weightBits)) + 0.5))
		}
		out[i] = t
	}
	return out
}

func horizontal(src []byte, w, h, newW int) []byte {
	if w == newW {
		return src
	}
	dst := make([]byte, 3*newW*h)
	columns := filter(w, newW)
	for y := range h {
		row, out := src[3*w*y:3*w*(y+1)], dst[3*newW*y:]
		for x, t := range columns {
			var r, g, b int32 = 1 << (weightBits - 1), 1 << (weightBits - 1), 1 << (weightBits - 1)
			for k, v := range t.weights {
				p := row[3*(t.first+k):]
				r += v * int32(p[0])
				g += v * int32(p[1])
				b += v * int32(p[2])
			}
			out[3*x], out[3*x+1], out[3*x+2] = clip(r), clip(g), clip(b)
		}
	}
	return dst
}

func vertical(src []byte, w, h, newH int) []byte {
	if h == newH {
		return src
	}
	dst := make([]byte, 3*w*newH)
	sums := make([]int32, 3*w)
	for y, t := range filter(h, newH) {
		for i := range sums {
			sums[i] = 1 << (weightBits - 1)
		}
		for k, v := range t.weights {
			row := src[3*w*(t.first+k):]
			for i := range sums {
				sums[i] += v * int32(row[i])
			}
		}
		out := dst[3*w*y:]
		for i, s := range sums {
			out[i] = clip(s)
		}
	}
	return dst
}

func clip(sum int32) byte { return byte(min(max(sum>>weightBits, 0), 255)) }
