package train

import (
	"math"
	"slices"
)

// The slow side of the tests: the paper's formulas in float64, one example, one
// draw, one class at a time, on a network of one hidden layer. Nothing here is
// shared with the graphs but the order of the parameters.

// slowNet is D inputs, H hidden units, K logits.
type slowNet struct{ d, h, k int }

func (n slowNet) size() int { return n.h*n.d + n.h + n.k*n.h + n.k }

// logits of one input. The parameters lie in the order of their names:
// a.bias, a.weight, b.bias, b.weight.
func (n slowNet) logits(theta, x []float64) []float64 {
	ab, aw := theta[:n.h], theta[n.h:n.h+n.h*n.d]
	bb, bw := theta[n.h+n.h*n.d:n.h+n.h*n.d+n.k], theta[n.h+n.h*n.d+n.k:]
	out := make([]float64, n.k)
	copy(out, bb)
	for i := range n.h {
		v := ab[i]
		for j := range n.d {
			v += aw[i*n.d+j] * x[j]
		}
		if v < 0 {
			continue
		}
		for k := range n.k {
			out[k] += bw[k*n.h+i] * v
		}
	}
	return out
}

func slowSoftmax(z []float64, beta float64) []float64 {
	p := make([]float64, len(z))
	sum, top := 0.0, slices.Max(z)
	for k := range z {
		p[k] = math.Exp(beta * (z[k] - top))
		sum += p[k]
	}
	for k := range p {
		p[k] /= sum
	}
	return p
}

func slowQuantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

// slowBatch is a batch in plain numbers.
type slowBatch struct {
	Config
	net    slowNet
	x      [][]float64   // images
	noise  [][][]float64 // by image and draw, scaled by sigma
	y      []int
	costs  [][]float64
	push   [][]float64
	target [][]float64 // SmoothMix's y_mix, frozen
	right  []bool      // and its indicator
	t      []float64
	ramp   float64
}

func plus(a, b []float64, scale float64) []float64 {
	c := make([]float64, len(a))
	for i := range a {
		c[i] = a[i] + scale*b[i]
	}
	return c
}

// soft is the mean over the draws of softmax(beta f(x+delta)).
func (b *slowBatch) soft(theta, x []float64, i int, beta float64) []float64 {
	mean := make([]float64, b.net.k)
	for _, delta := range b.noise[i] {
		for k, p := range slowSoftmax(b.net.logits(theta, plus(x, delta, 1)), beta) {
			mean[k] += p / float64(len(b.noise[i]))
		}
	}
	return mean
}

// ce is the classification loss of one example at x.
func (b *slowBatch) ce(theta, x []float64, i int) float64 {
	if b.NLL == "mean-softmax" {
		return -math.Log(b.soft(theta, x, i, 1)[b.y[i]])
	}
	sum := 0.0
	for _, delta := range b.noise[i] {
		sum -= math.Log(slowSoftmax(b.net.logits(theta, plus(x, delta, 1)), 1)[b.y[i]])
	}
	return sum / float64(len(b.noise[i]))
}

func (b *slowBatch) isSensitive(y int) bool {
	for _, c := range b.costs[y] {
		if c > 0 {
			return true
		}
	}
	return false
}

func knowable(p float64) bool { return p >= 1e-6 && p <= 1-1e-6 }

// slowHinge is L_M with the factor sigma/2 outside.
func slowHinge(v, low, gamma float64) float64 {
	if v < low || v > gamma {
		return 0
	}
	return gamma - v
}

// standard is the margin to the runner-up.
func standard(p []float64, y int) (float64, bool) {
	second := 0.0
	for k, v := range p {
		if k != y {
			second = max(second, v)
		}
	}
	if !knowable(p[y]) || !knowable(second) {
		return 0, false
	}
	return slowQuantile(p[y]) - slowQuantile(second), true
}

// value is the objective of the method.
func (b *slowBatch) value(theta []float64) float64 {
	total := 0.0
	for i, x := range b.x {
		y := b.y[i]
		weight := 1.0
		if b.isSensitive(y) {
			weight = b.Lambda
		}
		switch b.Method {
		case Gaussian, GaussianCS:
			total += weight * b.ce(theta, x, i)
		case SmoothAdv, SmoothAdvCS:
			total += weight * b.ce(theta, plus(x, b.push[i], 1), i)
		case SmoothMix, SmoothMixCS:
			total += weight * b.ce(theta, x, i)
			if !b.right[i] {
				continue
			}
			at := plus(x, b.push[i], b.t[i])
			for _, delta := range b.noise[i] {
				p := slowSoftmax(b.net.logits(theta, plus(at, delta, 1)), 1)
				for k := range p {
					total -= b.Eta * b.ramp * b.target[i][k] * math.Log(p[k]) / float64(len(b.noise[i]))
				}
			}
		case MACER:
			total += b.ce(theta, x, i)
			if m, ok := standard(b.soft(theta, x, i, b.Beta), y); ok {
				total += b.Lambda * b.Sigma / 2 * slowHinge(m, 0, b.Gamma)
			}
		case MarginCS:
			total += b.ce(theta, x, i) + b.Lambda1*b.Sigma/2*b.margin(b.soft(theta, x, i, b.Beta), y)
		}
	}
	return total / float64(len(b.x))
}

// margin is what Margin-CS adds for one example, without lambda1 sigma/2.
func (b *slowBatch) margin(p []float64, y int) float64 {
	if !b.isSensitive(y) {
		if m, ok := standard(p, y); ok {
			return slowHinge(m, 0, b.Gamma1)
		}
		return 0
	}
	low := -b.Gamma2
	if b.MaskMisclassified {
		low = 0
	}
	sum, most := 0.0, 0.0
	for j, c := range b.costs[y] {
		if c == 0 || !knowable(p[y]) || !knowable(p[j]) {
			continue
		}
		term := c * slowHinge(slowQuantile(p[y])-slowQuantile(p[j]), low, b.Gamma2)
		sum += term
		most = max(most, term)
	}
	if b.Pair == "sum" {
		return b.Lambda2 * sum
	}
	return b.Lambda2 * most
}

// freeze fixes SmoothMix's targets at theta.
func (b *slowBatch) freeze(theta []float64) {
	for i, x := range b.x {
		g := b.soft(theta, x, i, 1)
		right := true
		target := make([]float64, len(g))
		for k := range g {
			right = right && g[k] <= g[b.y[i]]
			target[k] = (1-b.t[i])*g[k] + b.t[i]/float64(len(g))
		}
		b.right, b.target = append(b.right, right), append(b.target, target)
	}
}

// attack is one step of the adversary on every image, by finite differences.
func (b *slowBatch) attack(theta []float64) {
	for i, x := range b.x {
		j := func(push []float64) float64 {
			v := -math.Log(b.soft(theta, plus(x, push, 1), i, 1)[b.y[i]])
			if b.Method == SmoothMix || b.Method == SmoothMixCS {
				v -= b.Penalty * dot(push, push)
			}
			return v
		}
		push := b.push[i]
		g := differences(j, push)
		length := math.Sqrt(dot(g, g))
		if b.Method == SmoothMix || b.Method == SmoothMixCS {
			b.push[i] = plus(push, g, b.attackStep()/length)
			continue
		}
		eps := b.ramp * b.AttackEps
		next := plus(push, g, 2*eps/float64(b.AttackSteps)/length)
		for k := range next {
			next[k] = min(max(x[k]+next[k], 0), 1) - x[k]
		}
		if n := math.Sqrt(dot(next, next)); n > eps {
			for k := range next {
				next[k] *= eps / n
			}
		}
		b.push[i] = next
	}
}

func dot(a, b []float64) float64 {
	s := 0.0
	for i := range a {
		s += a[i] * b[i]
	}
	return s
}

// differences is the gradient of f at v by central differences.
func differences(f func([]float64) float64, v []float64) []float64 {
	g := make([]float64, len(v))
	at := append([]float64(nil), v...)
	const h = 1e-5
	for i := range v {
		at[i] = v[i] + h
		up := f(at)
		at[i] = v[i] - h
		g[i] = (up - f(at)) / (2 * h)
		at[i] = v[i]
	}
	return g
}
