package train

import (
	. "github.com/gomlx/gomlx/pkg/core/graph"
)

// batch is what an objective sees of a step: B images with m noise draws each,
// all in one graph.
type batch struct {
	Config
	images    *Node // x, augmented, [B, size], in [0,1]
	noise     *Node // sigma times standard normal, [B*m, size]
	onehot    *Node // labels, [B, K]
	sensitive *Node // 1 where any mistake on the label costs, else 0, [B]
	costs     *Node // C[y][j], [B, K]
	push      *Node // the adversary's move away from x, [B, size]; nil without one
	mix       *Node // SmoothMix's t in [0, 1/2), [B]
	ramp      *Node // share of the attack's size, scalar

	// net gives the logits of noisy images [B*m, size] as [B*m, K]: in training,
	// with the batch's statistics, or as the classifier answers now.
	net func(x *Node, training bool) *Node
}

// logits are f(x+delta) for the m draws of every image, [B, m, K].
func (b *batch) logits(x *Node, training bool) *Node {
	n, m, size := x.Shape().Dim(0), b.Draws, x.Shape().Dim(1)
	if m > 1 {
		x = Reshape(BroadcastToDims(Reshape(x, n, 1, size), n, m, size), n*m, size)
	}
	z := b.net(Add(x, b.noise), training)
	return Reshape(z, n, m, z.Shape().Dim(1))
}

// weights are 1 for normal and lambda for sensitive examples, [B].
func (b *batch) weights(lambda float64) *Node {
	return AddScalar(MulScalar(b.sensitive, lambda-1), 1)
}

// losses are an objective's value and its parts before their weights, scalars;
// clean holds logits to count right answers by, [B, m, K].
type losses struct {
	total, classification, sensitive, normal *Node
	clean                                    *Node
}

// objective builds the method's loss.
func (b *batch) objective() losses {
	switch b.Method {
	case SmoothAdv, SmoothAdvCS:
		return b.smoothAdv()
	case SmoothMix, SmoothMixCS:
		return b.smoothMix()
	case MACER:
		return b.macer()
	case MarginCS:
		return b.marginCS()
	}
	return b.gaussian()
}

// split gives the mean over the batch of a loss of each example, and the parts
// of it that sensitive and normal examples make up.
func (b *batch) split(loss *Node) (sensitive, normal *Node) {
	return ReduceAllMean(Mul(loss, b.sensitive)), ReduceAllMean(Mul(loss, OneMinus(b.sensitive)))
}
