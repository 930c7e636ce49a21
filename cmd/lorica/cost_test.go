package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCostCommand(t *testing.T) {
	code, out, errs := lorica(t, "cost", "malignant->benign:10;benign->malignant", "--names", "benign, malignant")
	want := `           benign  malignant
benign          -          1
malignant      10          -

a true benign must not become: malignant
a true malignant must not become: benign (cost 10)
2 sensitive pairs; as an expression: 0->1;1->0:10
`
	if code != 0 || out != want || errs != "" {
		t.Errorf("exit %d\n%swant:\n%s%s", code, out, want, errs)
	}
	if code, out, errs := lorica(t, "cost", "cat->*", "--data", "builtin"); code != 0 || !strings.Contains(out, "a true cat must not become: airplane") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	if code, out, _ := lorica(t, "cost", "3->*", "--classes", "1000"); code != 0 || strings.Count(out, "\n") != 2 {
		t.Errorf("a thousand classes, exit %d:\n%s", code, out)
	}
}

// Mistakes exit with 2 or 1 and say in one line what to do.
func TestMistakes(t *testing.T) {
	const golden = "testdata/golden/counts_gaussian_resnet20_s050.jsonl.gz"
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.csv")
	broken := filepath.Join(dir, "broken.jsonl")
	for path, text := range map[string]string{
		bad: "0,1,0\n0,0,x\n0,0,0\n",
		broken: `{"lorica":"counts","version":1,"classes":2,"sigma":0.5,"n0":1,"n":10,"seed":1,"model":{"path":"m"},"data":"d"}
{"index":0,"label":1,"select":{"1":1},"count":{"1":9}}
`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"evaluate", "--nonsense"}, 2, "unknown flag: --nonsense (see lorica evaluate --help)"},
		{[]string{"evaluate", "extra"}, 2, `unknown command "extra"`},
		{[]string{"evaluate"}, 2, "needs --counts FILE and --cost COST"},
		{[]string{"evaluate", "--counts", golden}, 2, "needs --counts FILE and --cost COST"},
		{[]string{"evaluate", "--counts", filepath.Join(dir, "no.jsonl"), "--cost", "3->*"}, 1, "no.jsonl: no such file"},
		{[]string{"evaluate", "--counts", broken, "--cost", "0->1"}, 1, "broken.jsonl:2:"},
		{[]string{"evaluate", "--counts", golden, "--cost", bad}, 2, `bad.csv: line 2, field 3: "x" is not a number`},
		{[]string{"evaluate", "--counts", golden, "--cost", "3->12"}, 2, "unknown class 12: there are 10 classes, 0 to 9"},
		{[]string{"evaluate", "--counts", golden, "--cost", "costs.csv"}, 2, "costs.csv: no such file"},
		{[]string{"evaluate", "--counts", golden, "--cost", "3->*", "--alpha", "2"}, 2, "--alpha 2: want a number between 0 and 1"},
		{[]string{"evaluate", "--counts", golden, "--cost", "3->*", "--alpha", "x"}, 2, "invalid argument"},
		{[]string{"evaluate", "--counts", golden, "--cost", "3->*", "--eps", "-1"}, 2, "--eps"},
		{[]string{"evaluate", "--counts", golden, "--cost", "3->*", "--eps", "0.5,,1"}, 2, "separated by commas"},
		{[]string{"evaluate", "--counts", golden, "--cost", "3->*", "--procedure", "best"}, 2, "want joint or paper"},
		{[]string{"evaluate", "--counts", golden, "--cost", "3->*", "--count", "all"}, 2, "want strict or harmless"},
		{[]string{"evaluate", "--counts", golden, "--cost", "3->*", "--positive", "cat"}, 2, `--positive: unknown class "cat"`},
		{[]string{"evaluate", "--counts", golden, "--cost", "3->*", "--certificates", dir}, 1, "is a directory"},
		{[]string{"cost"}, 2, "accepts 1 arg(s)"},
		{[]string{"cost", "3->*"}, 2, "needs one of --classes N"},
		{[]string{"cost", "3->*", "--classes", "1"}, 2, "at least 2"},
		{[]string{"cost", "3->*", "--classes", "3"}, 2, "unknown class 3: there are 3 classes, 0 to 2"},
		{[]string{"cost", "a->b", "--names", "a,b,a"}, 2, "two classes are named"},
		{[]string{"cost", bad, "--classes", "3"}, 2, "bad.csv: line 2, field 3"},
		{[]string{"cost", "1->2", "--data", "cifar10:" + dir}, 1, dir},
	} {
		code, out, errs := lorica(t, c.args...)
		if code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("%q: exit %d, %q; want %d, %q", c.args, code, errs, c.code, c.want)
		}
		if strings.Count(errs, "\n") != 1 || !strings.HasPrefix(errs, "lorica: ") || out != "" {
			t.Errorf("%q: want one line on stderr and nothing on stdout, got %q and %q", c.args, errs, out)
		}
	}
}

func TestEvaluateWritesCertificates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "certificates.jsonl")
	code, out, errs := lorica(t, "evaluate", "--counts", "testdata/golden/counts_margin-cs_resnet20_s050.jsonl.gz",
		"--cost", "3->5", "--eps", "0.25,0.5", "--positive", "3", "--certificates", path)
	if code != 0 || errs != "" {
		t.Fatalf("exit %d: %s", code, errs)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(string(raw), "\n"); lines != 736 {
		t.Errorf("%d certificates, want 736", lines)
	}
	for _, want := range []string{
		"736 examples, 292 of them sensitive, cost 3->5",
		"Within 0.5 no costly mistake can be forced on",
		"3 -> 5", "precision", "recall",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in the output:\n%s", want, out)
		}
	}
}
