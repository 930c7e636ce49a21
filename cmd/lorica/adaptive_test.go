package main

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"lorica/certify"
	"lorica/counts"
)

// An adaptive run of a real model, as a user meets it: it stops at several
// stages, a resumed one ends with the same bytes, and its counts answer another
// question with valid certificates and a warning.
func TestDecide(t *testing.T) {
	dir := t.TempDir()
	args := func(out string, more ...string) []string {
		return append([]string{"certify", "--model", "builtin:margin-cs", "--data", "builtin", "--cost", "cat->*",
			"--n0", "20", "--n", "400", "--decide", "0.5", "--out", filepath.Join(dir, out)}, more...)
	}
	mustRun(t, args("whole", "--max", "8")...)
	mustRun(t, args("parts", "--max", "3")...)
	mustRun(t, args("parts", "--max", "8", "--chunk", "7")...)
	path := filepath.Join(dir, "whole", "counts.jsonl")
	whole, parts := readFile(t, path), readFile(t, filepath.Join(dir, "parts", "counts.jsonl"))
	if !bytes.Equal(whole, parts) {
		t.Errorf("a resumed run ended with\n%s\nnot with\n%s", parts, whole)
	}
	in, err := counts.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	plan, err := certify.FromHeader(in.Header())
	if err != nil || plan == nil || plan.Last() != 400 {
		t.Fatalf("the header plans %+v, %v", plan, err)
	}
	stages := map[int]bool{}
	for rec, err := range in.Records() {
		if err != nil {
			t.Fatal(err)
		}
		stages[plan.Stage(rec.N)] = true
	}
	if len(stages) < 2 || stages[0] {
		t.Errorf("examples stopped at the stages %v", stages)
	}

	evaluate := func(args ...string) (string, string) {
		var out, doubts bytes.Buffer
		if code := run(context.Background(), &out, &doubts, append([]string{"evaluate", "--counts", path}, args...)); code != exitDone {
			t.Fatalf("exit %d\n%s", code, &doubts)
		}
		return out.String(), doubts.String()
	}
	if _, doubts := evaluate("--cost", "cat->*"); doubts != "" {
		t.Errorf("its own question is doubted: %s", doubts)
	}
	if _, doubts := evaluate("--cost", "cat->dog", "--eps", "0.25"); strings.Count(doubts, "warning: ") != 2 {
		t.Errorf("another question: %s", doubts)
	}
	if out, _ := evaluate("--cost", "cat->*", "--alpha-split", "selected", "--randomise", "--at-once", "0.9"); !strings.Contains(out, "With confidence 0.9 ") {
		t.Errorf("the options gave\n%s", out)
	}
}

func TestDecideRefusals(t *testing.T) {
	for want, args := range map[string][]string{
		"--decide":                  {"--decide", "far"},
		"tolerance":                 {"--radius-tolerance", "-1"},
		"--alpha-split selected":    {"--alpha-split", "selected", "--procedure", "paper"},
		"unknown split":             {"--alpha-split", "thirds"},
		"want a number between 0 a": {"--at-once", "1"},
	} {
		var stderr bytes.Buffer
		all := append([]string{"certify", "--model", "builtin:margin-cs", "--data", "builtin", "--cost", "cat->*", "--out", t.TempDir()}, args...)
		if code := run(context.Background(), io.Discard, &stderr, all); code != exitUsage || !strings.Contains(stderr.String(), want) {
			t.Errorf("%v: exit %d, %s", args, code, &stderr)
		}
	}
}
