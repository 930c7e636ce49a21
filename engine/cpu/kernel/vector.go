package kernel

import "math"

// The functions of this file work on contiguous slices. The result goes to
// dst, which may be one of the operands (the very same slice) but may not
// overlap one otherwise. All operands have at least len(dst) elements.
//
// NaN: Max and Min return NaN where an operand is NaN; comparisons with NaN
// are false except NotEqual. Relu(NaN) is NaN.

// Add is dst = a + b.
func Add(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] + b[i]
	}
}

// Sub is dst = a - b.
func Sub(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] - b[i]
	}
}

// Mul is dst = a * b.
func Mul(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] * b[i]
	}
}

// Div is dst = a / b.
func Div(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] / b[i]
	}
}

// Max is dst = max(a, b).
func Max(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = max(a[i], b[i])
	}
}

// Min is dst = min(a, b).
func Min(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = min(a[i], b[i])
	}
}

// AddScalar is dst = a + s.
func AddScalar(dst, a []float32, s float32) {
	a = a[:len(dst)]
	for i := range dst {
		dst[i] = a[i] + s
	}
}

// SubScalar is dst = a - s.
func SubScalar(dst, a []float32, s float32) {
	a = a[:len(dst)]
	for i := range dst {
		dst[i] = a[i] - s
	}
}

// ScalarSub is dst = s - a.
func ScalarSub(dst, a []float32, s float32) {
	a = a[:len(dst)]
	for i := range dst {
		dst[i] = s - a[i]
	}
}

// MulScalar is dst = a * s.
func MulScalar(dst, a []float32, s float32) {
	a = a[:len(dst)]
	for i := range dst {
		dst[i] = a[i] * s
	}
}

// DivScalar is dst = a / s.
func DivScalar(dst, a []float32, s float32) {
	a = a[:len(dst)]
	for i := range dst {
		dst[i] = a[i] / s
	}
}

// ScalarDiv is dst = s / a.
func ScalarDiv(dst, a []float32, s float32) {
	a = a[:len(dst)]
	for i := range dst {
		dst[i] = s / a[i]
	}
}

// MaxScalar is dst = max(a, s).
func MaxScalar(dst, a []float32, s float32) {
	a = a[:len(dst)]
	for i := range dst {
		dst[i] = max(a[i], s)
	}
}

// MinScalar is dst = min(a, s).
func MinScalar(dst, a []float32, s float32) {
	a = a[:len(dst)]
	for i := range dst {
		dst[i] = min(a[i], s)
	}
}

// MulAdd is dst = a*b + c, rounded once or twice.
func MulAdd(dst, a, b, c []float32) {
	a, b, c = a[:len(dst)], b[:len(dst)], c[:len(dst)]
	for i := range dst {
		dst[i] = a[i]*b[i] + c[i]
	}
}

// Axpy is dst += s * x, rounded once or twice.
func Axpy(dst, x []float32, s float32) {
	x = x[:len(dst)]
	for i := range dst {
		dst[i] += s * x[i]
	}
}

// Neg is dst = -x.
func Neg(dst, x []float32) {
	x = x[:len(dst)]
	for i := range dst {
		dst[i] = -x[i]
	}
}

// Abs is dst = |x|.
func Abs(dst, x []float32) {
	x = x[:len(dst)]
	for i := range dst {
		dst[i] = math.Float32frombits(math.Float32bits(x[i]) &^ (1 << 31))
	}
}

// Relu is dst = max(x, 0).
func Relu(dst, x []float32) {
	x = x[:len(dst)]
	for i := range dst {
		dst[i] = max(x[i], 0)
	}
}

// Fill sets every element to s.
func Fill(dst []float32, s float32) {
	for i := range dst {
		dst[i] = s
	}
}
