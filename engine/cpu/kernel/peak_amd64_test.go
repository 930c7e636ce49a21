package kernel

import (
	"testing"
	"unsafe"

	"lorica/engine/cpu/kernel/internal/peak"
)

func benchTile(b *testing.B, f func(*tileArgs), p, v, ntaps, n int) {
	in := make([]float32, 1<<16)
	w := make([]float32, ntaps*n*v*unit)
	out := make([]float32, 64*64)
	taps := make([]tap, ntaps)
	for i := range taps {
		taps[i] = tap{i * 64, n}
	}
	a := &tileArgs{in: unsafe.Pointer(&in[0]), taps: &taps[0], ntaps: ntaps, w: unsafe.Pointer(&w[0]), out: unsafe.Pointer(&out[0]), stride: v * 64, mask: 1<<32 - 1}
	rate(b, float64(2*ntaps*n*p*v*unit), "GFLOP/s", func() { f(a) })
}

func BenchmarkTile(b *testing.B) {
	b.Run("peak512", func(b *testing.B) { rate(b, 1000*12*32, "GFLOP/s", func() { peak.FMA512(1000) }) })
	b.Run("peak256", func(b *testing.B) { rate(b, 1000*12*16, "GFLOP/s", func() { peak.FMA256(1000) }) })
	b.Run("2x14/L1", func(b *testing.B) { benchTile(b, tilePoint512_2x14, 14, 2, 9, 16) })
	b.Run("2x8/L1", func(b *testing.B) { benchTile(b, tilePoint512_2x8, 8, 2, 9, 16) })
	b.Run("1x16/L1", func(b *testing.B) { benchTile(b, tilePoint512_1x16, 16, 1, 9, 16) })
	b.Run("1x8/L1", func(b *testing.B) { benchTile(b, tilePoint512_1x8, 8, 1, 9, 16) })
	b.Run("2x14/L2", func(b *testing.B) { benchTile(b, tilePoint512_2x14, 14, 2, 36, 16) })
	b.Run("2x8/L2", func(b *testing.B) { benchTile(b, tilePoint512_2x8, 8, 2, 36, 16) })
	b.Run("1x16/36KB", func(b *testing.B) { benchTile(b, tilePoint512_1x16, 16, 1, 36, 16) })
	b.Run("2x14/long", func(b *testing.B) { benchTile(b, tilePoint512_2x14, 14, 2, 1, 256) })
	b.Run("2x12/long", func(b *testing.B) { benchTile(b, tilePoint512_2x12, 12, 2, 1, 256) })
	b.Run("field2x8", func(b *testing.B) { benchTile(b, tileField512_2x8, 8, 2, 1, 256) })
	b.Run("field1x16", func(b *testing.B) { benchTile(b, tileField512_1x16, 16, 1, 1, 256) })
}
