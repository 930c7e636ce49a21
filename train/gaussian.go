package train

import (
	. "github.com/gomlx/gomlx/pkg/core/graph"
)

// gaussian is the objective of Gaussian (Cohen et al. 2019) and Gaussian-CS:
//
//	E_{D_n} E_delta CE(f(x+delta), y) + lambda E_{D_s} E_delta CE(f(x+delta), y)
//
// with D_n the normal and D_s the sensitive examples, each expectation a sum
// over its part of the batch divided by the whole batch, so that lambda = 1 is
// Gaussian.
func (b *batch) gaussian() losses {
	z := b.logits(b.images, true)
	loss := classification(b.NLL, z, b.onehot)
	total := ReduceAllMean(Mul(loss, b.weights(b.Lambda)))
	zero := ScalarZero(loss.Graph(), loss.DType())
	return losses{total: total, classification: ReduceAllMean(loss), sensitive: zero, normal: zero, clean: z}
}
