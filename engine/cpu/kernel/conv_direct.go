package kernel

// direct computes a convolution whose output is larger than its kernel. The
// tile is a stretch of an output row times one or two units of output
// channels; the sum runs over kernel positions and input channels. A task
// packs the input rows of a strip, with their padding, in units of 16
// channels, so that a pixel is one cache line and no tile sees an edge.
type direct struct {
	y, x     axis
	ic, oc   int // channels of one group
	icUnits  int
	ocTile   int // columns of a tile: one unit or two
	ocTiles  int
	strip    int // outputs per phase and task along y
	strips   int
	rowLen   int // packed row: step * span units, in floats
	span     int
	rows     int // packed rows of a strip
	phases   []directPhase
	kernels  []func(*tileArgs)
	wLen     int // packed kernel of one group, in floats
	toBuffer bool
}

// directPhase is one pair of a y phase and an x phase.
type directPhase struct {
	y, x   *phase
	taps   []tap // offsets from the tile's first pixel
	coords [][2]int
	slices []tapSlice
	w      int // where its packed kernel begins
	wLen   int // floats for one tile of output channels
	widths []int
}

// tapSlice is a run of taps whose kernel stays in the nearest cache while the
// tiles of a strip are computed; w is where its part of the packed kernel
// begins.
type tapSlice struct{ from, to, w int }

const (
	sliceFloats = 9 * unit * 2 * unit * 2 // about 36 KiB of kernel at a time
	stripFloats = 24 << 10                // about 96 KiB of packed input,
	stripLimit  = 192 << 10               // or, where the kernel is larger than that, as much as it, up to 768 KiB
)

func (c *Conv) planDirect() *direct {
	s := c.spec
	g := s.Groups * s.BatchGroups
	d := &direct{y: c.axis(0), x: c.axis(1), ic: s.InChannels / s.Groups, oc: s.OutChannels / g}
	d.icUnits = (d.ic + unit - 1) / unit
	d.ocTile, d.kernels = unit, c.tiles.point
	if c.tiles.wide(d.oc) {
		d.ocTile, d.kernels = 2*unit, c.tiles.point2
	}
	d.ocTiles = (d.oc + d.ocTile - 1) / d.ocTile
	d.span = (d.x.extent(d.x.outputs()) + d.x.step - 1) / d.x.step
	d.rowLen = d.x.step * d.span * unit
	d.planStrips(s.KernelSize[0] * s.KernelSize[1])
	d.toBuffer = s.Out.C != 1
	for i := range d.y.phases {
		for j := range d.x.phases {
			d.addPhase(&d.y.phases[i], &d.x.phases[j])
		}
	}
	return d
}

// planStrips chooses how many output rows a task computes, by shape alone.
func (d *direct) planStrips(window int) {
	total := d.y.outputs()
	d.strip = total
	limit := max(stripFloats, min(stripLimit, window*d.ic*d.oc)) // each strip reads the whole kernel
	for d.strip > 1 && d.y.extent(d.strip)*d.rowLen*d.icUnits > limit {
		d.strip = (d.strip + 1) / 2
	}
	d.strips = (total + d.strip - 1) / d.strip
	d.strip = (total + d.strips - 1) / d.strips
	d.rows = d.y.extent(d.strip)
}

func (d *direct) addPhase(y, x *phase) {
	p := directPhase{y: y, x: x, w: d.wLen}
	slice := 0
	for u := range d.icUnits {
		n := min(unit, d.ic-u*unit)
		for _, ty := range y.taps {
			for _, tx := range x.taps {
				col := tx.base - d.x.lo
				off := (u*d.rows+ty.base-d.y.lo)*d.rowLen + (col%d.x.step*d.span+col/d.x.step)*unit
				if p.wLen-slice+n*d.ocTile > sliceFloats {
					slice = p.wLen
				}
				if k := len(p.slices); k == 0 || p.slices[k-1].w != slice {
					p.slices = append(p.slices, tapSlice{from: len(p.taps), w: slice})
				}
				p.taps = append(p.taps, tap{4 * off, n})
				p.coords = append(p.coords, [2]int{ty.kernel, tx.kernel})
				p.slices[len(p.slices)-1].to = len(p.taps)
				p.wLen += n * d.ocTile
			}
		}
	}
	if len(p.taps) == 0 { // no input reaches this phase: bias and residual alone
		p.slices = []tapSlice{{}}
		p.taps = []tap{{}}
	}
	p.widths = split(x.count, len(d.kernels))
	d.wLen += p.wLen * d.ocTiles
	d.phases = append(d.phases, p)
}

// split cuts n into the fewest parts of at most limit, as equal as can be.
func split(n, limit int) []int {
	parts := (n + limit - 1) / limit
	out := make([]int, parts)
	for i := range out {
		out[i] = (n*(i+1))/parts - (n*i)/parts
	}
	return out
}

// packAll packs the kernel of every group, phase and tile of output channels
// into dst.
func (c *Conv) packAll(p Par, dst, kern, scale []float32) {
	d, s := c.direct, c.spec
	groups := s.Groups * s.BatchGroups
	p.Run(groups*len(d.phases)*d.ocTiles, func(task, _ int) {
		t := task % d.ocTiles
		ph := &d.phases[task/d.ocTiles%len(d.phases)]
		g := task / d.ocTiles / len(d.phases)
		d.packKernel(c.tiles, dst[g*d.wLen+ph.w+t*ph.wLen:][:ph.wLen], &s, ph, kern, scale, g*d.oc, t*d.ocTile)
	})
}

// runDirect computes the convolution with a packed kernel, or packs kern first
// if there is none.
func (c *Conv) runDirect(p Par, in, kern, packed, out []float32, ep Epilogue) {
	d, s := c.direct, c.spec
	groups := s.Groups * s.BatchGroups
	ws := takeWorkspace(&c.pool, p.Workers())
	if packed == nil {
		ws.shared = aligned(ws.shared, groups*d.wLen)
		packed = ws.shared
		c.packAll(p, packed, kern, ep.Scale)
	}
	biasLen := d.ocTiles * d.ocTile
	if ep.Bias != nil {
		ws.more = aligned(ws.more, groups*biasLen)
		for g := range groups {
			b := ws.more[g*biasLen:][:biasLen]
			clear(b[copy(b, ep.Bias[g*d.oc:(g+1)*d.oc]):])
		}
	}
	nb := s.Batch / s.BatchGroups
	p.Run(nb*groups*d.strips, func(task, worker int) {
		r := directRun{c: c, direct: d, ep: ep, out: out, sc: ws.workers[worker]}
		r.strip0 = task % d.strips * d.strip
		g := task / d.strips % groups
		r.b, r.o = task/d.strips/groups, g*d.oc
		r.w = packed[g*d.wLen:]
		if ep.Bias != nil {
			r.bias = ws.more[g*biasLen:]
		}
		pl := plane{ts: c.tiles, src: in, lane: s.In.C, row: s.In.H, col: s.In.W, height: s.InSize[0], width: s.InSize[1]}
		if s.Groups > 1 {
			pl.base = r.b*s.In.N + g*d.ic*s.In.C
		} else {
			pl.base = (r.b + g*nb) * s.In.N
		}
		r.run(pl)
	})
	ws.blank()
	c.pool.Put(ws)
}

// packKernel lays out the kernel of one phase and one tile of output channels:
// tap by tap, input channel by input channel, the output channels together.
func (d *direct) packKernel(ts *tileSet, dst []float32, s *ConvSpec, ph *directPhase, kern, scale []float32, group, o0 int) {
	live := min(d.ocTile, d.oc-o0)
	perUnit := len(ph.coords) / max(d.icUnits, 1)
	for i, k := range ph.coords {
		src := (group+o0)*s.Kernel.N + i/perUnit*unit*s.Kernel.C + k[0]*s.Kernel.H + k[1]*s.Kernel.W
		n := ph.taps[i].n
		for u := 0; u < d.ocTile; u += unit {
			gather(ts, dst[u:], d.ocTile, kern[min(src+u*s.Kernel.N, len(kern)):], min(unit, live-u), s.Kernel.N, n, s.Kernel.C)
		}
		if scale != nil {
			for k := range n {
				row := dst[k*d.ocTile:][:live]
				Mul(row, row, scale[group+o0:])
			}
		}
		dst = dst[n*d.ocTile:]
	}
}
