package kernel

// field computes a convolution whose kernel is larger than its output, as the
// gradient of a kernel is: there the "kernel" is a whole image and the
// "channels" are the batch. The tile is a few images (channels, in the
// gradient) times one or two units of output channels, for one output
// position; the sum runs over kernel positions and channels, that is over
// pixels. Sums over stretches of channels (chunks, fixed by the shape) are
// kept apart and added in order at the end.
type field struct {
	rows, oc    int // images and output channels of one group
	rowUnits    int
	cols        int // columns of a tile
	colTiles    int
	kernels     []func(*tileArgs)
	widths      []int // tile rows within a full unit
	lastWidths  []int // and within the last one
	height      int   // packed rows of one channel
	width       int   // columns before they are rearranged
	span        int
	rowLen      int
	chunks      int
	chunk       int // channels of a chunk
	group       int // channels packed at a time
	taps        []tap
	partLen     int  // floats of one partial sum
	kernelReady bool // the kernel lies in memory as the tile reads it
}

const (
	maxChunks  = 16
	partFloats = 1 << 22 // partial sums take at most 16 MiB
	fieldSteps = 512     // pack so many steps of the sum at a time
)

func (c *Conv) planField() *field {
	s := c.spec
	g := s.Groups * s.BatchGroups
	f := &field{rows: s.Batch / s.BatchGroups, oc: s.OutChannels / g, cols: unit, kernels: c.tiles.field}
	channels := s.InChannels / s.Groups
	if c.tiles.wide(f.oc) {
		f.cols, f.kernels = 2*unit, c.tiles.field2
	}
	f.rowUnits, f.colTiles = (f.rows+unit-1)/unit, (f.oc+f.cols-1)/f.cols
	f.widths = split(min(unit, f.rows), len(f.kernels))
	f.lastWidths = split(f.rows-(f.rowUnits-1)*unit, len(f.kernels))
	extent := func(d int) int {
		return (c.outSize[d]-1)*s.Stride[d] + (s.KernelSize[d]-1)*s.KernelDilation[d] + 1
	}
	f.height, f.width = extent(0), extent(1)
	step := s.KernelDilation[1]
	f.span = (f.width + step - 1) / step
	f.rowLen = step * f.span * unit
	f.partLen = c.outSize[0] * c.outSize[1] * f.rows * f.colTiles * f.cols
	f.chunks = max(1, min(maxChunks, channels, partFloats/max(1, c.outSize[0]*c.outSize[1]*f.rows*s.OutChannels)))
	f.chunk = (channels + f.chunks - 1) / f.chunks
	f.chunks = (channels + f.chunk - 1) / f.chunk
	area := s.KernelSize[0] * s.KernelSize[1]
	f.group = max(1, min(f.chunk, fieldSteps/area))
	for ch := range f.group {
		for ky := range s.KernelSize[0] {
			f.taps = append(f.taps, tap{4 * (ch*f.height + ky*s.KernelDilation[0]) * f.rowLen, s.KernelSize[1]})
		}
	}
	f.kernelReady = f.oc == f.cols && s.ReverseKernel == [2]bool{} &&
		s.Kernel == Layout{N: 1, C: area * f.cols, H: s.KernelSize[1] * f.cols, W: f.cols}
	return f
}

func (c *Conv) runField(p Par, in, kern, out []float32, ep Epilogue) {
	f, s := c.field, c.spec
	groups := s.Groups * s.BatchGroups
	ws := takeWorkspace(&c.pool, p.Workers())
	ws.shared = aligned(ws.shared, groups*f.chunks*f.partLen)
	p.Run(groups*f.chunks, func(task, worker int) {
		g, ch := task/f.chunks, task%f.chunks
		src := 0
		if s.Groups > 1 {
			src = g * (s.InChannels / s.Groups) * s.In.C
		} else {
			src = g * f.rows * s.In.N
		}
		r := fieldRun{field: f, c: c, sc: ws.workers[worker], part: ws.shared[task*f.partLen:][:f.partLen]}
		r.run(in, src, kern, g*f.oc*s.Kernel.N, ch*f.chunk, min((ch+1)*f.chunk, s.InChannels/s.Groups))
	})
	positions := c.outSize[0] * c.outSize[1]
	p.Run(groups*positions, func(task, _ int) {
		g, pos := task/positions, task%positions
		c.foldField(ws.shared[g*f.chunks*f.partLen:], g*f.oc, pos, out, ep)
	})
	ws.blank()
	c.pool.Put(ws)
}

// foldField adds the partial sums of one output position, chunk by chunk.
func (c *Conv) foldField(parts []float32, o0, pos int, out []float32, ep Epilogue) {
	f, lay := c.field, c.spec.Out
	wide := f.colTiles * f.cols
	base := pos/c.outSize[1]*lay.H + pos%c.outSize[1]*lay.W + o0*lay.C
	for b := range f.rows {
		first := parts[(pos*f.rows+b)*wide:][:f.oc]
		for k := 1; k < f.chunks; k++ {
			Add(first, first, parts[k*f.partLen+(pos*f.rows+b)*wide:])
		}
		o := base + b*lay.N
		if lay.C == 1 && ep.none() {
			copy(out[o:], first)
			continue
		}
		for j, v := range first {
			at := o + j*lay.C
			out[at] = ep.apply(v, o0+j, at)
		}
	}
}

// fieldRun is one chunk of one group.
type fieldRun struct {
	*field
	c    *Conv
	sc   *scratch
	part []float32
}

func (r *fieldRun) run(in []float32, src int, kern []float32, ksrc, from, to int) {
	s := r.c.spec
	area := s.KernelSize[0] * s.KernelSize[1]
	unitLen := r.group * r.height * r.rowLen
	r.sc.pack = aligned(r.sc.pack, r.rowUnits*unitLen)
	tileLen := r.group * area * r.cols
	if !r.kernelReady {
		r.sc.out = aligned(r.sc.out, r.colTiles*tileLen)
	}
	for ch := from; ch < to; ch += r.group {
		n := min(r.group, to-ch)
		pl := plane{ts: r.c.tiles, src: in, lane: s.In.N, row: s.In.H, col: s.In.W, height: s.InSize[0], width: s.InSize[1]}
		for u := range r.rowUnits {
			pl.lanes = min(unit, r.rows-u*unit)
			for k := range n {
				pl.base = src + (ch+k)*s.In.C + u*unit*s.In.N
				pl.packStrip(r.sc.pack[u*unitLen+k*r.height*r.rowLen:], -s.PadLow[0], r.height, -s.PadLow[1], r.width, s.KernelDilation[1], r.span)
			}
		}
		w := kern
		at := ksrc + ch*s.Kernel.C
		if r.kernelReady {
			w = w[at:]
		} else {
			w = r.sc.out
			for k := range n {
				r.packKernel(w, tileLen, k*area, kern, at+k*s.Kernel.C)
			}
		}
		r.tiles(w, tileLen, unitLen, n*s.KernelSize[0], ch > from)
	}
}

// packKernel lays out one channel of the kernel for every tile of columns.
func (r *fieldRun) packKernel(dst []float32, tileLen, step int, kern []float32, src int) {
	s := &r.c.spec
	kw := s.KernelSize[1]
	for t := range r.colTiles {
		for ky := range s.KernelSize[0] {
			d := dst[t*tileLen+(step+ky*kw)*r.cols:]
			for u := 0; u < r.cols; u += unit {
				o := t*r.cols + u
				at := min(src+o*s.Kernel.N+r.c.tap(0, ky)*s.Kernel.H, len(kern))
				if !s.ReverseKernel[1] {
					gather(r.c.tiles, d[u:], r.cols, kern[at:], min(unit, r.oc-o), s.Kernel.N, kw, s.Kernel.W)
					continue
				}
				for kx := range kw {
					gather(r.c.tiles, d[kx*r.cols+u:], r.cols, kern[min(at+r.c.tap(1, kx)*s.Kernel.W, len(kern)):], min(unit, r.oc-o), s.Kernel.N, 1, 0)
				}
			}
		}
	}
}

// tiles adds what is packed to the partial sum.
func (r *fieldRun) tiles(w []float32, tileLen, unitLen, ntaps int, more bool) {
	s := &r.c.spec
	wide := r.colTiles * r.cols
	a := &r.sc.args
	*a = tileArgs{stride: 4 * wide, mask: r.c.tiles.mask(r.cols), taps: &r.taps[0], ntaps: ntaps}
	if more {
		a.acc = 1
	}
	kd := s.KernelDilation[1]
	for t := range r.colTiles {
		a.w = at(w, t*tileLen)
		for u := range r.rowUnits {
			widths := r.widths
			if u == r.rowUnits-1 {
				widths = r.lastWidths
			}
			for y := range r.c.outSize[0] {
				for x := range r.c.outSize[1] {
					in := u*unitLen + y*s.Stride[0]*r.rowLen + (x*s.Stride[1]%kd*r.span+x*s.Stride[1]/kd)*unit
					out := ((y*r.c.outSize[1]+x)*r.rows+u*unit)*wide + t*r.cols
					for _, n := range widths {
						a.in, a.out = at(r.sc.pack, in), at(r.part, out)
						r.kernels[n-1](a)
						in += n
						out += n * wide
					}
				}
			}
		}
	}
}
