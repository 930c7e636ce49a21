package kernel

// directRun is one task of a direct convolution: one strip of one image of one
// group.
type directRun struct {
	*direct
	c      *Conv
	ep     Epilogue
	out    []float32
	sc     *scratch
	w      []float32 // packed kernel of the group
	bias   []float32 // padded to whole tiles, or nil
	b, o   int       // image; first output channel of the group
	strip0 int       // first output of each phase along y
}

func (r *directRun) run(in plane) {
	unitLen := r.rows * r.rowLen
	r.sc.pack = aligned(r.sc.pack, max(r.icUnits, 1)*unitLen)
	for u := range r.icUnits {
		in.lanes = min(unit, r.ic-u*unit)
		in.packStrip(r.sc.pack[u*unitLen:], r.y.lo+r.strip0*r.y.step, r.rows, r.x.lo, r.x.extent(r.x.outputs()), r.x.step, r.span)
		in.base += unit * in.lane
	}
	lay := r.c.spec.Out
	dst, base, res := r.out, r.b*lay.N+r.o*lay.C, r.ep.Residual
	if r.toBuffer {
		w := r.c.outSize[1]
		lay = Layout{C: 1, W: r.oc, H: w * r.oc}
		r.sc.out = aligned(r.sc.out, r.strip*r.y.period*w*r.oc)
		dst, base, res = r.sc.out, -r.strip0*r.y.period*lay.H, nil
	}
	for i := range r.phases {
		for t := range r.ocTiles {
			r.tiles(&r.phases[i], t, lay, dst, base, res)
		}
	}
	if r.toBuffer {
		r.emit()
	}
}

// packStrip packs rows y0 to y0+rows-1.
func (p *plane) packStrip(dst []float32, y0, rows, lo, n, step, span int) {
	rowLen := step * span * unit
	for i := range rows {
		p.packRow(dst[i*rowLen:(i+1)*rowLen], y0+i, lo, n, step, span)
	}
}

// tiles computes one phase and one tile of output channels of the strip.
func (r *directRun) tiles(ph *directPhase, t int, lay Layout, dst []float32, base int, res []float32) {
	live := min(r.ocTile, r.oc-t*r.ocTile)
	a := &r.sc.args
	*a = tileArgs{stride: 4 * lay.W * r.x.period, mask: r.c.tiles.mask(live)}
	if r.bias != nil {
		a.bias = at(r.bias, t*r.ocTile)
	}
	w := ph.w + t*ph.wLen
	end := min(ph.y.count, r.strip0+r.strip)
	for i, sl := range ph.slices {
		a.taps, a.ntaps = &ph.taps[sl.from], sl.to-sl.from
		if a.ntaps > 0 {
			a.w = at(r.w, w+sl.w)
		}
		if i > 0 {
			a.acc = 1
		}
		last := i == len(ph.slices)-1
		if last && r.ep.ReLU && !r.toBuffer {
			a.relu = 1
		}
		for ty := r.strip0; ty < end; ty++ {
			o := base + t*r.ocTile + (ty*r.y.period+ph.y.first)*lay.H + ph.x.first*lay.W
			in := (ty - r.strip0) * r.y.step * r.rowLen
			for _, n := range ph.widths {
				a.in, a.out = at(r.sc.pack, in), at(dst, o)
				if last && res != nil {
					a.res = at(res, o)
				}
				r.kernels[n-1](a)
				in += n * unit
				o += n * lay.W * r.x.period
			}
		}
	}
}

// emit writes the strip from the buffer to the output's own layout.
func (r *directRun) emit() {
	lay, w := r.c.spec.Out, r.c.outSize[1]
	y0 := r.strip0 * r.y.period
	y1 := min(y0+r.strip*r.y.period, r.c.outSize[0])
	dst := r.b*lay.N + r.o*lay.C + y0*lay.H
	if lay.W != 1 || lay.H != w {
		r.emitSlow(lay, y0, y1)
		return
	}
	n := (y1 - y0) * w
	transpose(r.c.tiles, r.out[dst:], r.sc.out, n, r.oc, lay.C, r.oc)
	for o := range r.oc {
		row := r.out[dst+o*lay.C:][:n]
		if r.ep.Residual != nil {
			Add(row, row, r.ep.Residual[dst+o*lay.C:])
		}
		if r.ep.ReLU {
			Relu(row, row)
		}
	}
}

// emitSlow writes the strip to any layout, element by element.
func (r *directRun) emitSlow(lay Layout, y0, y1 int) {
	src := 0
	for y := y0; y < y1; y++ {
		for x := range r.c.outSize[1] {
			dst := r.b*lay.N + r.o*lay.C + y*lay.H + x*lay.W
			for _, v := range r.sc.out[src : src+r.oc] {
				if r.ep.Residual != nil {
					v += r.ep.Residual[dst]
				}
				if r.ep.ReLU {
					v = max(v, 0)
				}
				r.out[dst] = v
				dst += lay.C
			}
			src += r.oc
		}
	}
}
