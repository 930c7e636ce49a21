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
// example, phase), two Box-Muller pairs a block. Values are within 1e-6 of
// package draw's float64 ones, and the same bit for bit at every level: the
// logarithm, sine and cosine are polynomials of plain float32 products and sums
// in a fixed order.
func Noise(dst []float32, seed uint64, phase, example, index uint32) {
	noiseAt(best, dst, seed, phase, example, index)
}

// AddNoise is dst = image + sigma*z, with z the draw's Noise; the product is
// rounded before the sum.
func AddNoise(dst, image []float32, sigma float32, seed uint64, phase, example, index uint32) {
	image = image[:len(dst)]
	Noise(dst, seed, phase, example, index)
	MulScalar(dst, dst, sigma)
	Add(dst, image, dst)
}

func noiseAt(l Level, dst []float32, seed uint64, phase, example, index uint32) {
	done := noiseGroups(l, dst, seed, phase, example, index)
	for i := done; i < len(dst); i += 4 {
		w0, w1, w2, w3 := philox(uint32(i/4), index, example, phase, uint32(seed), uint32(seed>>32))
		var z [4]float32
		z[0], z[1] = boxMuller(w0, w1)
		z[2], z[3] = boxMuller(w2, w3)
		copy(dst[i:], z[:])
	}
}

// Coefficients of the noise, as in internal/asm.
var (
	noiseLog = [...]float32{0.333333313, -0.249999896, 0.200007126, -0.166684926, 0.142497614, -0.124106489, 0.116630226, -0.115748286, 0.071498476}
	noiseSin = [...]float32{-0.0807455108, 0.00249039428, -3.6574118e-05, 3.09920438e-07}
	noiseCos = [...]float32{-0.308425128, 0.0158543382, -0.000325961999, 3.54230201e-06}
)

// poly rounds every product: a compiler may not fuse across a conversion.
func poly(x float32, c []float32) float32 {
	y := c[len(c)-1]
	for i := len(c) - 2; i >= 0; i-- {
		y = float32(y*x) + c[i]
	}
	return y
}

// boxMuller turns two words into two standard normal values, step by step as
// the assembly does.
func boxMuller(a, b uint32) (float32, float32) {
	const sqrtHalf = 0x3f3504f3
	b >>= 8
	quarters := (b + 1<<21) >> 22
	z := float32(int32(b-quarters<<22)) * (1.0 / (1 << 21))
	z2 := z * z
	sin := float32(float32(poly(z2, noiseSin[:])*z2)*z) + float32(z*0.785398185)
	cos := float32(poly(z2, noiseCos[:])*z2) + 1
	if quarters&1 != 0 {
		sin, cos = cos, sin
	}
	if quarters&2 != 0 {
		sin = -sin
	}
	if (quarters+1)&2 != 0 {
		cos = -cos
	}
	// u = (a + 1/2) / 2^32 = 2^exp * (1 + f); near 1 the difference u-1 comes
	// from the complement of a, without loss.
	bits := int32(math.Float32bits(float32(a)+0.5)) - sqrtHalf
	exp := float32(bits>>23) - 32
	f := math.Float32frombits(uint32(bits&0x007fffff+sqrtHalf)) - 1
	if exp == 0 {
		f = (float32(^a) + 0.5) * (-1.0 / (1 << 32))
	}
	y := float32(poly(f, noiseLog[:])*f) - 0.5
	y = float32(y*float32(f*f)) + float32(exp*-0.000212194442)
	y += f
	y += float32(exp * 0.693359375)
	r := float32(math.Sqrt(float64(y * -2)))
	return r * cos, r * sin
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
