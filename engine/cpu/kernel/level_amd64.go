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
