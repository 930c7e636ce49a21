package kernel

// axis is a convolution along one spatial dimension, cut into phases. With an
// input dilation D and a stride S, only every D/gcd(S,D)-th output position
// reads the same kernel positions; each such class of outputs (a phase) is an
// ordinary convolution with a subset of the taps, over the input as it is
// stored. So the zeros of a dilation are never multiplied.
type axis struct {
	period int // outputs of one phase are this far apart
	step   int // and read input positions this far apart
	lo, hi int // the range of tap bases over all phases
	phases []phase
}

// phase is the outputs first, first+period, ... (count of them). Output number
// t reads input position base+t*step through each of its taps.
type phase struct {
	first, count int
	taps         []axisTap
}

type axisTap struct{ kernel, base int } // position in the stored kernel; input position for t = 0

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func (c *Conv) axis(d int) axis {
	s := c.spec
	g := gcd(s.Stride[d], s.InDilation[d])
	a := axis{period: s.InDilation[d] / g, step: s.Stride[d] / g}
	none := true
	for first := range min(a.period, c.outSize[d]) {
		ph := phase{first: first, count: (c.outSize[d] - first + a.period - 1) / a.period}
		for k := range s.KernelSize[d] {
			i := first*s.Stride[d] + k*s.KernelDilation[d] - s.PadLow[d]
			if i%s.InDilation[d] != 0 {
				continue
			}
			i /= s.InDilation[d]
			if i >= s.InSize[d] || i+(ph.count-1)*a.step < 0 {
				continue // this tap only ever reads padding
			}
			ph.taps = append(ph.taps, axisTap{c.tap(d, k), i})
			if none || i < a.lo {
				a.lo = i
			}
			if none || i > a.hi {
				a.hi = i
			}
			none = false
		}
		a.phases = append(a.phases, ph)
	}
	return a
}

// extent is the number of input positions that outputs 0 to n-1 of all phases
// reach, from lo on.
func (a *axis) extent(n int) int { return a.hi - a.lo + (n-1)*a.step + 1 }

// outputs is the largest number of outputs that a phase has.
func (a *axis) outputs() int {
	if len(a.phases) == 0 {
		return 0
	}
	return a.phases[0].count
}
