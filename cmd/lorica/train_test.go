package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"lorica/train"
)

// lenetArgs is a run of seconds on the images that the binary carries.
func lenetArgs(out string, more ...string) []string {
	return append([]string{"train", "--method", "margin-cs", "--arch", "lenet", "--data", "builtin", "--cost", "cat->*",
		"--recipe", "small", "--epochs", "2", "--batch", "32", "--draws", "2", "--look", "20", "--look-draws", "4", "--out", out}, more...)
}

// A user trains, repeats the command, is told of a change, and certifies the
// model that the folder holds.
func TestTrainThenCertify(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	code, stdout, stderr := lorica(t, lenetArgs(out)...)
	if code != 0 || !strings.Contains(stdout, "model.safetensors") || !strings.Contains(stderr, "epoch 2/2") {
		t.Fatalf("exit %d\n%s%s", code, stdout, stderr)
	}
	raw, err := os.ReadFile(filepath.Join(out, "train.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(raw), []byte("\n"))
	var last train.Epoch
	if err := json.Unmarshal(lines[len(lines)-1], &last); err != nil {
		t.Fatal(err)
	}
	if len(lines) != 3 || last.Epoch != 2 || last.Held == nil || !(last.Loss > 0) {
		t.Errorf("journal of %d lines ends with %+v", len(lines), last)
	}
	if code, stdout, _ = lorica(t, lenetArgs(out)...); code != 0 || !strings.Contains(stdout, "trained already") {
		t.Errorf("again: exit %d, %s", code, stdout)
	}
	if code, _, stderr = lorica(t, lenetArgs(out, "--lambda1", "1")...); code != 1 || !strings.Contains(stderr, "lambda1") {
		t.Errorf("with another lambda1: exit %d, %s", code, stderr)
	}
	code, stdout, stderr = lorica(t, "certify", "--model", filepath.Join(out, "model.safetensors"), "--data", "builtin", "--cost", "cat->*",
		"--n", "50", "--n0", "20", "--max", "3", "--out", filepath.Join(out, "certified"))
	if code != 0 {
		t.Errorf("certify: exit %d\n%s%s", code, stdout, stderr)
	}
}

func TestTrainMistakes(t *testing.T) {
	out := t.TempDir()
	for want, args := range map[string][]string{
		"needs --data":             {"train", "--out", out},
		"has no --gamma1":          {"train", "--method", "gaussian", "--gamma1", "3", "--data", "builtin", "--out", out},
		"needs --cost":             {"train", "--method", "gaussian-cs", "--data", "builtin", "--out", out},
		"is not one of gaussian":   {"train", "--method", "nonsense", "--data", "builtin", "--out", out},
		"no recipe":                {"train", "--recipe", "large", "--data", "builtin", "--out", out},
		"lr is -1":                 lenetArgs(out, "--lr", "-1"),
		"different settings":       lenetArgs(out, "--sweep", "gamma2"),
		"not a setting":            lenetArgs(out, "--sweep", "nonsense=1"),
		"method margin-cs has no":  lenetArgs(out, "--sweep", "eta=1"),
		"sweep: invalid argument":  lenetArgs(out, "--sweep", "gamma2=x"),
		"--resume: there is no ch": lenetArgs(out, "--resume"),
	} {
		code, _, stderr := lorica(t, args...)
		if wantCode := map[bool]int{true: 1, false: 2}[strings.HasPrefix(want, "--resume")]; code != wantCode || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit %d, %q; want %q", args, code, stderr, want)
		}
	}
}

// A sweep trains the grid, the last setting turning fastest, and prints a row
// a point.
func TestSweep(t *testing.T) {
	grid, err := parseGrid("lambda2=1,2; gamma2=8,16")
	want := [][]setting{
		{{"lambda2", "1"}, {"gamma2", "8"}}, {{"lambda2", "1"}, {"gamma2", "16"}},
		{{"lambda2", "2"}, {"gamma2", "8"}}, {{"lambda2", "2"}, {"gamma2", "16"}},
	}
	if err != nil || !reflect.DeepEqual(grid, want) {
		t.Errorf("grid %v, %v", grid, err)
	}
	out := t.TempDir()
	code, stdout, stderr := lorica(t, lenetArgs(out, "--look-every", "0", "--holdout", "4", "--max-steps", "2", "--sweep", "lambda1=0,3", "--sweep-n", "30", "--sweep-examples", "6")...)
	if code != 0 {
		t.Fatalf("exit %d\n%s", code, stderr)
	}
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "lambda1") || !strings.HasPrefix(lines[2], "3 ") || !strings.Contains(lines[2], "lambda1=3") {
		t.Errorf("table:\n%s", stdout)
	}
}
