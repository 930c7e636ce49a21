package train

import (
	"math"

	. "github.com/gomlx/gomlx/pkg/core/graph"
)

// smoothed is the estimate of G(x) = E[softmax(beta f(x+delta))] from m draws:
// logits [B, m, K] to probabilities [B, K].
func smoothed(logits *Node, beta float64) *Node {
	return ReduceMean(Softmax(MulScalar(logits, beta), -1), 1)
}

// logSmoothed is log G_y(x), [B], from m draws: the logarithm of the mean
// softmax, taken so that no probability underflows.
func logSmoothed(logits, onehot *Node) *Node {
	log := labelled(LogSoftmax(logits, -1), onehot) // [B, m]
	m := log.Shape().Dim(1)
	if m == 1 {
		return Reshape(log, log.Shape().Dim(0))
	}
	top := StopGradient(ReduceAndKeep(log, ReduceMax, 1))
	sum := ReduceSum(Exp(Sub(log, top)), 1)
	return AddScalar(Add(Log(sum), Reshape(top, log.Shape().Dim(0))), -math.Log(float64(m)))
}

// labelled picks each example's label: values [B, m, K] to [B, m].
func labelled(values, onehot *Node) *Node {
	dims := values.Shape().Dimensions
	return ReduceSum(Mul(values, BroadcastToDims(Reshape(onehot, dims[0], 1, dims[2]), dims...)), 2)
}

// classification is the loss of each example, [B]: the mean over the draws of
// CE(f(x+delta), y), or the NLL of the mean softmax.
func classification(nll string, logits, onehot *Node) *Node {
	if nll == "mean-softmax" {
		return Neg(logSmoothed(logits, onehot))
	}
	return Neg(ReduceMean(labelled(LogSoftmax(logits, -1), onehot), 1))
}

// margins gives m_j = Phi^-1(p_y) - Phi^-1(p_j) for every class j, [B, K], and
// where it can be known. The radius of a pair is sigma/2 times its margin.
func margins(p, onehot *Node) (m, ok *Node) {
	dims := p.Shape().Dimensions
	inside, fine := safe(p)
	q := quantile(inside)
	spread := func(v *Node) *Node { return BroadcastToDims(Reshape(v, dims[0], 1), dims...) }
	own := spread(ReduceSum(Mul(q, onehot), 1))
	label := GreaterThan(onehot, ScalarZero(p.Graph(), p.DType()))
	ownFine := spread(ReduceLogicalOr(LogicalAnd(fine, label), 1))
	return Sub(own, q), LogicalAnd(LogicalAnd(fine, ownFine), LogicalNot(label))
}

// runnerUp is the margin to the likeliest class other than the label, [B], and
// where it can be known: r = sigma/2 times it is the standard radius.
func runnerUp(p, onehot *Node) (m, ok *Node) {
	own := ReduceSum(Mul(p, onehot), 1)
	other := ReduceMax(Mul(p, OneMinus(onehot)), 1)
	ownIn, ownFine := safe(own)
	otherIn, otherFine := safe(other)
	return Sub(quantile(ownIn), quantile(otherIn)), LogicalAnd(ownFine, otherFine)
}

// hinge is L_M(v; low, gamma) = max(gamma - v, 0) 1[low <= v <= gamma] where ok,
// else 0.
func hinge(v, ok *Node, low, gamma float64) *Node {
	g := v.Graph()
	in := LogicalAnd(ok, LogicalAnd(
		GreaterOrEqual(v, Scalar(g, v.DType(), low)),
		LessOrEqual(v, Scalar(g, v.DType(), gamma))))
	return Where(in, AddScalar(Neg(v), gamma), ZerosLike(v))
}
