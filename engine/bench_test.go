package engine

import (
	"context"
	"testing"

	"lorica/draw"
	"lorica/model"
)

// BenchmarkSampler is the whole way of a draw on the CPU: noise, ResNet-20,
// arg max, counts.
func BenchmarkSampler(b *testing.B) {
	e, err := Open("cpu", Config{})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	m, err := model.Builtin("gaussian")
	if err != nil {
		b.Fatal(err)
	}
	for _, layout := range []string{"nchw", "nhwc"} {
		for _, batch := range []int{16, 32, 64, 128} {
			b.Run(layout+" "+string(rune('0'+batch/16)), func(b *testing.B) {
				s, err := NewSampler(e, m, SamplerConfig{Sigma: 0.5, Precision: Float32, Batch: batch, Layout: layout})
				if err != nil {
					b.Fatal(err)
				}
				defer s.Close()
				job := draw.Job{Image: make([]float32, m.Image.Size()), Chunk: draw.Chunk{Seed: 1, Count: 4 * batch}}
				b.ResetTimer()
				for b.Loop() {
					if _, err := s.Sample(context.Background(), []draw.Job{job}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N)*float64(4*batch)/b.Elapsed().Seconds(), "samples/s")
			})
		}
	}
}
