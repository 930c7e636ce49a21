// Package peak measures what a processor's multiply-add units can do: the
// yardstick of the kernels' benchmarks.
package peak

// fma512 and fma256 run n rounds of twelve independent multiply-adds.
func fma512(n int)
func fma256(n int)

// FMA512 runs n rounds on AVX-512 registers and returns the operations done.
func FMA512(n int) float64 { fma512(n); return float64(n) * 12 * 16 * 2 }

// FMA256 runs n rounds on AVX registers and returns the operations done.
func FMA256(n int) float64 { fma256(n); return float64(n) * 12 * 8 * 2 }
