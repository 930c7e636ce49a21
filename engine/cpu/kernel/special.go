package kernel

import "math"

// The functions of this file are accurate to 2.5 ulp of float32 over the whole
// range, subnormal results aside (those may be flushed to zero), and follow
// package math for zeros, infinities and NaN.

func each(dst, x []float32, f func(float64) float64) {
	x = x[:len(dst)]
	for i := range dst {
		dst[i] = float32(f(float64(x[i])))
	}
}

func sqrtGo(dst, x []float32) { each(dst, x, math.Sqrt) }

func rsqrtGo(dst, x []float32) { each(dst, x, func(v float64) float64 { return 1 / math.Sqrt(v) }) }

func expGo(dst, x []float32) { each(dst, x, math.Exp) }

func expm1Go(dst, x []float32) { each(dst, x, math.Expm1) }

func logGo(dst, x []float32) { each(dst, x, math.Log) }

func log1pGo(dst, x []float32) { each(dst, x, math.Log1p) }

func tanhGo(dst, x []float32) { each(dst, x, math.Tanh) }

func logisticGo(dst, x []float32) {
	each(dst, x, func(v float64) float64 { return 1 / (1 + math.Exp(-v)) })
}

func erfGo(dst, x []float32) { each(dst, x, math.Erf) }

// Sin is dst = sin x.
func Sin(dst, x []float32) { each(dst, x, math.Sin) }

// Cos is dst = cos x.
func Cos(dst, x []float32) { each(dst, x, math.Cos) }

func signGo(dst, x []float32) {
	for i, v := range x[:len(dst)] {
		switch {
		case v > 0:
			v = 1
		case v < 0:
			v = -1
		}
		dst[i] = v
	}
}

func floorGo(dst, x []float32) { each(dst, x, math.Floor) }

func ceilGo(dst, x []float32) { each(dst, x, math.Ceil) }

func roundGo(dst, x []float32) { each(dst, x, math.RoundToEven) }
