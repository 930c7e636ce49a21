package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lorica/metrics"
)

var update = flag.Bool("update", false, "write the table of results/cifar10-cat anew")

// The table of results/cifar10-cat is what lorica evaluate makes of the counts
// beside it: Acc on every 20th test image, the rest on every 4th cat.
func TestResultsTable(t *testing.T) {
	dir := filepath.Join("..", "..", "results", "cifar10-cat")
	cats := strings.TrimSpace(string(readFile(t, filepath.Join(dir, "cats.txt"))))
	files, err := filepath.Glob(filepath.Join(dir, "*.counts.jsonl.gz"))
	if err != nil || len(files) < 8 {
		t.Fatalf("%d counts files, %v", len(files), err)
	}
	slices.Sort(files)
	var table bytes.Buffer
	fmt.Fprintln(&table, "| model | epochs x draws | training s | Acc | Rob_cs(.5) | Rob_cost(.5) |")
	fmt.Fprintln(&table, "|---|---|---|---|---|---|")
	for _, file := range files {
		spread, sensitive := summaryOf(t, file, "--skip", "20"), summaryOf(t, file, "--indices", cats)
		if spread.Examples != 500 || sensitive.Examples != 250 {
			t.Fatalf("%s: %d and %d examples", file, spread.Examples, sensitive.Examples)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".counts.jsonl.gz")
		budget, seconds := trainingOf(t, filepath.Join(dir, name+".train.jsonl"))
		l := sensitive.Levels[0]
		fmt.Fprintf(&table, "| %s | %s | %.0f | %s | %s | %s |\n", name, budget, seconds, percent(spread.Acc), percent(l.RobCS), meanText(l.RobCost))
	}
	readme := filepath.Join(dir, "README.md")
	text := string(readFile(t, readme))
	begin, end := strings.Index(text, "| model |"), strings.LastIndex(text, "|\n")+2
	if begin < 0 || end < begin {
		t.Fatalf("%s has no table", readme)
	}
	if *update {
		if err := os.WriteFile(readme, []byte(text[:begin]+table.String()+text[end:]), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if text[begin:end] != table.String() {
		t.Errorf("%s has\n%s\nthe counts give\n%s", readme, text[begin:end], &table)
	}
}

func summaryOf(t *testing.T, file string, part ...string) (sum metrics.Summary) {
	t.Helper()
	code, out, errs := lorica(t, append([]string{"evaluate", "--counts", file, "--cost", "cat->*", "--json"}, part...)...)
	if code != exitDone {
		t.Fatalf("%s: exit %d, %s", file, code, errs)
	}
	if err := json.Unmarshal([]byte(out), &sum); err != nil {
		t.Fatal(err)
	}
	return sum
}

// trainingOf reads a training log: its budget, and the seconds of its epochs.
func trainingOf(t *testing.T, path string) (budget string, seconds float64) {
	t.Helper()
	lines := bufio.NewScanner(bytes.NewReader(readFile(t, path)))
	for lines.Scan() {
		var l struct {
			Lorica        string
			Epochs, Draws int
			Seconds       float64
		}
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if l.Lorica != "" {
			budget = fmt.Sprintf("%d x %d", l.Epochs, l.Draws)
		}
		seconds += l.Seconds
	}
	return budget, seconds
}
