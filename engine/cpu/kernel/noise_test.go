package kernel

import (
	"math"
	"testing"

	"lorica/draw"
)

// The engine's noise is the noise that package draw defines.
func TestNoiseIsDraws(t *testing.T) {
	for _, n := range []int{1, 3, 4, 63, 64, 65, 3072} {
		got, want := make([]float32, n), make([]float32, n)
		for index := range int64(7) {
			Noise(got, 0x123456789abcdef, uint32(draw.Estimate), 77, uint32(index))
			draw.Noise(want, 0x123456789abcdef, draw.Estimate, 77, index)
			for i := range got {
				if d := math.Abs(float64(got[i] - want[i])); !(d <= 1e-6) {
					t.Fatalf("n=%d index=%d: value %d is %v, draw says %v", n, index, i, got[i], want[i])
				}
			}
		}
	}
}
