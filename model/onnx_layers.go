package model

import (
	"fmt"
	"slices"
)

// The layers of a net that carry weights or windows, read from ONNX nodes.

// window reads the attributes that convolutions and pools share.
func (r *onnxReader) window(n onnxNode, l *Layer, x Shape) error {
	if d := n.attrs["dilations"].ints; slices.ContainsFunc(d, func(v int64) bool { return v != 1 }) {
		return outside(n, "is dilated")
	}
	if n.attrs["ceil_mode"].i != 0 {
		return outside(n, "rounds its size up")
	}
	if k := n.attrs["kernel_shape"].ints; len(k) == 2 {
		l.Kernel = [2]int{int(k[0]), int(k[1])}
	} else if l.Kernel == [2]int{} || len(k) != 0 {
		return outside(n, "does not have two spatial axes")
	}
	l.Stride = [2]int{1, 1}
	if s := n.attrs["strides"].ints; len(s) == 2 {
		l.Stride = [2]int{int(s[0]), int(s[1])}
	}
	if l.Kernel[0] < 1 || l.Kernel[1] < 1 || l.Stride[0] < 1 || l.Stride[1] < 1 {
		return outside(n, fmt.Sprintf("has window %v, stride %v", l.Kernel, l.Stride))
	}
	switch mode := n.attrs["auto_pad"].s; mode {
	case "", "NOTSET":
		if p := n.attrs["pads"].ints; len(p) == 4 {
			l.Pad = [4]int{int(p[0]), int(p[1]), int(p[2]), int(p[3])}
		}
	case "VALID":
	case "SAME_UPPER", "SAME_LOWER":
		for axis, size := range [2]int{x.H, x.W} {
			k, s := l.Kernel[axis], l.Stride[axis]
			total := max(((size+s-1)/s-1)*s+k-size, 0)
			small, large := total/2, total-total/2
			if mode == "SAME_UPPER" {
				l.Pad[axis], l.Pad[axis+2] = small, large
			} else {
				l.Pad[axis], l.Pad[axis+2] = large, small
			}
		}
	default:
		return outside(n, "pads by "+mode)
	}
	return nil
}

func (r *onnxReader) conv(n onnxNode, x value) (value, error) {
	w, err := r.constant(n, 1)
	if err != nil {
		return value{}, err
	}
	if len(w.Shape) != 4 {
		return value{}, outside(n, "does not have two spatial axes")
	}
	groups := 1
	if a, ok := n.attrs["group"]; ok {
		groups = int(a.i)
	}
	l := Layer{Op: Conv, In: []int{x.layer}, Channels: w.Shape[0], Kernel: [2]int{w.Shape[2], w.Shape[3]}, Groups: groups}
	l.Bias = len(n.inputs) > 2 && n.inputs[2] != ""
	if err := r.window(n, &l, r.net.Layers[x.layer].Out); err != nil {
		return value{}, err
	}
	i, err := r.add(n, l)
	if err != nil {
		return value{}, err
	}
	name := r.net.Layers[i].Name
	r.w[name+".weight"] = w
	if l.Bias {
		b, err := r.constant(n, 2)
		if err != nil {
			return value{}, err
		}
		r.w[name+".bias"] = b
	}
	return value{layer: i}, nil
}

func (r *onnxReader) batchNorm(n onnxNode, x value) (value, error) {
	if n.attrs["training_mode"].i != 0 || len(n.outputs) != 1 {
		return value{}, outside(n, "is in training mode: export the model after model.eval()")
	}
	l := Layer{Op: BatchNorm, In: []int{x.layer}, Eps: 1e-5}
	if a, ok := n.attrs["epsilon"]; ok {
		l.Eps = float64(a.f)
	}
	i, err := r.add(n, l)
	if err != nil {
		return value{}, err
	}
	for k, p := range []string{".weight", ".bias", ".running_mean", ".running_var"} {
		c, err := r.constant(n, k+1)
		if err != nil {
			return value{}, err
		}
		r.w[r.net.Layers[i].Name+p] = c
	}
	return value{layer: i, pooled: x.pooled}, nil
}

func (r *onnxReader) pool(n onnxNode, x value) (value, error) {
	l := Layer{Op: MaxPool, In: []int{x.layer}}
	if n.op == "AveragePool" {
		l.Op = AvgPool
	}
	if err := r.window(n, &l, r.net.Layers[x.layer].Out); err != nil {
		return value{}, err
	}
	if l.Op == AvgPool && l.Pad != [4]int{} && n.attrs["count_include_pad"].i == 0 {
		return value{}, outside(n, "leaves the padding out of its mean")
	}
	i, err := r.add(n, l)
	return value{layer: i}, err
}

func (r *onnxReader) reduceMean(n onnxNode, x value) (value, error) {
	axes := n.attrs["axes"].ints
	if len(n.inputs) > 1 {
		t, ok := r.g.tensors[n.inputs[1]]
		if !ok {
			return value{}, outside(n, "computes its axes")
		}
		var err error
		if axes, err = t.integers(); err != nil {
			return value{}, err
		}
	}
	axes = slices.Clone(axes)
	for i := range axes {
		if axes[i] < 0 {
			axes[i] += 4
		}
	}
	slices.Sort(axes)
	if !slices.Equal(axes, []int64{2, 3}) {
		return value{}, outside(n, "is not over height and width")
	}
	keep, ok := n.attrs["keepdims"]
	i, err := r.add(n, Layer{Op: Mean, In: []int{x.layer}})
	return value{layer: i, pooled: !ok || keep.i != 0}, err
}

func (r *onnxReader) dense(n onnxNode, x value) (value, error) {
	w, err := r.constant(n, 1)
	if err != nil {
		return value{}, err
	}
	if len(w.Shape) != 2 || x.pooled {
		return value{}, outside(n, "is not a product of a vector and a matrix")
	}
	for name, want := range map[string]float32{"alpha": 1, "beta": 1} {
		if a, ok := n.attrs[name]; ok && a.f != want {
			return value{}, outside(n, "scales its operands")
		}
	}
	if n.attrs["transA"].i != 0 {
		return value{}, outside(n, "transposes the vector")
	}
	if n.op == "MatMul" || n.attrs["transB"].i == 0 {
		w = transposed(w)
	}
	l := Layer{Op: Dense, In: []int{x.layer}, Channels: w.Shape[0]}
	l.Bias = n.op == "Gemm" && len(n.inputs) > 2 && n.inputs[2] != ""
	i, err := r.add(n, l)
	if err != nil {
		return value{}, err
	}
	name := r.net.Layers[i].Name
	r.w[name+".weight"] = w
	if l.Bias {
		b, err := r.constant(n, 2)
		if err != nil {
			return value{}, err
		}
		if len(b.Data) != l.Channels {
			return value{}, outside(n, fmt.Sprintf("has a bias of shape %v", b.Shape))
		}
		r.w[name+".bias"] = Array{Shape: []int{l.Channels}, Data: b.Data}
	}
	return value{layer: i}, nil
}

func transposed(a Array) Array {
	rows, cols := a.Shape[0], a.Shape[1]
	out := Array{Shape: []int{cols, rows}, Data: make([]float32, len(a.Data))}
	for i := range rows {
		for j := range cols {
			out.Data[j*rows+i] = a.Data[i*cols+j]
		}
	}
	return out
}
