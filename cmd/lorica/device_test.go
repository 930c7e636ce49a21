package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A text is found wherever it lies in a file, also across two reads.
func TestFileContains(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for _, at := range []int{0, 1<<20 - 5, 1 << 20, 3<<20 - 1, 3 << 20} {
		raw := bytes.Repeat([]byte{'.'}, 3<<20+10)
		copy(raw[at:], "needle")
		if err := os.WriteFile(path, raw, 0o644); err != nil {
			t.Fatal(err)
		}
		if !fileContains(path, "needle") || fileContains(path, "needles") {
			t.Errorf("at %d", at)
		}
	}
	if fileContains(path+"none", "needle") {
		t.Error("found in a file that is not there")
	}
}

// A plugin that knows the flag is told where to keep its choices, unless the
// user said so; one that does not is left alone.
func TestPrepareXLA(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", dir)
	knows, not := filepath.Join(dir, "knows.so"), filepath.Join(dir, "not.so")
	for path, text := range map[string]string{knows: "\x00" + autotuneFlag + "\x00", not: "nothing"} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		plugin, flags string
		want          bool
	}{{knows, "", true}, {knows, "--xla_other=1", true}, {not, "", false}, {knows, "--" + autotuneFlag + "=/mine", false}} {
		t.Setenv("XLA_FLAGS", test.flags)
		if err := prepareXLA(test.plugin); err != nil {
			t.Fatal(err)
		}
		got := os.Getenv("XLA_FLAGS")
		if !strings.HasPrefix(got, test.flags) || strings.Contains(got, dir) != test.want {
			t.Errorf("%s with %q: XLA_FLAGS is %q", filepath.Base(test.plugin), test.flags, got)
		}
	}
}

// An engine that changed on the way is told of; others are not.
func TestWarningOfAChangedEngine(t *testing.T) {
	now := "xla:cuda rows 2048"
	s := &supply{engine: "xla:cuda rows 4096", identity: func() string { return now }}
	if w := s.warning(); !strings.Contains(w, s.engine) || !strings.Contains(w, now) {
		t.Errorf("warning %q", w)
	}
	now = s.engine
	if w := s.warning(); w != "" {
		t.Errorf("warning %q of an engine that is what it was", w)
	}
	if w := (&supply{engine: "mixed"}).warning(); w != "" {
		t.Errorf("warning %q of a cluster", w)
	}
}
