package train

import (
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
)

// smoothMix is the objective of SmoothMix (Jeong et al. 2021) and SmoothMix-CS:
//
//	E_{D_n} E_delta CE(f(x+delta), y) + lambda E_{D_s} E_delta CE(f(x+delta), y)
//	+ eta E_D E_delta CE(f(x_mix+delta), y_mix) 1[G(x) answers y]
//	x_mix = (1-t) x + t x~',   y_mix = (1-t) G(x) + t 1/K,   t ~ U[0, 1/2]
//
// x~' is the unrestricted adversary (attack.go). G(x) is the mean softmax of the
// step's own draws; it, x_mix and y_mix are targets: no gradient goes through
// them. eta grows with the attack's warm-up. lambda = 1 is SmoothMix.
func (b *batch) smoothMix() losses {
	z := b.logits(b.images, true)
	loss := classification(b.NLL, z, b.onehot)
	first := ReduceAllMean(Mul(loss, b.weights(b.Lambda)))

	mean := StopGradient(smoothed(z, 1))
	n, k := mean.Shape().Dim(0), mean.Shape().Dim(1)
	right := StopGradient(answers(mean, b.onehot))
	column := func(v *Node, width int) *Node { return BroadcastToDims(Reshape(v, n, 1), n, width) }
	t := column(b.mix, k)
	target := Add(Mul(OneMinus(t), mean), MulScalar(t, 1/float64(k)))
	moved := Add(b.images, Mul(column(b.mix, b.images.Shape().Dim(1)), StopGradient(b.push)))

	log := LogSoftmax(b.logits(moved, true), -1)
	dims := log.Shape().Dimensions
	cross := Neg(ReduceMean(ReduceSum(Mul(log, BroadcastToDims(Reshape(target, n, 1, k), dims...)), 2), 1))
	mixed := Mul(cross, right)
	sensitive, normal := b.split(mixed)
	total := Add(first, Mul(MulScalar(b.ramp, b.Eta), Add(sensitive, normal)))
	return losses{total: total, classification: ReduceAllMean(loss), sensitive: sensitive, normal: normal, clean: z}
}

// answers is 1 where no class beats the label's value, else 0: [B, K] to [B].
func answers(p, onehot *Node) *Node {
	own := ReduceSum(Mul(p, onehot), 1)
	return ConvertDType(GreaterOrEqual(own, ReduceMax(p, 1)), dtypes.Float32)
}
