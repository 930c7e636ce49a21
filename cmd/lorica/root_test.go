package main

import (
	"strings"
	"testing"
)

// Without arguments lorica says what it can do; every command has help with an
// example; a wrong word exits with 2 and one line.
func TestCommandLine(t *testing.T) {
	code, out, _ := lorica(t)
	if code != exitDone || !strings.Contains(out, "certify") || !strings.Contains(out, "demo") {
		t.Errorf("no arguments: exit %d, %q", code, out)
	}
	for _, c := range newRoot().Commands() {
		if c.Hidden || c.Name() == "completion" || c.Name() == "help" {
			continue
		}
		code, out, _ := lorica(t, c.Name(), "--help")
		if code != exitDone || !strings.Contains(out, "Usage:") || c.Short == "" {
			t.Errorf("%s --help: exit %d, %q", c.Name(), code, out)
		}
		if c.Name() != "version" && (c.Long == "" || c.Example == "") {
			t.Errorf("%s has no long help or no example", c.Name())
		}
		code, _, errs := lorica(t, c.Name(), "--no-such-flag")
		if code != exitUsage || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, "--no-such-flag") {
			t.Errorf("%s with a wrong flag: exit %d, %q", c.Name(), code, errs)
		}
	}
	if code, _, errs := lorica(t, "frobnicate"); code != exitUsage || !strings.Contains(errs, "frobnicate") {
		t.Errorf("a wrong command: exit %d, %q", code, errs)
	}
}
