package bound

import "math"

// eps is the distance from 1 to the next float64.
const eps = 0x1p-52

// tailRoot returns (x, 1-x) with P(X >= k | x) <= alpha and as near to alpha
// as the error analysis lets it come. Both numbers have full relative
// precision; the smaller of the two is the exact representation of the root.
// It needs 1 <= k <= n.
//
// In the logit u = log(x/(1-x)) the log of the tail, h(u), is increasing and
// concave: the density of logit(Beta) is proportional to
// exp(a u - (a+b) log(1+e^u)), which is log-concave, and so is its integral.
// A tangent of a concave function lies above it, hence every Newton step lands
// at or left of the root: on the safe side, from any start.
func tailRoot(k, n int64, alpha float64) (x, y float64) {
	if k == n { // P(X >= n) = x^n
		l := math.Log(alpha) / float64(n)
		l -= 8 * eps * math.Abs(l) // log, division and exp: under 2 ulps each
		return math.Exp(l) * (1 - 2*eps), -math.Expm1(l) * (1 + 2*eps)
	}
	if alpha > 0.5 {
		// Right of the median the fraction below converges badly, and the
		// complement is the small tail.
		return farRoot(k, n, 1-alpha)
	}
	u, slope, slack := newton(k, n, math.Log(alpha))
	// The move outward: the error of h, and of u itself in the last digits.
	u -= slack/slope + 8*eps*(1+math.Abs(u))
	return expit(u)
}

// farRoot is tailRoot for alpha = 1 - tail > 1/2: it returns (x, 1-x) with
// P(X <= k-1 | x) >= tail. In failures this is a small tail P(Z >= n-k+1 | y),
// which must not be below its target: y moves right of the root, so that x
// moves left. The target is exact: 1-alpha does not round for alpha >= 1/2.
func farRoot(k, n int64, tail float64) (x, y float64) {
	if k == 1 { // P(X <= 0) = y^n
		l := math.Log(tail) / float64(n)
		l += 8 * eps * math.Abs(l)
		l = math.Min(l, 0)
		return -math.Expm1(l) * (1 - 2*eps), math.Min(1, math.Exp(l)*(1+2*eps))
	}
	u, slope, slack := newton(n-k+1, n, math.Log(tail))
	u += slack/slope + 8*eps*(1+math.Abs(u))
	y, x = expit(u)
	return x, y
}

// newton solves log P(X >= k | x) = target for the logit u of x, 1 <= k < n,
// and returns the slope of the log tail there and a bound on its error.
func newton(k, n int64, target float64) (u, slope, slack float64) {
	a, b := float64(k), float64(n-k+1)
	u = start(a, b, target)
	for range 60 { // 7 were the most in 300,000 random cases
		h, s, e := logTail(k, n, u)
		diff := h - target
		slope, slack = s, e
		if math.Abs(diff) <= e {
			// h(u) is the target up to its error: one error of h for the
			// evaluation, one for what is left of the root.
			return u, slope, 2 * e
		}
		x, y := expit(u)
		step := diff / s
		// Halley's correction, s'/s = a(1-x) - bx - s, where it is mild;
		// elsewhere the plain Newton step, which converges from anywhere.
		if c := step * (a*y - b*x - s) / 2; math.Abs(c) < 0.3 {
			step /= 1 - c
		}
		if math.Abs(step) <= 4*eps*(1+math.Abs(u)) {
			return u, slope, 2*e + math.Abs(diff)
		}
		u -= step
	}
	// Never reached, and still safe: the slack covers what is missing.
	h, s, e := logTail(k, n, u)
	return u, s, 2*e + math.Abs(h-target)
}

// start approximates the logit of the root by the normal approximation to the
// beta distribution of Abramowitz and Stegun, 26.5.22.
func start(a, b, target float64) float64 {
	z := -roughQuantile(math.Exp(math.Max(target, -690)))
	ra, rb := 1/(2*a-1), 1/(2*b-1)
	lambda := (z*z - 3) / 6
	h := 2 / (ra + rb)
	w := z*math.Sqrt(h+lambda)/h - (rb-ra)*(lambda+5./6-2/(3*h))
	return math.Log(a/b) - 2*w
}

// logTail returns h = log P(X >= k | x) at x = expit(u), its derivative by u,
// and a bound on the error of h.
//
// With a = k and b = n-k+1 the tail is the incomplete beta function
//
//	I_x(a, b) = C(n,k) x^k (1-x)^(n-k+1) F,   F = 1/(b0 + a1/(b1 + a2/(b2 + ...)))
//
// (DLMF 8.17.22, its even part). All terms are positive for x up to the
// median, so nothing cancels, successive convergents bracket F, and the
// fraction ends by itself at m = b. It takes some (13/z)² steps for a tail z
// standard deviations out, whatever n is, and about sqrt(n) at the median.
// The derivative of log I by u is the density times x(1-x) over I: a/F.
//
// Error, in units of eps. The smaller of x and 1-x is an exact number here and
// k - nx is rounded once, so each deviance is good to 16 ulps of itself (13 for
// the cancellation at the seam of its two forms) and together they are at most
// |h| + log F + log n/2 < |h| + 22: with the logarithms and Stirling terms below
// 512 + 16|h|. F gets at most 8 roundings a step, all relative because all terms
// are positive. TestLogTailError measures it against exact sums.
func logTail(k, n int64, u float64) (h, slope, err float64) {
	x, y := expit(u)
	pre := logPMF(k, n, x, y) + math.Log(y)
	f, steps := fraction(k, n, x, y)
	h = pre + math.Log(f)
	return h, float64(k) / f, eps * (512 + 16*math.Abs(h) + 8*float64(steps))
}

// fraction evaluates F by the forward recurrence of its convergents. All terms
// are positive: no cancellation, and scaling both rows leaves the quotient.
func fraction(k, n int64, x, y float64) (f float64, steps int) {
	a, b := float64(k), float64(n-k+1)
	// a - (a+b)x without cancellation. Right of the median (an early Newton
	// step) it may be below -1; any positive value will do for that step.
	lambda := math.Max(excess(k, n, x, y)-x, -1+1e-9)
	num, num1 := (lambda+1)/(a+1), 1.0 // this convergent and the one before
	den, den1 := 1.0, 0.0
	last := num
	for m := 1.0; m < b; m++ {
		s := a + 2*m
		r := 1 / ((s - 2) * (s - 1) * s * (s + 1))
		t := m * (b - m) * x * ((s - 2) * (s + 1)) * r                  // d_2m
		am := t * (a + m - 1) * (a + b + m - 1) * x * (s * (s + 1)) * r // -d_2m-1 d_2m
		bm := ((a+m)*(lambda+1+m*(1+y))+m*(s+1))*((s-2)*(s-1))*r + t
		num, num1 = bm*num+am*num1, num
		den, den1 = bm*den+am*den1, den
		steps++
		if steps%4 != 0 { // a quotient is dear
			continue
		}
		inv := 1 / den
		num, num1, den, den1 = num*inv, num1*inv, 1, den1*inv
		if math.Abs(num-last) < 2*eps*num {
			break
		}
		last = num
	}
	return den / num, steps
}

// excess is k - n x, rounded once: the smaller of x and y = 1-x stands for the
// exact number.
func excess(k, n int64, x, y float64) float64 {
	if x <= 0.5 {
		return math.FMA(-float64(n), x, float64(k))
	}
	return math.FMA(float64(n), y, float64(k-n))
}

// logPMF is log P(X = k | x) for 0 < k < n in Loader's saddle-point form
// (Loader 2000, "Fast and accurate computation of binomial probabilities"):
// no difference of large logarithms, so its error does not grow with n.
func logPMF(k, n int64, x, y float64) float64 {
	fk, fn, fr := float64(k), float64(n), float64(n-k)
	d := excess(k, n, x, y)
	return 0.5*math.Log(fn/(2*math.Pi*fk*fr)) +
		stirlingError(fn) - stirlingError(fk) - stirlingError(fr) -
		deviance(fk, fn*x, d) - deviance(fr, fn*y, -d)
}

// deviance is o log(o/e) + e - o for an observed and an expected count whose
// difference o - e is d.
func deviance(o, e, d float64) float64 {
	if math.Abs(d) >= 0.3*(o+e) {
		return o*math.Log(o/e) - d
	}
	// log(o/e) = 2 atanh(v) in powers of v: no cancellation.
	v := d / (o + e)
	s := d * v
	t, v2 := 2*o*v, v*v
	for j := 3.0; ; j += 2 { // at most 16 turns: v2 < 0.09
		t *= v2
		next := s + t/j
		if next == s {
			return s
		}
		s = next
	}
}

// expit returns 1/(1+e^-u) and its complement, both to full relative precision.
func expit(u float64) (x, y float64) {
	if u < 0 {
		e := math.Exp(u)
		return e / (1 + e), 1 / (1 + e)
	}
	e := math.Exp(-u)
	return 1 / (1 + e), e / (1 + e)
}
