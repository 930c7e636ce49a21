package train

import (
	. "github.com/gomlx/gomlx/pkg/core/graph"
)

// marginCS is the objective of Margin-CS, the paper's own:
//
//	E_D E_delta CE(f(x+delta), y)
//	+ lambda1 ( E_{D_n} L_M(r(x); 0, gamma1)
//	            + lambda2 E_{D_s} sum_{j in Omega_y} C_yj L_M(r_pair(x; j); 0, gamma2) )
//
// with L_M(v; l, u) = max(u - v, 0) 1[l <= v <= u] and the soft radii
// r_pair(x; j) = sigma/2 (Phi^-1(p_y) - Phi^-1(p_j)) of the sharpened
// p = E_delta softmax(beta f(x+delta)). A normal example has no Omega: its radius
// is the standard one, to the runner-up. gamma1 and gamma2 bound the margin
// before the factor sigma/2, as in the published configurations: (4, 16).
//
// Each E is a sum over its part of the batch divided by the whole batch. With
// all costs zero every example is normal.
//
// Options, each a habit of the released code or its contrary: NLL takes the
// mean softmax in place of the mean loss; Pair "max" keeps the dearest pair of
// an example in place of the sum; without MaskMisclassified the sensitive
// indicator is |margin| <= gamma2, so that examples that are wrong are pulled
// back too.
func (b *batch) marginCS() losses {
	z := b.logits(b.images, true)
	loss := classification(b.NLL, z, b.onehot)
	p := smoothed(z, b.Beta)

	m, ok := runnerUp(p, b.onehot)
	normal := Mul(hinge(m, ok, 0, b.Gamma1), OneMinus(b.sensitive))

	pairs, okPairs := margins(p, b.onehot)
	low := -b.Gamma2
	if b.MaskMisclassified {
		low = 0
	}
	terms := Mul(b.costs, hinge(pairs, okPairs, low, b.Gamma2))
	var sensitive *Node
	if b.Pair == "sum" {
		sensitive = ReduceSum(terms, 1)
	} else {
		sensitive = ReduceMax(terms, 1)
	}

	s := MulScalar(ReduceAllMean(sensitive), b.Sigma/2)
	n := MulScalar(ReduceAllMean(normal), b.Sigma/2)
	total := Add(ReduceAllMean(loss), MulScalar(Add(n, MulScalar(s, b.Lambda2)), b.Lambda1))
	return losses{total: total, classification: ReduceAllMean(loss), sensitive: s, normal: n, clean: z}
}
