package draw

import "math"

// Philox4x32-10 (Salmon, Moraes, Dror and Shaw, SC 2011): ten rounds of two
// 32x32-bit products. The key is the seed; the counter is the identity.
const (
	philoxM0 = 0xD2511F53
	philoxM1 = 0xCD9E8D57
	philoxW0 = 0x9E3779B9
	philoxW1 = 0xBB67AE85
)

// Philox returns the four words of one counter under one key.
func Philox(counter [4]uint32, key [2]uint32) [4]uint32 {
	c0, c1, c2, c3 := counter[0], counter[1], counter[2], counter[3]
	k0, k1 := key[0], key[1]
	for range 10 {
		p0 := uint64(philoxM0) * uint64(c0)
		p1 := uint64(philoxM1) * uint64(c2)
		c0, c1, c2, c3 = uint32(p1>>32)^c1^k0, uint32(p1), uint32(p0>>32)^c3^k1, uint32(p0)
		k0 += philoxW0
		k1 += philoxW1
	}
	return [4]uint32{c0, c1, c2, c3}
}

// Key is the generator's key for a seed.
func Key(seed uint64) [2]uint32 { return [2]uint32{uint32(seed), uint32(seed >> 32)} }

// Counter is the generator's counter for a block of four values of one draw:
// values 4*block to 4*block+3 of draw number index.
func Counter(phase Phase, example int, index int64, block int) [4]uint32 {
	return [4]uint32{uint32(block), uint32(index), uint32(example), uint32(phase)}
}

// Noise fills dst with the standard normal values of draw number index
// (counted from 0 in its phase, not from the chunk's First). Every engine
// gives these values up to the rounding of its logarithm, sine and cosine.
//
// Each block of four words makes two Box-Muller pairs: words 0 and 1 give
// values 0 and 1, words 2 and 3 give values 2 and 3.
func Noise(dst []float32, seed uint64, phase Phase, example int, index int64) {
	key := Key(seed)
	for i := 0; i < len(dst); i += 4 {
		w := Philox(Counter(phase, example, index, i/4), key)
		var z [4]float32
		z[0], z[1] = BoxMuller(w[0], w[1])
		z[2], z[3] = BoxMuller(w[2], w[3])
		copy(dst[i:], z[:])
	}
}

// BoxMuller turns two words into two independent standard normal values.
// u = (a + 1/2) / 2^32 lies in (0, 1), so the logarithm is finite and the tail
// reaches 6.7; the angle keeps the 24 bits that a float32 can hold.
func BoxMuller(a, b uint32) (float32, float32) {
	u := (float64(a) + 0.5) / (1 << 32)
	r := math.Sqrt(-2 * math.Log(u))
	sin, cos := math.Sincos(2 * math.Pi * float64(b>>8) / (1 << 24))
	return float32(r * cos), float32(r * sin)
}
