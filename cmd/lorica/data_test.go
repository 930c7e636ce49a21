package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// runLine runs one command line and returns its exit code and both outputs.
func runLine(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), &out, &errs, args)
	return code, out.String(), errs.String()
}

// TestDataDocument runs the commands that docs/data.md shows.
func TestDataDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/data.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		command, ok := strings.CutPrefix(line, "    $ lorica ")
		if !ok {
			continue
		}
		shown++
		var want strings.Builder
		for _, line := range lines[i+1:] {
			if line != "" && !strings.HasPrefix(line, "    ") {
				break
			}
			want.WriteString(strings.TrimPrefix(line, "    ") + "\n")
		}
		code, got, stderr := runLine(t, strings.Fields(command)...)
		if code != exitDone || strings.TrimSpace(got) != strings.TrimSpace(want.String()) {
			t.Errorf("lorica %s: exit %d, %s\n%s\nthe document has\n%s", command, code, stderr, got, want.String())
		}
	}
	if shown == 0 {
		t.Error("docs/data.md shows no command")
	}
}

func TestDataJSON(t *testing.T) {
	code, out, stderr := runLine(t, "data", "builtin", "--json", "--verify")
	var info dataInfo
	if err := json.Unmarshal([]byte(out), &info); code != exitDone || err != nil {
		t.Fatalf("exit %d, %v, %s", code, err, stderr)
	}
	if info.Examples != 101 || info.Shape != [3]int{3, 32, 32} || len(info.Classes) != 10 || info.Classes[3] != (dataClass{Class: 3, Name: "cat", Examples: 20}) {
		t.Errorf("got %+v", info)
	}
}

func TestDataAndMergeMistakes(t *testing.T) {
	dir := t.TempDir()
	corrupt := filepath.Join(dir, "b", "corrupt.jpg")
	for _, path := range []string{filepath.Join(dir, "a", "1.png"), corrupt} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	png := "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\b\x00\x00\x00\x00:~\x9bU\x00\x00\x00\nIDATx\x9cc`\x00\x00\x00\x02\x00\x01H\xaf\xa4q\x00\x00\x00\x00IEND\xaeB`\x82"
	if err := os.WriteFile(filepath.Join(dir, "a", "1.png"), []byte(png), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(corrupt, []byte("\xff\xd8\xff"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		code int
		want string
		args []string
	}{
		{exitUsage, "data needs one data set", []string{"data"}},
		{exitUsage, "--no-such-flag", []string{"data", "builtin", "--no-such-flag"}},
		{exitFailed, "unknown data set", []string{"data", "mnist"}},
		{exitFailed, "missing-folder", []string{"data", "cifar10:missing-folder"}},
		{exitFailed, corrupt, []string{"data", "--verify", "folder:" + dir}},
		{exitUsage, "merge needs", []string{"merge", "out.jsonl"}},
		{exitFailed, "missing.jsonl", []string{"merge", filepath.Join(dir, "out.jsonl"), filepath.Join(dir, "missing.jsonl")}},
	} {
		code, _, stderr := runLine(t, test.args...)
		if code != test.code || !strings.Contains(stderr, test.want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: exit %d, want %d; said %q, want one line with %q", test.args, code, test.code, stderr, test.want)
		}
	}
}

func TestMergeCommand(t *testing.T) {
	dir := t.TempDir()
	const header = `{"lorica":"counts","version":1,"classes":2,"sigma":1,"n0":1,"n":2,"seed":1,"model":{"path":"m"},"data":"d"}` + "\n"
	const one = `{"index":1,"label":0,"select":{"0":1},"count":{"0":2}}` + "\n"
	const two = `{"index":2,"label":1,"select":{"0":1},"count":{"1":2}}` + "\n"
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string]string{"a": header + two, "b": header + one + two + `{"ind`} {
		if err := os.WriteFile(at(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	code, out, stderr := runLine(t, "merge", at("out"), at("a"), at("b"))
	if code != exitDone || !strings.Contains(out, "2 examples from 2 files, 1 identical repeats") || !strings.Contains(stderr, "cut short") {
		t.Errorf("exit %d, %q, %q", code, out, stderr)
	}
	if got, err := os.ReadFile(at("out")); err != nil || string(got) != header+one+two {
		t.Errorf("merged to %q, %v", got, err)
	}
}
