package draw

import (
	"math"
	"slices"
	"testing"
)

// The known answers that the authors of Philox publish for four 32-bit words
// and ten rounds: all zeros, all ones, and digits of pi.
func TestPhiloxKnownAnswers(t *testing.T) {
	ones := uint32(math.MaxUint32)
	tests := []struct {
		counter [4]uint32
		key     [2]uint32
		want    [4]uint32
	}{
		{[4]uint32{}, [2]uint32{}, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{[4]uint32{ones, ones, ones, ones}, [2]uint32{ones, ones}, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, [2]uint32{0xa4093822, 0x299f31d0}, [4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	}
	for _, test := range tests {
		if got := Philox(test.counter, test.key); got != test.want {
			t.Errorf("Philox(%x, %x) = %x, want %x", test.counter, test.key, got, test.want)
		}
	}
}

// A draw's noise is its own: the same alone or after others, and different
// when any part of its identity is.
func TestNoiseDependsOnIdentityAlone(t *testing.T) {
	noise := func(seed uint64, phase Phase, example int, index int64) []float32 {
		z := make([]float32, 10)
		Noise(z, seed, phase, example, index)
		return z
	}
	base := noise(1, Select, 2, 3)
	if !slices.Equal(base, noise(1, Select, 2, 3)) {
		t.Fatal("the same identity gave different noise")
	}
	for name, other := range map[string][]float32{
		"seed": noise(2, Select, 2, 3), "high seed": noise(1|1<<32, Select, 2, 3), "phase": noise(1, Estimate, 2, 3),
		"example": noise(1, Select, 3, 3), "index": noise(1, Select, 2, 4),
	} {
		for i := range base {
			if base[i] == other[i] {
				t.Errorf("another %s gave the same value %d", name, i)
			}
		}
	}
	short := make([]float32, 7) // not a multiple of the block
	Noise(short, 1, Select, 2, 3)
	if !slices.Equal(short, base[:7]) {
		t.Error("a shorter draw is not a prefix of a longer one")
	}
}

// The values are standard normal: mean, variance, kurtosis and the share beyond
// 1, 2, 3 and 4 deviations within five standard errors of the truth, and
// neighbours are uncorrelated.
func TestNoiseIsStandardNormal(t *testing.T) {
	const n = 1 << 20
	z := make([]float32, 0, n)
	buf := make([]float32, 1024)
	for i := range int64(n / len(buf)) {
		Noise(buf, 7, Estimate, 11, i)
		z = append(z, buf...)
	}
	var sum, sum2, sum4, lag float64
	beyond := map[float64]float64{1: 0, 2: 0, 3: 0, 4: 0}
	for i, v := range z {
		x := float64(v)
		sum, sum2, sum4 = sum+x, sum2+x*x, sum4+x*x*x*x
		if i > 0 {
			lag += x * float64(z[i-1])
		}
		for k := range beyond {
			if math.Abs(x) > k {
				beyond[k]++
			}
		}
	}
	check := func(name string, got, want, sd float64) {
		if math.Abs(got-want) > 5*sd/math.Sqrt(n) {
			t.Errorf("%s: %.5f, want %.5f", name, got, want)
		}
	}
	check("mean", sum/n, 0, 1)
	check("variance", sum2/n, 1, math.Sqrt2)
	check("fourth moment", sum4/n, 3, math.Sqrt(96))
	check("lag-1 correlation", lag/n, 0, 1)
	for k, c := range beyond {
		p := math.Erfc(k / math.Sqrt2)
		check("tail", c/n, p, math.Sqrt(p*(1-p)))
	}
}

// The ends of the generator's range stay finite, and the tail is there.
func TestBoxMullerAtTheEnds(t *testing.T) {
	ones := uint32(math.MaxUint32)
	for _, a := range []uint32{0, 1, ones - 1, ones} {
		for _, b := range []uint32{0, 1 << 30, 1 << 31, ones} {
			x, y := BoxMuller(a, b)
			r := math.Hypot(float64(x), float64(y))
			if math.IsNaN(r) || r > 6.77 {
				t.Errorf("BoxMuller(%d, %d) = %g, %g", a, b, x, y)
			}
		}
	}
	if x, _ := BoxMuller(0, 0); x < 6.6 {
		t.Errorf("the tail ends at %g", x)
	}
}

func BenchmarkNoise(b *testing.B) {
	z := make([]float32, 3072)
	b.SetBytes(int64(4 * len(z)))
	for i := 0; b.Loop(); i++ {
		Noise(z, 1, Estimate, 0, int64(i))
	}
}
