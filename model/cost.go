package model

// Cost is the work of one image in inference, counted from the layers.
type Cost struct {
	// FLOPs counts a multiplication and an addition as two, in convolutions and
	// products only.
	FLOPs float64 `json:"flops"`
	// Values is the number of activations that must move to or from memory when
	// every convolution, product or pool reads its operands and writes its
	// result once, with all elementwise work fused into it.
	Values float64 `json:"values"`
}

// Cost counts the folded net. It is the zero Cost for a model that is no net.
func (m *Model) Cost() Cost {
	if m.Net == nil {
		return Cost{}
	}
	net, _ := m.Net.Fold(m.Weights)
	var c Cost
	for _, l := range net.Layers[1:] {
		x := net.Layers[l.In[0]].Out
		switch l.Op {
		case Conv:
			c.FLOPs += 2 * float64(l.Out.Size()) * float64(x.C/l.Groups*l.Kernel[0]*l.Kernel[1])
		case Dense:
			c.FLOPs += 2 * float64(l.Out.C) * float64(x.C)
		case Add: // fused into its first operand, reads the second
			c.Values += float64(x.Size())
			continue
		case Affine, BatchNorm, Relu, Flatten: // fused
			continue
		}
		c.Values += float64(x.Size() + l.Out.Size())
	}
	return c
}
