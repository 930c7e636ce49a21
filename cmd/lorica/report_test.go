package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	goldenGaussian = "testdata/golden/counts_gaussian_resnet20_s050.jsonl.gz"
	goldenMarginCS = "testdata/golden/counts_margin-cs_resnet20_s050.jsonl.gz"
)

func TestReport(t *testing.T) {
	dir := t.TempDir()
	page, figures, tables := filepath.Join(dir, "r.html"), filepath.Join(dir, "figures"), filepath.Join(dir, "tables")
	code, out, errs := lorica(t, "report", goldenGaussian, goldenMarginCS, "--cost", "3->*", "--eps", "0.25", "-o", page, "--figures", figures, "--tables", tables)
	if code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	for _, want := range []string{
		"At radius 0.25, 26.3% of the 292 examples of class 3 are proved safe",
		"class 3 read as class 5, at cost 1: not ruled out within 0.25",
		"Rob_cost at 0.25", "written to " + page, "15 figures in " + figures, "table.tex in " + tables,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the terminal does not say %q:\n%s", want, out)
		}
	}
	if !strings.Contains(errs, "no pictures") {
		t.Errorf("data that cannot be opened goes unsaid: %q", errs)
	}
	for _, path := range []string{page, filepath.Join(figures, "curve-rob-cs.svg"), filepath.Join(figures, "robust-2.png"),
		filepath.Join(tables, "table.md"), filepath.Join(tables, "table.csv"), filepath.Join(tables, "table.tex")} {
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", path, err)
		}
	}
	again := filepath.Join(dir, "again.html")
	first, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if code, _, errs := lorica(t, "report", goldenGaussian, goldenMarginCS, "--cost", "3->*", "--eps", "0.25", "-o", again); code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	second, err := os.ReadFile(again)
	if err != nil {
		t.Fatal(err)
	}
	cut := func(b []byte) string { // the command at the end names the files it wrote
		s, _, _ := strings.Cut(string(b), "This page was written by")
		return s
	}
	if cut(first) != cut(second) {
		t.Error("the same runs gave another page")
	}
}

func TestReportMistakes(t *testing.T) {
	out := filepath.Join(t.TempDir(), "r.html")
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{nil, exitUsage, "at least one run"},
		{[]string{goldenGaussian}, exitFailed, "--cost"},
		{[]string{"nowhere"}, exitFailed, "nowhere"},
		{[]string{goldenGaussian, "--cost", "cat->*"}, exitFailed, "unknown class"},
		{[]string{goldenGaussian, "--cost", "3->*", "--alpha", "2"}, exitUsage, "--alpha"},
		{[]string{goldenGaussian, "--cost", "3->*", "--eps", "-1"}, exitUsage, "--eps"},
		{[]string{goldenGaussian, "--cost", "3->*", "--procedure", "x"}, exitFailed, "procedure"},
		{[]string{goldenGaussian, "--cost", "3->*", "--data", "builtin"}, exitFailed, "not the data of this run"},
	} {
		code, _, errs := lorica(t, append([]string{"report", "-o", out}, test.args...)...)
		if code != test.code || !strings.Contains(errs, test.want) {
			t.Errorf("%q: exit %d, %q", test.args, code, errs)
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a page was written all the same")
	}
}
