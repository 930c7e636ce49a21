package kernel

import "math"

// Philox4x32-10: ten rounds of two 32x32-bit products.
const (
	philoxM0 = 0xD2511F53
	philoxM1 = 0xCD9E8D57
	philoxW0 = 0x9E3779B9
	philoxW1 = 0xBB67AE85
)

func philox(c0, c1, c2, c3, k0, k1 uint32) (uint32, uint32, uint32, uint32) {
	for range 10 {
		p0 := uint64(philoxM0) * uint64(c0)
		p1 := uint64(philoxM1) * uint64(c2)
		c0, c1, c2, c3 = uint32(p1>>32)^c1^k0, uint32(p1), uint32(p0>>32)^c3^k1, uint32(p0)
		k0 += philoxW0
		k1 += philoxW1
	}
	return c0, c1, c2, c3
}

// Noise fills dst with the standard normal values of one draw, as package draw
// defines them: Philox4x32-10 keyed by the seed, the counter (block, index,
// example, phase), two Box-Muller pairs a block.
func Noise(dst []float32, seed uint64, phase, example, index uint32) {
	for i := 0; i < len(dst); i += 4 {
		w0, w1, w2, w3 := philox(uint32(i/4), index, example, phase, uint32(seed), uint32(seed>>32))
		var z [4]float32
		z[0], z[1] = boxMuller(w0, w1)
		z[2], z[3] = boxMuller(w2, w3)
		copy(dst[i:], z[:])
	}
}

// AddNoise is dst = image + sigma*z, with z the draw's Noise.
func AddNoise(dst, image []float32, sigma float32, seed uint64, phase, example, index uint32) {
	image = image[:len(dst)]
	Noise(dst, seed, phase, example, index)
	for i := range dst {
		dst[i] = image[i] + sigma*dst[i]
	}
}

func boxMuller(a, b uint32) (float32, float32) {
	u := (float64(a) + 0.5) / (1 << 32)
	r := math.Sqrt(-2 * math.Log(u))
	sin, cos := math.Sincos(2 * math.Pi * float64(b>>8) / (1 << 24))
	return float32(r * cos), float32(r * sin)
}

// RandomBits fills dst with the words of XLA's Philox RngBitGenerator and
// returns the state that follows. The state is a 64-bit key and a 128-bit
// counter (low word first); each block of four words uses one counter value,
// and the last block may be used in part.
func RandomBits(dst []uint32, state [3]uint64) [3]uint64 {
	k0, k1 := uint32(state[0]), uint32(state[0]>>32)
	lo, hi := state[1], state[2]
	for i := 0; i < len(dst); i += 4 {
		w0, w1, w2, w3 := philox(uint32(lo), uint32(lo>>32), uint32(hi), uint32(hi>>32), k0, k1)
		copy(dst[i:], []uint32{w0, w1, w2, w3})
		if lo++; lo == 0 {
			hi++
		}
	}
	return [3]uint64{state[0], lo, hi}
}
