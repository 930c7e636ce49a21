package kernel

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

func detect() Level {
	switch x := cpu.X86; {
	case x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL:
		return AVX512
	case x.HasAVX2 && x.HasFMA:
		return AVX2
	}
	return Portable
}

func tilesOf(l Level) *tileSet {
	switch l {
	case AVX512:
		return &tiles512
	case AVX2:
		return &tiles256
	}
	return &portableTiles
}

var tiles512 = tileSet{
	point: tilePoint512x1[:], point2: tilePoint512x2[:],
	field: tileField512x1[:], field2: tileField512x2[:],
	mask:      func(cols int) uintptr { return 1<<cols - 1 },
	copyUnits: copyUnits512, transposeUnits: transposeUnits512,
}

var tiles256 = tileSet{
	point: tilePoint256x2[:], field: tileField256x2[:],
	mask: func(cols int) uintptr { return uintptr(unsafe.Pointer(&slidingMask[unit-cols])) },
}

// slidingMask holds 16 live lanes, then 16 dead ones.
var slidingMask = func() (m [2 * unit]int32) {
	for i := range unit {
		m[i] = -1
	}
	return m
}()

//go:noescape
func copyUnits512(dst unsafe.Pointer, dstStep int, src unsafe.Pointer, srcStep, n int, mask uint)

//go:noescape
func transposeUnits512(dst unsafe.Pointer, dstStep int, src unsafe.Pointer, srcStep, n, lanes int, mask uint)

// noiseGroups computes whole groups of values and returns how many values it
// has written.
func noiseGroups(l Level, dst []float32, seed uint64, phase, example, index uint32) int {
	switch n := len(dst); {
	case l == AVX512 && n >= 64:
		noise512(&dst[0], seed, phase, example, index, 0, n/64)
		return n / 64 * 64
	case l == AVX2 && n >= 32:
		noise256(&dst[0], seed, phase, example, index, 0, n/32)
		return n / 32 * 32
	}
	return 0
}

// sumBlocks adds blocks of 64 to 64 partial sums.
func sumBlocks(l Level, acc *[lanes]float32, x *float32, blocks int) bool {
	switch l {
	case AVX512:
		sum512(acc, x, blocks)
	case AVX2:
		sum256(acc, x, blocks)
	default:
		return false
	}
	return true
}

// sumRowBlocks adds rows of 16, four at a time, to four partial sums.
func sumRowBlocks(l Level, acc *[lanes]float32, x *float32, ld, rows int) bool {
	switch l {
	case AVX512:
		sumRows512(acc, x, ld, rows)
	case AVX2:
		sumRows256(acc, x, ld, rows)
	default:
		return false
	}
	return true
}
