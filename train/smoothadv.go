package train

import (
	. "github.com/gomlx/gomlx/pkg/core/graph"
)

// smoothAdv is the objective of SmoothAdv (Salman et al. 2019) and SmoothAdv-CS:
//
//	E_{D_n} E_delta CE(f(x~+delta), y) + lambda E_{D_s} E_delta CE(f(x~+delta), y)
//	x~ = arg max_{|x'-x| <= eps} -log E_delta softmax(f(x'+delta))_y
//
// The adversary (attack.go) meets the same noise as the step, and no gradient
// goes through it. lambda = 1 is SmoothAdv.
func (b *batch) smoothAdv() losses {
	z := b.logits(Add(b.images, StopGradient(b.push)), true)
	loss := classification(b.NLL, z, b.onehot)
	total := ReduceAllMean(Mul(loss, b.weights(b.Lambda)))
	zero := ScalarZero(loss.Graph(), loss.DType())
	return losses{total: total, classification: ReduceAllMean(loss), sensitive: zero, normal: zero, clean: z}
}
