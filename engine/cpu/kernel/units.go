package kernel

import "unsafe"

// gather writes n units: dst[i*dstStep+l] = src[i*colStep+l*laneStep] for
// lanes l below lanes, and zeros for the rest of each unit of 16. dstStep is
// at least 16. It is how every operand gets into packed form.
func gather(ts *tileSet, dst []float32, dstStep int, src []float32, lanes, laneStep, n, colStep int) {
	if n <= 0 || lanes <= 0 {
		for i := range n {
			clear(dst[i*dstStep:][:unit])
		}
		return
	}
	// One check for all accesses; the loops below use pointers.
	_ = src[(lanes-1)*laneStep+(n-1)*colStep]
	_ = dst[(n-1)*dstStep+unit-1]
	d, s := ptr(dst), ptr(src)
	switch {
	case laneStep == 1 && lanes == unit && colStep == unit && dstStep == unit:
		copy(dst[:n*unit], src)
	case laneStep == 1 && ts.copyUnits != nil:
		ts.copyUnits(d, 4*dstStep, s, 4*colStep, n, 1<<lanes-1)
	case laneStep == 1 && lanes == unit:
		for i := range n {
			*(*[unit]float32)(unsafe.Add(d, 4*i*dstStep)) = *(*[unit]float32)(unsafe.Add(s, 4*i*colStep))
		}
	case colStep == 1 && ts.transposeUnits != nil:
		ts.transposeUnits(d, 4*dstStep, s, 4*laneStep, n, lanes, 1<<unit-1)
	default:
		if lanes < unit {
			for i := range n {
				clear(dst[i*dstStep:][:unit])
			}
		}
		for l := range lanes {
			q := l * laneStep
			for i := range n {
				dst[i*dstStep+l] = src[q]
				q += colStep
			}
		}
	}
}

// Transpose writes the transpose of the rows x cols matrix src, whose rows are
// lds apart, to dst, whose rows (of length rows) are ldd apart.
func Transpose(dst, src []float32, rows, cols, ldd, lds int) {
	transpose(tilesOf(best), dst, src, rows, cols, ldd, lds)
}

func transpose(ts *tileSet, dst, src []float32, rows, cols, ldd, lds int) {
	if rows <= 0 || cols <= 0 {
		return
	}
	_ = src[(rows-1)*lds+cols-1]
	_ = dst[(cols-1)*ldd+rows-1]
	for i := 0; i < rows; i += unit {
		m := min(unit, rows-i)
		if ts.transposeUnits != nil {
			ts.transposeUnits(at(dst, i), 4*ldd, at(src, i*lds), 4*lds, cols, m, 1<<m-1)
			continue
		}
		for j := range cols {
			for k := i; k < i+m; k++ {
				dst[j*ldd+k] = src[k*lds+j]
			}
		}
	}
}
