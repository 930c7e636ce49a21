package train

import (
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"

	"lorica/model"
)

// cropPadding is how far a crop may reach beyond the image, into zeros.
const cropPadding = 4

// Random resized crops take between minScale of the image's area and all of it.
const minScale = 0.35

// augmented gathers the examples (int32, [B]) out of pixels (uint8, [N, size])
// and gives them as [B, size] in [0,1], moved as words (uint32, [B] each) say:
//
//	crop     shifted by up to 4 pixels either way, zeros outside; mirrored or not
//	resized  a square of 35% to 100% of the area, scaled up (bilinear); mirrored or not
//	flip     mirrored or not
//	none     as they are
//
// Only indices of pixels are computed: the images themselves stay where they are.
func augmented(kind string, pixels, examples *Node, words [4]*Node, s model.Shape) *Node {
	g := pixels.Graph()
	n := examples.Shape().Dim(0)
	dims := []int{n, s.C, s.H, s.W}
	grid := func(axis int) *Node { return Iota(g, shapes.Make(dtypes.Int32, dims...), axis) }
	spread := func(v *Node) *Node { return BroadcastToDims(Reshape(v, n, 1, 1, 1), dims...) }
	if kind == "none" {
		return toUnit(Gather(pixels, Reshape(examples, n, 1)))
	}

	x := grid(3)
	half := Const(g, uint32(1<<31))
	mirror := spread(GreaterOrEqual(words[2], half))
	x = Where(mirror, Sub(BroadcastToDims(Const(g, int32(s.W-1)), dims...), x), x)
	y := grid(2)
	row, channel := spread(examples), grid(1)
	// pick gathers the pixels at (y, x) of every channel; outside they are zero.
	pick := func(y, x *Node) *Node {
		bound := func(v *Node, size int) (*Node, *Node) {
			low, high := Const(g, int32(0)), Const(g, int32(size-1))
			return Min(Max(v, low), high), LogicalAnd(GreaterOrEqual(v, low), LessOrEqual(v, high))
		}
		y, fineY := bound(y, s.H)
		x, fineX := bound(x, s.W)
		at := Add(Mul(Add(Mul(channel, Const(g, int32(s.H))), y), Const(g, int32(s.W))), x)
		v := toUnit(Gather(pixels, Stack([]*Node{row, at}, -1)))
		return Where(LogicalAnd(fineY, fineX), v, ZerosLike(v))
	}
	switch kind {
	case "crop":
		shift := func(word *Node) *Node { // 0 to 8, less 4
			k := ConvertDType(Rem(word, Const(g, uint32(2*cropPadding+1))), dtypes.Int32)
			return spread(Sub(k, Const(g, int32(cropPadding))))
		}
		y, x = Add(y, shift(words[0])), Add(x, shift(words[1]))
	case "resized":
		return Reshape(resizedCrop(y, x, words, s, spread, pick), n, s.Size())
	}
	return Reshape(pick(y, x), n, s.Size())
}

// resizedCrop samples a random square of the image between its pixels.
func resizedCrop(y, x *Node, words [4]*Node, s model.Shape, spread func(*Node) *Node, pick func(y, x *Node) *Node) *Node {
	side := Sqrt(AddScalar(MulScalar(fraction(words[3]), 1-minScale), minScale))
	// coordinate gives the pixel below a target's place in the source, and the
	// share of the next one.
	coordinate := func(target, word *Node, size int) (*Node, *Node) {
		length := MulScalar(side, float64(size))
		offset := Mul(fraction(word), AddScalar(Neg(length), float64(size)))
		place := Add(Mul(AddScalar(ConvertDType(target, dtypes.Float32), 0.5), spread(side)), spread(offset))
		place = ClipScalar(AddScalar(place, -0.5), 0, float64(size-1))
		below := Floor(place)
		return ConvertDType(below, dtypes.Int32), Sub(place, below)
	}
	y0, fy := coordinate(y, words[0], s.H)
	x0, fx := coordinate(x, words[1], s.W)
	one := Const(y.Graph(), int32(1))
	last := func(v *Node, size int) *Node { return Min(Add(v, one), Const(y.Graph(), int32(size-1))) }
	y1, x1 := last(y0, s.H), last(x0, s.W)
	blend := func(a, b, share *Node) *Node { return Add(Mul(a, OneMinus(share)), Mul(b, share)) }
	return blend(blend(pick(y0, x0), pick(y0, x1), fx), blend(pick(y1, x0), pick(y1, x1), fx), fy)
}

// fraction turns a word into a number in [0, 1).
func fraction(word *Node) *Node {
	top := ConvertDType(Div(word, Const(word.Graph(), uint32(1<<8))), dtypes.Float32)
	return MulScalar(top, 1.0/(1<<24))
}

// toUnit turns bytes into numbers in [0, 1].
func toUnit(v *Node) *Node { return MulScalar(ConvertDType(v, dtypes.Float32), 1.0/255) }
