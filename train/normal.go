package train

import (
	"math"

	. "github.com/gomlx/gomlx/pkg/core/graph"
)

// tiny bounds the probabilities that a quantile is taken of.
const tiny = 1e-6

// quantile is Phi^-1(p) for p in [tiny, 1-tiny], elementwise: Wichura's
// algorithm AS 241, PPND7 (Applied Statistics 37, 1988), accurate to a few
// units of float32. Its gradient is the closed form 1/phi(Phi^-1(p)), not that
// of the approximation.
//
// Outside the domain the value means nothing and the gradient is not finite:
// mask p, not the result (see safe).
func quantile(p *Node) *Node {
	z := StopGradient(ppnd7(StopGradient(p)))
	slope := MulScalar(Exp(MulScalar(Square(z), 0.5)), math.Sqrt(2*math.Pi))
	return Add(z, Mul(Sub(p, StopGradient(p)), slope))
}

func ppnd7(p *Node) *Node {
	polynomial := func(r *Node, coefficients ...float64) *Node { // constant first
		v := MulScalar(OnesLike(r), coefficients[len(coefficients)-1])
		for i := len(coefficients) - 2; i >= 0; i-- {
			v = AddScalar(Mul(v, r), coefficients[i])
		}
		return v
	}
	q := AddScalar(p, -0.5)
	r := AddScalar(Neg(Square(q)), 0.180625)
	centre := Mul(q, Div(
		polynomial(r, 3.3871327179, 50.434271938, 159.29113202, 59.109374720),
		polynomial(r, 1, 17.895169469, 78.757757664, 67.187563600)))
	t := AddScalar(Sqrt(Neg(Log(Min(p, OneMinus(p))))), -1.6)
	tail := Div(
		polynomial(t, 1.4234372777, 2.7568153900, 1.3067284816, 0.17023821103),
		polynomial(t, 1, 0.73700164250, 0.12021132975))
	tail = Mul(tail, Sign(q))
	return Where(LessOrEqual(Abs(q), Scalar(p.Graph(), p.DType(), 0.425)), centre, tail)
}

// safe gives p where a quantile can be taken of it and 1/2 elsewhere, and
// where that is. A mask after the quantile would multiply an infinite gradient
// by zero, which is NaN.
func safe(p *Node) (inside, ok *Node) {
	g := p.Graph()
	ok = LogicalAnd(
		GreaterOrEqual(p, Scalar(g, p.DType(), tiny)),
		LessOrEqual(p, Scalar(g, p.DType(), 1-tiny)))
	return Where(ok, p, MulScalar(OnesLike(p), 0.5)), ok
}
