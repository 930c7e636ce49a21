package kernel

import "math"

// The functions of this file are accurate to 2 ulp of float32 over the whole
// range, subnormal results aside (those may be flushed to zero), and follow
// package math for zeros, infinities and NaN.

func each(dst, x []float32, f func(float64) float64) {
	x = x[:len(dst)]
	for i := range dst {
		dst[i] = float32(f(float64(x[i])))
	}
}

// Sqrt is dst = sqrt(x), correctly rounded.
func Sqrt(dst, x []float32) { each(dst, x, math.Sqrt) }

// Rsqrt is dst = 1 / sqrt(x).
func Rsqrt(dst, x []float32) { each(dst, x, func(v float64) float64 { return 1 / math.Sqrt(v) }) }

// Exp is dst = e^x.
func Exp(dst, x []float32) { each(dst, x, math.Exp) }

// Expm1 is dst = e^x - 1.
func Expm1(dst, x []float32) { each(dst, x, math.Expm1) }

// Log is dst = ln x.
func Log(dst, x []float32) { each(dst, x, math.Log) }

// Log1p is dst = ln(1+x).
func Log1p(dst, x []float32) { each(dst, x, math.Log1p) }

// Tanh is dst = tanh x.
func Tanh(dst, x []float32) { each(dst, x, math.Tanh) }

// Logistic is dst = 1 / (1 + e^-x).
func Logistic(dst, x []float32) {
	each(dst, x, func(v float64) float64 { return 1 / (1 + math.Exp(-v)) })
}

// Erf is the error function.
func Erf(dst, x []float32) { each(dst, x, math.Erf) }

// Sin is dst = sin x.
func Sin(dst, x []float32) { each(dst, x, math.Sin) }

// Cos is dst = cos x.
func Cos(dst, x []float32) { each(dst, x, math.Cos) }
