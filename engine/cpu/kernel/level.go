package kernel

import "unsafe"

// Level names a set of instructions that the kernels can use.
type Level int

const (
	Portable Level = iota // plain Go
	AVX2                  // 256-bit vectors with fused multiply-add
	AVX512                // 512-bit vectors (F, BW, DQ, VL)
)

func (l Level) String() string { return [...]string{"portable", "avx2", "avx512"}[l] }

// best is what this processor offers; it is read once and never changes.
var best = detect()

// Best is the level in use on this processor.
func Best() Level { return best }

// tileSet is one level's tile kernels. Each table is indexed by rows-1; the
// tables for two units of columns are empty where a level has none.
type tileSet struct {
	point, point2 []func(*tileArgs)
	field, field2 []func(*tileArgs)
	mask          func(cols int) uintptr // for a number of live columns

	// copyUnits moves n units, lanes outside the mask becoming zeros;
	// transposeUnits writes unit i from element i of each of the lanes rows of
	// src, storing the lanes of the mask only. Steps are in bytes. Both are nil
	// at a level that has none.
	copyUnits      func(dst unsafe.Pointer, dstStep int, src unsafe.Pointer, srcStep, n int, mask uint)
	transposeUnits func(dst unsafe.Pointer, dstStep int, src unsafe.Pointer, srcStep, n, lanes int, mask uint)
}

// wide says whether n columns are better cut in pairs of units than in units.
func (t *tileSet) wide(n int) bool { return len(t.point2) > 0 && n > unit }

var portableTiles = tileSet{
	point: []func(*tileArgs){tileGo(1, false), tileGo(2, false), tileGo(3, false), tileGo(4, false)},
	field: []func(*tileArgs){tileGo(1, true), tileGo(2, true), tileGo(3, true), tileGo(4, true)},
	mask:  func(cols int) uintptr { return uintptr(cols) },
}

// tileGo is the tile kernel in plain Go; its mask is the number of columns.
func tileGo(rows int, field bool) func(*tileArgs) {
	rowStep, kStep := unit, 1
	if field {
		rowStep, kStep = 1, unit
	}
	return func(a *tileArgs) {
		taps := unsafe.Slice(a.taps, a.ntaps)
		cols := int(a.mask)
		for r := range rows {
			var sum [unit]float32
			out := unsafe.Slice((*float32)(unsafe.Add(a.out, r*a.stride)), cols)
			if a.acc != 0 {
				copy(sum[:], out)
			} else if a.bias != nil {
				copy(sum[:], unsafe.Slice((*float32)(a.bias), unit))
			}
			k := 0 // steps so far
			for _, t := range taps {
				x := unsafe.Add(a.in, t.off+4*r*rowStep)
				for i := range t.n {
					v := *(*float32)(unsafe.Add(x, 4*i*kStep))
					for j, u := range (*[unit]float32)(unsafe.Add(a.w, 4*unit*k)) {
						sum[j] += v * u
					}
					k++
				}
			}
			if a.res != nil {
				for j, v := range unsafe.Slice((*float32)(unsafe.Add(a.res, r*a.stride)), cols) {
					sum[j] += v
				}
			}
			if a.relu != 0 {
				for j, v := range sum {
					sum[j] = max(v, 0)
				}
			}
			copy(out, sum[:cols])
		}
	}
}
