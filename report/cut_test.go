package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A run that was killed in the middle of a line is shown, and says so.
func TestCutRunSaysSo(t *testing.T) {
	const head = `{"lorica":"counts","version":1,"classes":2,"sigma":0.5,"n0":2,"n":4,"seed":1,"model":{"path":"m"},"data":"d"}` + "\n"
	const line = `{"index":0,"label":0,"select":{"0":2},"count":{"0":4}}` + "\n"
	for text, want := range map[string]bool{head + line: false, head + line + line[:20]: true} {
		path := filepath.Join(t.TempDir(), "counts.jsonl")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		r, err := Load(path, Settings{Cost: "0->1", Eps: 0.5})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(strings.Join(r.Summary.Warnings, "\n"), "cut short"); got != want {
			t.Errorf("warnings %q, want one about the cut: %v", r.Summary.Warnings, want)
		}
	}
}
