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

// Every level gives the same bits, whatever the length.
func TestNoiseLevelsAgree(t *testing.T) {
	for _, n := range []int{1, 31, 32, 33, 64, 100, 128, 3072, 5000} {
		want := make([]float32, n)
		for index := range uint32(5) {
			noiseAt(Portable, want, 0xfedcba9876543210, 1, 3, index)
			for _, l := range levels() {
				got := make([]float32, n)
				noiseAt(l, got, 0xfedcba9876543210, 1, 3, index)
				for i := range got {
					if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
						t.Fatalf("%v, n=%d, index %d: value %d is %v, portable says %v", l, n, index, i, got[i], want[i])
					}
				}
			}
		}
	}
}

// The hardest words: the ends of the interval, where the radius is 0 or 6.7,
// and every quarter turn.
func TestBoxMullerEdges(t *testing.T) {
	edges := []uint32{0, 1, 2, 255, 256, 1 << 20, 1<<23 - 1, 1 << 23, 1<<24 + 1, 0x7fffffff, 0x80000000, 0xb504f332, 0xb504f333, 0xb504f334, 0xfffffffe, 0xffffffff}
	for q := range uint32(5) {
		for d := -2; d <= 2; d++ {
			edges = append(edges, (q<<30)+uint32(int32(d*256)), (q<<30)+1<<29+uint32(int32(d*256)))
		}
	}
	for _, a := range edges {
		for _, b := range edges {
			g0, g1 := boxMuller(a, b)
			w0, w1 := draw.BoxMuller(a, b)
			if d := max(math.Abs(float64(g0-w0)), math.Abs(float64(g1-w1))); !(d <= 1e-6) {
				t.Errorf("words %#x, %#x: %v %v, draw says %v %v", a, b, g0, g1, w0, w1)
			}
		}
	}
}

func TestAddNoise(t *testing.T) {
	image, z, got := make([]float32, 100), make([]float32, 100), make([]float32, 100)
	for i := range image {
		image[i] = float32(i) / 100
	}
	AddNoise(got, image, 0.5, 9, 1, 2, 3)
	Noise(z, 9, 1, 2, 3)
	for i := range got {
		if want := image[i] + float32(0.5*z[i]); got[i] != want {
			t.Fatalf("value %d is %v, want %v", i, got[i], want)
		}
	}
}

// The generator's words are package draw's, and a run cut in two goes on where
// it stopped.
func TestRandomBits(t *testing.T) {
	state := [3]uint64{0x1122334455667788, math.MaxUint64 - 1, 7}
	all := make([]uint32, 40)
	end := RandomBits(all, state)
	for i := range 10 {
		lo, hi := state[1]+uint64(i), state[2]
		if lo < state[1] {
			hi++
		}
		want := draw.Philox([4]uint32{uint32(lo), uint32(lo >> 32), uint32(hi), uint32(hi >> 32)}, draw.Key(state[0]))
		if [4]uint32(all[4*i:]) != want {
			t.Fatalf("block %d: %v, want %v", i, all[4*i:4*i+4], want)
		}
	}
	first, second := make([]uint32, 16), make([]uint32, 24)
	if got := RandomBits(second, RandomBits(first, state)); got != end || second[23] != all[39] {
		t.Errorf("two runs end at %v, one at %v", got, end)
	}
}

func BenchmarkNoise(b *testing.B) {
	for _, l := range levels() {
		b.Run(l.String(), func(b *testing.B) {
			dst := make([]float32, 3072)
			i := uint32(0)
			rate(b, 3072, "values/ns", func() { noiseAt(l, dst, 1, 1, 1, i); i++ })
		})
	}
}
