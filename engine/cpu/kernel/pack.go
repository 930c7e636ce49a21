package kernel

// plane is where packed rows come from: an image whose elements stand at
// base + lane*lane stride + y*row + x*col, lanes being the axis that is laid
// out in units (channels in a forward convolution).
type plane struct {
	ts             *tileSet
	src            []float32
	base           int
	lanes          int // live lanes, at most a unit
	lane, row, col int
	height, width  int
}

// packRow writes input row y, columns lo to lo+n-1, to dst in units of 16
// lanes, dead lanes and positions outside the image as zeros. Column lo+i goes
// to unit (i%step)*span + i/step: so columns that are step apart, which a
// strided convolution reads one after the other, become neighbours.
func (p *plane) packRow(dst []float32, y, lo, n, step, span int) {
	if y < 0 || y >= p.height {
		clear(dst[:step*span*unit])
		return
	}
	if step > 1 {
		for r := range step {
			p.packCols(dst[r*span*unit:(r+1)*span*unit], y, lo+r, (n-r+step-1)/step, step)
		}
		return
	}
	p.packCols(dst, y, lo, n, 1)
}

// packCols packs columns lo, lo+step, ... (n of them).
func (p *plane) packCols(dst []float32, y, lo, n, step int) {
	i := 0
	for ; i < n && lo+i*step < 0; i++ {
		*(*[unit]float32)(dst[i*unit:]) = [unit]float32{}
	}
	end := i
	if last := p.width - 1 - lo; last >= 0 {
		end = max(i, min(n, last/step+1))
	}
	if i < end {
		src := p.base + y*p.row + (lo+i*step)*p.col
		p.packRun(dst[i*unit:end*unit], src, end-i, step*p.col)
	}
	clear(dst[end*unit : n*unit])
}

// packRun packs n columns that are inside the image.
func (p *plane) packRun(dst []float32, src, n, step int) {
	gather(p.ts, dst, unit, p.src[src:], p.lanes, p.lane, n, step)
}
