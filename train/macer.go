package train

import (
	. "github.com/gomlx/gomlx/pkg/core/graph"
)

// macer is the objective of MACER (Zhai et al. 2020):
//
//	E_D [ -log G_y(x) + lambda sigma/2 (gamma - m) 1[0 <= m <= gamma] ]
//
// with the margin m = Phi^-1(p_y) - Phi^-1(max_{k != y} p_k) of the sharpened
// p = E_delta softmax(beta f(x+delta)); sigma/2 m is the soft radius, and m >= 0
// says that the example is classified right.
func (b *batch) macer() losses {
	z := b.logits(b.images, true)
	loss := classification(b.NLL, z, b.onehot)
	m, ok := runnerUp(smoothed(z, b.Beta), b.onehot)
	radius := MulScalar(hinge(m, ok, 0, b.Gamma), b.Sigma/2)
	sensitive, normal := b.split(radius)
	total := Add(ReduceAllMean(loss), MulScalar(Add(sensitive, normal), b.Lambda))
	return losses{total: total, classification: ReduceAllMean(loss), sensitive: sensitive, normal: normal, clean: z}
}
