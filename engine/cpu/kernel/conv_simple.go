package kernel

// runSimple is the definition of the convolution, one task an output row of
// one image. It is the reference of the fast lowerings, and what shapes that
// none of them takes fall back on.
func (c *Conv) runSimple(p Par, in, kern, out []float32, ep Epilogue) {
	s := c.spec
	nb := s.Batch / s.BatchGroups
	ocg, icg := s.OutChannels/s.Groups, s.InChannels/s.Groups
	ocb := s.OutChannels / s.BatchGroups
	oh, ow := c.outSize[0], c.outSize[1]
	p.Run(nb*s.OutChannels*oh, func(task, _ int) {
		y := task % oh
		o := task / oh % s.OutChannels
		b := task / oh / s.OutChannels
		inBase := (b + o/ocb%s.BatchGroups*nb) * s.In.N
		if s.Groups > 1 {
			inBase += o / ocg * icg * s.In.C
		}
		for x := range ow {
			var sum float32
			for ky := range s.KernelSize[0] {
				iy, ok := c.inputPos(0, y, ky)
				if !ok {
					continue
				}
				for kx := range s.KernelSize[1] {
					ix, ok := c.inputPos(1, x, kx)
					if !ok {
						continue
					}
					ip := inBase + iy*s.In.H + ix*s.In.W
					kp := o*s.Kernel.N + c.tap(0, ky)*s.Kernel.H + c.tap(1, kx)*s.Kernel.W
					for range icg {
						sum += in[ip] * kern[kp]
						ip += s.In.C
						kp += s.Kernel.C
					}
				}
			}
			at := b*s.Out.N + o*s.Out.C + y*s.Out.H + x*s.Out.W
			out[at] = ep.apply(sum, o, at)
		}
	})
}

// inputPos is the input position that output position o reads through kernel
// position k along dimension d, and whether there is one.
func (c *Conv) inputPos(d, o, k int) (int, bool) {
	i := o*c.spec.Stride[d] + k*c.spec.KernelDilation[d] - c.spec.PadLow[d]
	if i < 0 || i%c.spec.InDilation[d] != 0 {
		return 0, false
	}
	i /= c.spec.InDilation[d]
	return i, i < c.spec.InSize[d]
}

// tap is the stored kernel position of position k.
func (c *Conv) tap(d, k int) int {
	if c.spec.ReverseKernel[d] {
		return c.spec.KernelSize[d] - 1 - k
	}
	return k
}

func (ep *Epilogue) none() bool {
	return ep.Scale == nil && ep.Bias == nil && ep.Residual == nil && !ep.ReLU
}

func (ep *Epilogue) apply(sum float32, channel, at int) float32 {
	if ep.Scale != nil {
		sum *= ep.Scale[channel]
	}
	if ep.Bias != nil {
		sum += ep.Bias[channel]
	}
	if ep.Residual != nil {
		sum += ep.Residual[at]
	}
	if ep.ReLU && !(sum > 0) && sum == sum {
		sum = 0
	}
	return sum
}
