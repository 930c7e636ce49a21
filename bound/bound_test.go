package bound

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

// The golden file was computed with scipy.
func TestGoldenBounds(t *testing.T) {
	raw, err := os.ReadFile("testdata/bounds.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct {
		K, N                int64
		Alpha, Lower, Upper float64
	}
	if err := json.Unmarshal(raw, &rows); err != nil {
		t.Fatal(err)
	}
	if len(rows) != 160 {
		t.Fatalf("%d golden rows, want 160", len(rows))
	}
	for _, r := range rows {
		lo, hi := Lower(r.K, r.N, r.Alpha), Upper(r.K, r.N, r.Alpha)
		if math.Abs(lo-r.Lower) > 1e-9*r.Lower || lo > r.Lower+1e-12 {
			t.Errorf("Lower(%d, %d, %v) = %v, want %v", r.K, r.N, r.Alpha, lo, r.Lower)
		}
		if math.Abs(hi-r.Upper) > 1e-9*r.Upper || hi < r.Upper-1e-12 {
			t.Errorf("Upper(%d, %d, %v) = %v, want %v", r.K, r.N, r.Alpha, hi, r.Upper)
		}
	}
}

func BenchmarkBound(b *testing.B) {
	for _, c := range []struct {
		name  string
		k, n  int64
		alpha float64
	}{
		{"n=1e5/k=99000", 99000, 100000, 0.001},
		{"n=1e5/k=50000", 50000, 100000, 0.0005},
		{"n=1e5/k=3", 3, 100000, 0.0005},
		{"n=1e5/alpha=.05", 50000, 100000, 0.05},
		{"n=1e9/k=5e8", 500_000_000, 1_000_000_000, 0.001},
		{"n=1e9/alpha=.5", 500_000_000, 1_000_000_000, 0.5},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				Lower(c.k, c.n, c.alpha)
			}
		})
	}
}
