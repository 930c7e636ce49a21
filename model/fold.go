package model

import (
	"math"
	"slices"
)

// Fold returns the same classifier with every batch norm that follows a
// convolution folded into its weights and bias (in float64, rounded once).
// The net and weights that it reads are left as they are.
func (n *Net) Fold(w Weights) (*Net, Weights) {
	uses := make([]int, len(n.Layers))
	for _, l := range n.Layers {
		for _, i := range l.In {
			uses[i]++
		}
	}
	out, ow := &Net{}, Weights{}
	at := make([]int, len(n.Layers)) // where a layer went
	for i, l := range n.Layers {
		l.In = slices.Clone(l.In)
		if l.Op == BatchNorm && n.Layers[l.In[0]].Op == Conv && uses[l.In[0]] == 1 {
			j := at[l.In[0]]
			c := &out.Layers[j]
			foldInto(c, ow, l, w)
			at[i] = j
			continue
		}
		for k := range l.In {
			l.In[k] = at[l.In[k]]
		}
		for _, p := range []string{".weight", ".bias", ".shift", ".scale", ".running_mean", ".running_var"} {
			if a, ok := w[l.Name+p]; ok && l.Op != Relu && l.Op != Add {
				ow[l.Name+p] = a
			}
		}
		out.Layers = append(out.Layers, l)
		at[i] = len(out.Layers) - 1
	}
	return out, ow
}

// foldInto multiplies a convolution's outputs by a batch norm's.
func foldInto(c *Layer, cw Weights, bn Layer, w Weights) {
	scale, shift := batchNormAffine(bn, w)
	weight := cw[c.Name+".weight"]
	folded := Array{Shape: weight.Shape, Data: make([]float32, len(weight.Data))}
	per := len(weight.Data) / c.Channels
	for i, v := range weight.Data {
		folded.Data[i] = float32(float64(v) * scale[i/per])
	}
	bias := Array{Shape: []int{c.Channels}, Data: make([]float32, c.Channels)}
	for k := range bias.Data {
		b := shift[k]
		if c.Bias {
			b += float64(cw[c.Name+".bias"].Data[k]) * scale[k]
		}
		bias.Data[k] = float32(b)
	}
	cw[c.Name+".weight"], cw[c.Name+".bias"] = folded, bias
	c.Bias = true
}

// batchNormAffine writes a batch norm in inference as x*scale + shift.
func batchNormAffine(bn Layer, w Weights) (scale, shift []float64) {
	gamma, beta := w[bn.Name+".weight"].Data, w[bn.Name+".bias"].Data
	mean, variance := w[bn.Name+".running_mean"].Data, w[bn.Name+".running_var"].Data
	scale, shift = make([]float64, len(gamma)), make([]float64, len(gamma))
	for i := range gamma {
		scale[i] = float64(gamma[i]) / math.Sqrt(float64(variance[i])+bn.Eps)
		shift[i] = float64(beta[i]) - float64(mean[i])*scale[i]
	}
	return scale, shift
}
