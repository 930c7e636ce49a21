package kernel

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

//go:generate go run ./internal/asm

// The assembly that is checked in is what its generator writes.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("go", "run", "./internal/asm", "-dir", dir).CombinedOutput(); err != nil {
		t.Fatalf("go run ./internal/asm: %v\n%s", err, out)
	}
	names, err := os.ReadDir(dir)
	if err != nil || len(names) == 0 {
		t.Fatalf("the generator wrote nothing (%v)", err)
	}
	for _, n := range names {
		want, err := os.ReadFile(filepath.Join(dir, n.Name()))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(n.Name())
		if err != nil || string(got) != string(want) {
			t.Errorf("%s is not what internal/asm writes: run go generate (%v)", n.Name(), err)
		}
	}
}
