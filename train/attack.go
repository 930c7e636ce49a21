package train

import (
	. "github.com/gomlx/gomlx/pkg/core/graph"
)

// attack is one step of the adversary of the soft-smoothed classifier: up
// the gradient of J(x') = -log mean_delta softmax(f(x'+delta))_y in l2, the noise
// that of the step, the classifier as it answers now (running statistics).
// It takes and gives the move x'-x, [B, size].
//
// SmoothAdv: a step of 2 eps/T along g/|g|, then back to an image (x' in [0,1])
// and into the ball of eps, which grows with the warm-up. SmoothMix: a step of
// alpha along the normalised gradient of J - penalty |x'-x|^2, with no ball.
func (b *batch) attack() *Node {
	push := b.push
	j := Neg(ReduceAllSum(logSmoothed(b.logits(Add(b.images, push), false), b.onehot)))
	grad := Gradient(j, push)[0]
	if b.Method == SmoothMix || b.Method == SmoothMixCS {
		grad = Sub(grad, MulScalar(push, 2*b.Penalty))
		return Add(push, MulScalar(unit(grad), b.Config.attackStep()))
	}
	eps := MulScalar(b.ramp, b.AttackEps)
	push = Add(push, Mul(unit(grad), MulScalar(eps, 2/float64(b.AttackSteps))))
	push = Sub(ClipScalar(Add(b.images, push), 0, 1), b.images)
	norm := norms(push)
	one := OnesLike(norm)
	return Mul(push, BroadcastToDims(Min(one, Div(Mul(one, eps), Max(norm, MulScalar(one, 1e-12)))), push.Shape().Dimensions...))
}

// norms are the l2 norms of the rows, [B, 1].
func norms(x *Node) *Node { return Sqrt(ReduceAndKeep(Square(x), ReduceSum, 1)) }

// unit divides each row by its norm.
func unit(x *Node) *Node {
	n := Max(norms(x), MulScalar(OnesLike(norms(x)), 1e-12))
	return Div(x, BroadcastToDims(n, x.Shape().Dimensions...))
}
