package main

import (
	"bytes"
	"context"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"lorica/counts"
	"lorica/dataset"
)

// TestMain lets the test binary be lorica itself, or a NATS server, so that a
// test can kill it.
func TestMain(m *testing.M) {
	switch os.Getenv("LORICA_TEST_AS") {
	case "command":
		main()
	case "server":
		serveNATS(os.Args[1:])
	}
	os.Exit(m.Run())
}

// command is a process of lorica.
func command(args ...string) *exec.Cmd {
	c := exec.Command(os.Args[0], args...)
	c.Env = append(os.Environ(), "LORICA_TEST_AS=command")
	return c
}

// mustRun runs a command line in this process.
func mustRun(t *testing.T, args ...string) {
	t.Helper()
	var stderr bytes.Buffer
	if code := run(context.Background(), io.Discard, &stderr, args); code != exitDone {
		t.Fatalf("lorica %s: exit %d\n%s", strings.Join(args, " "), code, &stderr)
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// The counts of a real model on real images agree with those that PyTorch drew
// from the same model on a GPU (in bfloat16, with its own generator): the
// chi-square of 50 images is what chance gives. The same test refuses the
// counts of another model, so it can fail.
func TestCountsAgreeWithPyTorch(t *testing.T) {
	dir := t.TempDir()
	mustRun(t, "certify", "--model", "../../model/testdata/pytorch/gaussian.onnx", "--data", "builtin", "--cost", "cat->*",
		"--max", "50", "--n0", "20", "--n", "200", "--out", dir)
	_, ours, _, err := counts.ReadAll(filepath.Join(dir, "counts.jsonl"))
	if err != nil || len(ours) != 50 {
		t.Fatalf("%d records, %v", len(ours), err)
	}
	for file, agrees := range map[string]bool{"counts_gaussian_resnet20_s050.jsonl.gz": true, "counts_margin-cs_resnet20_s050.jsonl.gz": false} {
		if z := distance(t, ours, file); agrees != (math.Abs(z) < 4) {
			t.Errorf("%s: z = %.2f", file, z)
		}
	}
}

// So do the counts of results/engines, 10,000 draws an image from the CPU and
// from an H200 in either precision: at the level .001 (z = 3.09), of the first
// 50 images and of all.
func TestEnginesAgreeWithPyTorch(t *testing.T) {
	files, err := filepath.Glob("../../results/engines/*.counts.jsonl.gz")
	if err != nil || len(files) != 3 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		_, records, _, err := counts.ReadAll(file)
		if err != nil || len(records) != 101 {
			t.Fatalf("%s: %d records, %v", file, len(records), err)
		}
		for _, part := range [][]counts.Record{records[:50], records} {
			z := distance(t, part, "counts_gaussian_resnet20_s050.jsonl.gz")
			t.Logf("%s: z = %.2f over %d images", filepath.Base(file), z, len(part))
			if math.Abs(z) > 3.09 {
				t.Errorf("%s: z = %.2f over %d images", file, z, len(part))
			}
		}
		if z := distance(t, records, "counts_margin-cs_resnet20_s050.jsonl.gz"); z < 100 {
			t.Errorf("%s: z = %.2f from another model's counts", file, z)
		}
	}
}

// distance is how far counts on the builtin images are from golden ones: the
// chi-square over all images as a standard normal variable (Wilson and Hilferty).
func distance(t *testing.T, ours []counts.Record, golden string) float64 {
	t.Helper()
	set, err := dataset.Open("builtin", "")
	if err != nil {
		t.Fatal(err)
	}
	_, theirs, _, err := counts.ReadAll(filepath.Join("testdata", "golden", golden))
	if err != nil {
		t.Fatal(err)
	}
	byIndex := map[int]counts.Record{}
	for _, r := range theirs {
		byIndex[r.Index] = r
	}
	chi2, freedom := 0.0, 0
	for _, r := range ours {
		place, err := strconv.Atoi(strings.TrimPrefix(set.Name(r.Index), "test_batch.bin#"))
		if err != nil {
			t.Fatal(err)
		}
		other, ok := byIndex[place]
		if !ok || other.Label != r.Label {
			t.Fatalf("example %d, image %d: the golden counts have label %d, here it is %d", r.Index, place, other.Label, r.Label)
		}
		c, f := homogeneity(r.Count, other.Count)
		chi2, freedom = chi2+c, freedom+f
	}
	k := float64(freedom)
	return (math.Cbrt(chi2/k) - (1 - 2/(9*k))) / math.Sqrt(2/(9*k))
}

// homogeneity is the chi-square of two samples being of one distribution, with
// rare classes put together so that every expected count is at least 5.
func homogeneity(a, b []int64) (chi2 float64, freedom int) {
	var na, nb float64
	for k := range a {
		na, nb = na+float64(a[k]), nb+float64(b[k])
	}
	var restA, restB float64
	cells := -1
	cell := func(x, y float64) {
		total := x + y
		ea, eb := total*na/(na+nb), total*nb/(na+nb)
		chi2 += (x-ea)*(x-ea)/ea + (y-eb)*(y-eb)/eb
		cells++
	}
	for k := range a {
		x, y := float64(a[k]), float64(b[k])
		if (x+y)*math.Min(na, nb)/(na+nb) < 5 {
			restA, restB = restA+x, restB+y
			continue
		}
		cell(x, y)
	}
	if restA+restB > 0 {
		cell(restA, restB)
	}
	return chi2, cells
}

// A run that is killed and goes on, with another batch size and on one thread,
// ends with the same file as one that is left alone, bit for bit.
func TestKilledRunEndsTheSame(t *testing.T) {
	dir := t.TempDir()
	args := func(out string, more ...string) []string {
		return append([]string{"certify", "--model", "builtin:margin-cs", "--data", "builtin", "--cost", "cat->*",
			"--max", "12", "--n0", "20", "--n", "150", "--chunk", "50", "--out", filepath.Join(dir, out)}, more...)
	}
	mustRun(t, args("whole")...)
	want := readFile(t, filepath.Join(dir, "whole", "counts.jsonl"))

	path := filepath.Join(dir, "killed", "counts.jsonl")
	c := command(args("killed", "--batch", "7")...)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := 0; lines < 3; time.Sleep(5 * time.Millisecond) {
		raw, _ := os.ReadFile(path) // not there at first
		lines = bytes.Count(raw, []byte("\n"))
	}
	if err := c.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err == nil {
		t.Fatal("the run ended before it was killed")
	}
	if n := bytes.Count(readFile(t, path), []byte("\n")); n > 12 {
		t.Fatalf("%d lines were written before the kill: nothing is left to go on with", n)
	}
	c = command(args("killed", "--batch", "13")...)
	c.Env = append(c.Env, "GOMAXPROCS=1")
	if out, err := c.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("going on with")) {
		t.Fatalf("%v\n%s", err, out)
	}
	if got := readFile(t, path); !bytes.Equal(got, want) {
		t.Errorf("the killed run's counts differ:\n%s\nwant\n%s", got, want)
	}
	// A part of a finished run is answered from it, and speaks of that part alone.
	code, out, errs := lorica(t, args("killed", "--max", "5", "--json")...)
	if code != exitDone || !strings.Contains(out, `"examples": 5,`) {
		t.Errorf("a part of the run: exit %d, %s\n%.200s", code, errs, out)
	}
	// Given again, the finished run makes no draw and says the same.
	before, _ := os.Stat(path)
	mustRun(t, args("killed")...)
	if after, _ := os.Stat(path); !after.ModTime().Equal(before.ModTime()) {
		t.Error("a finished run was written again")
	}
}

// An interrupt ends with exit code 130 and keeps what is finished.
func TestInterruptedRunGoesOn(t *testing.T) {
	dir := t.TempDir()
	args := []string{"certify", "--model", "builtin:gaussian", "--data", "builtin", "--cost", "cat->*", "--n0", "10", "--n", "90", "--max", "40", "--out", dir}
	c := command(args...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "counts.jsonl")
	for lines := 0; lines < 2; time.Sleep(5 * time.Millisecond) {
		raw, _ := os.ReadFile(path)
		lines = bytes.Count(raw, []byte("\n"))
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	if code := c.ProcessState.ExitCode(); code != exitInterrupted || !strings.Contains(stderr.String(), "run the same command again") {
		t.Errorf("exit %d, stderr %q", code, &stderr)
	}
	_, kept, cut, err := counts.ReadAll(path)
	if err != nil || cut || len(kept) == 0 || len(kept) == 40 {
		t.Errorf("%d records kept, cut %v, %v", len(kept), cut, err)
	}
}

// What a user can get wrong says what to do, in one line, before any draw.
func TestCertifyRefusals(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.onnx")
	if err := os.WriteFile(bad, []byte("not a model"), 0o644); err != nil {
		t.Fatal(err)
	}
	base := map[string]string{"model": "builtin:gaussian", "data": "builtin", "cost": "cat->*", "n": "50", "max": "1", "out": filepath.Join(dir, "run")}
	for _, test := range []struct {
		flag, value string
		code        int
		says        string
	}{
		{"model", "", exitUsage, "--model"},
		{"model", bad, exitFailed, "bad.onnx"},
		{"model", "none.onnx", exitFailed, "none.onnx"},
		{"model", "builtin:none", exitFailed, "none"},
		{"data", "cifar10:" + dir, exitFailed, "test_batch.bin"},
		{"data", "nothing:", exitFailed, "nothing"},
		{"cost", "cat->cow", exitUsage, "cow"},
		{"cost", "cat->cat", exitUsage, "cat"},
		{"sigma", "0", exitUsage, "sigma"},
		{"n", "0", exitUsage, "n is 0"},
		{"alpha", "2", exitUsage, "alpha"},
		{"engine", "tpu", exitFailed, "tpu"},
		{"precision", "int3", exitFailed, "int3"},
		{"indices", "101", exitUsage, "index 101"},
		{"speed", "9", exitUsage, "--speed"},
	} {
		args := []string{"certify"}
		for k, v := range base {
			if k != test.flag {
				args = append(args, "--"+k+"="+v)
			}
		}
		args = append(args, "--"+test.flag+"="+test.value)
		var stderr bytes.Buffer
		code := run(context.Background(), io.Discard, &stderr, args)
		text := strings.TrimSpace(stderr.String())
		if code != test.code || !strings.Contains(text, test.says) {
			t.Errorf("--%s=%q: exit %d, %q; want exit %d and %q", test.flag, test.value, code, text, test.code, test.says)
		}
	}
	// A run folder of another question's draws is not mixed with this one's.
	mustRun(t, "certify", "--model", "builtin:gaussian", "--data", "builtin", "--cost", "cat->*", "--n", "50", "--max", "1", "--out", base["out"])
	var stderr bytes.Buffer
	code := run(context.Background(), io.Discard, &stderr, []string{"certify", "--model", "builtin:gaussian", "--data", "builtin",
		"--cost", "cat->*", "--n", "50", "--max", "2", "--seed", "2", "--out", base["out"]})
	if code != exitFailed || !strings.Contains(stderr.String(), "seed") {
		t.Errorf("another seed in the same folder: exit %d, %q", code, &stderr)
	}
}
