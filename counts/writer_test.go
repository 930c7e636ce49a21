package counts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func parseHeader(t *testing.T, line string) Header {
	t.Helper()
	var h Header
	if err := json.Unmarshal([]byte(line), &h); err != nil {
		t.Fatal(err)
	}
	return h
}

// testRecord is a valid record under testHeader that depends on its index.
func testRecord(index int) Record {
	k := int64(index % 50)
	rec := Record{Index: index, Label: index % 3, N: 100, Select: []int64{3, 7, 0}, Count: []int64{k, 0, 100 - k}}
	if index%4 == 1 {
		rec.N, rec.Count, rec.Invalid = 60, []int64{0, 58, 0}, 2
	}
	return rec
}

// writeFile writes the test records of some indices through a Writer.
func writeFile(t *testing.T, path string, h Header, indices ...int) []byte {
	t.Helper()
	w, _, err := Resume(path, h)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range indices {
		if err := w.Append(testRecord(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestResumeAtEveryByte(t *testing.T) {
	h := parseHeader(t, testHeader)
	indices := []int{5, 0, 1, 9, 70}
	dir := t.TempDir()
	whole := writeFile(t, filepath.Join(dir, "whole.jsonl"), h, indices...)
	path := filepath.Join(dir, "cut.jsonl")
	for n := range len(whole) + 1 {
		if err := os.WriteFile(path, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		w, done, err := Resume(path, h)
		if err != nil {
			t.Fatalf("cut at byte %d: %v", n, err)
		}
		if want := max(0, bytes.Count(whole[:n], []byte("\n"))-1); done.Len() != want {
			t.Fatalf("cut at byte %d: %d records done, want %d", n, done.Len(), want)
		}
		for _, i := range indices {
			if !done.Has(i) {
				if err := w.Append(testRecord(i)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, whole) {
			t.Fatalf("cut at byte %d and resumed: %q, %v; want %q", n, got, err, whole)
		}
	}
}

func TestResumeRefusesAnotherRun(t *testing.T) {
	tests := []struct{ field, old, new string }{
		{"classes", `"classes":3`, `"classes":4`},
		{"sigma", `"sigma":0.5`, `"sigma":0.25`},
		{"n0", `"n0":10`, `"n0":20`},
		{"n", `"n":100`, `"n":200`},
		{"seed", `"seed":7`, `"seed":8`},
		{"model.sha256", `"ab"`, `"cd"`},
		{"data", `"cifar10"`, `"idx"`},
		{"split", `"test"`, `"train"`},
		{"engine", `"cpu float32"`, `"cpu int8"`},
		{"novel", `"seed":7`, `"seed":7,"novel":true`},
		{"model.novel", `"sha256"`, `"novel":1,"sha256"`},
	}
	for _, test := range tests {
		path := filepath.Join(t.TempDir(), "counts.jsonl")
		before := writeFile(t, path, parseHeader(t, testHeader), 0, 1)
		_, _, err := Resume(path, parseHeader(t, strings.Replace(testHeader, test.old, test.new, 1)))
		if !errors.Is(err, ErrMismatch) || !strings.Contains(err.Error(), `"`+test.field+`"`) || !strings.Contains(err.Error(), path+":1") {
			t.Errorf("%s: error %v", test.field, err)
		}
		if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
			t.Errorf("%s: the refused file was changed", test.field)
		}
	}
}

func TestResumeAllowsWhatChangesNoDraw(t *testing.T) {
	path := filepath.Join(t.TempDir(), "counts.jsonl")
	writeFile(t, path, parseHeader(t, testHeader), 0)
	h := parseHeader(t, testHeader)
	h.Model.Path, h.Chunk = "elsewhere/m.onnx", 17
	w, done, err := Resume(path, h)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if !done.Has(0) || w.Header().Model.Path != "m.onnx" {
		t.Errorf("done %v, header %+v", slices.Collect(done.All()), w.Header())
	}
}

func TestResumeLeavesOtherFilesAlone(t *testing.T) {
	h := parseHeader(t, testHeader)
	record := `{"index":0,"label":1,"select":{"1":10},"count":{"1":100}}`
	for _, text := range []string{
		"dear diary", "{}", "\n",
		testHeader + "\n" + strings.Replace(record, "100", "99", 1) + "\n" + `{"ind`,
		testHeader + "\n" + `{"index":0` + "\n" + record + "\n",
		testHeader + "\n" + record + "\n" + record + "\n",
		testHeader + "\n\x00\x00\n",
		"\x1f\x8b\x08 gzip",
	} {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Resume(path, h); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: error %v", text, err)
		}
		if after, _ := os.ReadFile(path); string(after) != text {
			t.Errorf("%q was changed to %q", text, after)
		}
	}
}

func TestAppendRefuses(t *testing.T) {
	w, _, err := Resume(filepath.Join(t.TempDir(), "counts.jsonl"), parseHeader(t, testHeader))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Append(testRecord(3)); err != nil {
		t.Fatal(err)
	}
	short, foreign, broken := testRecord(4), testRecord(4), testRecord(4)
	short.Count[2]--
	foreign.Extra = map[string]json.RawMessage{"label": []byte("1")}
	broken.Extra = map[string]json.RawMessage{"x": []byte("1,")}
	for _, rec := range []Record{testRecord(3), short, foreign, broken} {
		if err := w.Append(rec); err == nil {
			t.Errorf("record %+v was written", rec)
		}
	}
	if err := w.Append(testRecord(4)); err != nil {
		t.Errorf("a right record after wrong ones: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Append(testRecord(5)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("append after Close: %v", err)
	}
}

func TestOneWriterAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "counts.jsonl")
	h := parseHeader(t, testHeader)
	w, _, err := Resume(path, h)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Resume(path, h); err == nil || !strings.Contains(err.Error(), "another lorica is writing") {
		t.Errorf("second writer: %v", err)
	}
	if err := Sort(path); err == nil || !strings.Contains(err.Error(), "another lorica is writing") {
		t.Errorf("sorting below a writer: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if w, _, err = Resume(path, h); err != nil {
		t.Fatalf("after Close: %v", err)
	}
	w.Close()
}

// TestResumeLocksTheFileThatIsNamed: a file that was replaced after it was
// opened must not swallow records.
func TestResumeLocksTheFileThatIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "counts.jsonl")
	h := parseHeader(t, testHeader)
	writeFile(t, path, h, 2, 1)
	old, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	if err := Sort(path); err != nil {
		t.Fatal(err)
	}
	if err := lock(old); err != nil { // what a late second process may hold
		t.Fatal(err)
	}
	writeFile(t, path, h, 3)
	if _, records, _, err := ReadAll(path); err != nil || len(records) != 3 {
		t.Errorf("%d records, %v", len(records), err)
	}
}

// TestKill kills a real process while it appends and resumes its file.
func TestKill(t *testing.T) {
	const env = "LORICA_TEST_APPEND"
	h := parseHeader(t, testHeader)
	if path := os.Getenv(env); path != "" { // the process that is killed
		w, done, err := Resume(path, h)
		if err != nil {
			t.Fatal(err)
		}
		for i := done.Len(); ; i++ {
			if err := w.Append(testRecord(i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	path := filepath.Join(t.TempDir(), "counts.jsonl")
	last := 0
	size := func() int64 {
		info, err := os.Stat(path)
		if err != nil {
			return 0
		}
		return info.Size()
	}
	for round := range 4 {
		before := size()
		cmd := exec.Command(os.Args[0], "-test.run=^TestKill$")
		cmd.Env = append(os.Environ(), env+"="+path)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for wait := 0; size() < before+1000; wait++ { // until it has written
			if wait == 20000 {
				cmd.Process.Kill()
				t.Fatal("the process writes nothing")
			}
			time.Sleep(time.Millisecond)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
		w, done, err := Resume(path, h)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		w.Close()
		if done.Len() <= last {
			t.Errorf("round %d: %d records after %d", round, done.Len(), last)
		}
		last = done.Len()
	}
	_, records, cut, err := ReadAll(path)
	if err != nil || cut || len(records) != last {
		t.Fatalf("%d records, cut %v, %v; want %d", len(records), cut, err, last)
	}
	for i, rec := range records {
		if want := testRecord(i); fmt.Sprint(rec) != fmt.Sprint(want) {
			t.Fatalf("record %d is %v, want %v", i, rec, want)
		}
	}
}

func TestIndices(t *testing.T) {
	var s Indices
	want := []int{0, 1, 63, 64, 1000, 1<<31 - 1}
	for _, i := range []int{64, 1<<31 - 1, 0, 1000, 63, 1} {
		if !s.add(i) || s.add(i) {
			t.Errorf("adding %d twice", i)
		}
	}
	if got := slices.Collect(s.All()); !slices.Equal(got, want) || s.Len() != len(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if s.Has(2) || s.Has(-1) || s.Has(65) || !s.Has(1<<31-1) {
		t.Error("Has disagrees with All")
	}
}
