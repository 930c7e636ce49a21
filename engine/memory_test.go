package engine

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/shapes"
)

// smallDevice is the CPU backend with the memory of a small device: programs of
// more rows than it holds fail as XLA's do, when they are compiled or run.
type smallDevice struct {
	backends.Backend
	rows      int
	atCompile bool
}

var errFull = errors.New("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 12345 bytes")

func (d *smallDevice) Builder(name string) backends.Builder {
	return &smallBuilder{Builder: d.Backend.Builder(name), device: d}
}

type smallBuilder struct {
	backends.Builder
	device *smallDevice
	rows   int
}

func (b *smallBuilder) Parameter(name string, s shapes.Shape, spec *backends.ShardingSpec) (backends.Op, error) {
	if name == "x" || name == "slot" { // of a host's program, of a device's
		b.rows = s.Dim(0)
	}
	return b.Builder.Parameter(name, s, spec)
}

func (b *smallBuilder) Compile(outputs []backends.Op, specs []*backends.ShardingSpec) (backends.Executable, error) {
	full := b.rows > b.device.rows
	if full && b.device.atCompile {
		return nil, errFull
	}
	e, err := b.Builder.Compile(outputs, specs)
	if full && err == nil {
		return fullExecutable{e}, nil
	}
	return e, err
}

type fullExecutable struct{ backends.Executable }

func (fullExecutable) Execute([]backends.Buffer, []bool, backends.DeviceNum) ([]backends.Buffer, error) {
	return nil, errFull
}

// Rows that do not fit are halved until they do, and the counts are those of
// any other number.
func TestOutOfMemoryHalvesTheRows(t *testing.T) {
	m := tiny(t)
	host := engines(t)["host"]
	s, err := NewSampler(host, m, SamplerConfig{Sigma: 0.5, Precision: Float32, Batch: 10})
	if err != nil {
		t.Fatal(err)
	}
	want, err := s.Sample(context.Background(), jobs(m))
	if err != nil {
		t.Fatal(err)
	}
	for _, atCompile := range []bool{true, false} {
		for _, onHost := range []bool{true, false} {
			small := &Engine{spec: "small", host: onHost, backend: &smallDevice{Backend: host.backend, rows: 20, atCompile: atCompile}}
			s, err := NewSampler(small, m, SamplerConfig{Sigma: 0.5, Precision: Float32, Rows: 128})
			if err != nil {
				t.Fatal(err)
			}
			before := s.Identity()
			got, err := s.Sample(context.Background(), jobs(m))
			if err != nil {
				t.Fatal(err)
			}
			if s.Batch() != 16 || !reflect.DeepEqual(got, want) {
				t.Errorf("full when compiling %v: batch %d, counts %v, want batch 16, counts %v", atCompile, s.Batch(), got, want)
			}
			// A device that is full when it runs, with counts made already, says so.
			if changed := s.Identity() != before; changed != (!onHost && !atCompile) {
				t.Errorf("full when compiling %v, on the host %v: %q became %q", atCompile, onHost, before, s.Identity())
			}
		}
	}
	none := &Engine{spec: "small", host: true, backend: &smallDevice{Backend: host.backend, rows: 0, atCompile: true}}
	if _, err := NewSampler(none, m, SamplerConfig{Sigma: 0.5, Precision: Float32}); !errors.Is(err, errFull) {
		t.Errorf("a device that holds nothing gave error %v", err)
	}
}
