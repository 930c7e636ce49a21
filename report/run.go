package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lorica/certify"
	"lorica/cost"
	"lorica/counts"
	"lorica/metrics"
)

// Run is one sampled model, certified under one cost matrix.
type Run struct {
	Name     string // what the page calls it; unique
	Path     string // of its counts
	Header   counts.Header
	Records  []counts.Record
	Params   certify.Params
	Sampled  *certify.Adaptive // how draws were stopped; nil where their number was fixed
	Counting metrics.Counting
	Eps      float64 // the radius it was stated for
	Results  []certify.Result
	Set      *metrics.Set
	Summary  metrics.Summary
	Command  []string // that made it, where the run says so
	Version  string   // of lorica that sampled it, where the run says so

	// Pictures are the images of its examples, or nil.
	Pictures Pictures
}

// Settings is what turns counts into figures. A field that is empty is taken
// from the run's metrics.json, else from the default.
type Settings struct {
	Cost      string  // expression or file
	Alpha     float64 // 0: not given
	Eps       float64 // below 0: not given
	Procedure string
	Counting  string
	Names     []string // of the classes, where the counts do not name them
}

// The defaults of a bare counts file. It has none for the costs.
const (
	defaultAlpha = 0.001
	defaultEps   = 0.5
)

// saved is the part of metrics.json that the report needs.
type saved struct {
	Cost      string   `json:"cost"`
	Names     []string `json:"names"`
	Alpha     float64  `json:"alpha"`
	Procedure string   `json:"procedure"`
	Counting  string   `json:"count"`
	Split     string   `json:"alpha_split"`
	Randomize bool     `json:"randomise"`
	Levels    []struct {
		Eps float64 `json:"eps"`
	} `json:"levels"`
	Command []string `json:"command"`
	Version string   `json:"version"`
}

// Load reads a run: a folder with counts.jsonl and, so that nothing else need
// be said, the metrics.json that lorica certify and lorica evaluate write; or
// a counts file alone. What s gives takes precedence.
func Load(path string, s Settings) (*Run, error) {
	file, folder := path, filepath.Dir(path)
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		folder, file = path, filepath.Join(path, "counts.jsonl")
	}
	var m saved
	if info.IsDir() || filepath.Base(path) == "counts.jsonl" {
		if m, err = readSaved(filepath.Join(folder, "metrics.json")); err != nil {
			return nil, err
		}
	}
	r := &Run{Name: runName(path), Path: file, Command: m.Command, Version: m.Version}
	var cut bool
	if r.Header, r.Records, cut, err = counts.ReadAll(file); err != nil {
		return nil, err
	}
	if len(r.Records) == 0 {
		return nil, fmt.Errorf("%s: no examples yet", file)
	}
	if err := r.certify(s, m); err != nil {
		return nil, err
	}
	if cut {
		r.Summary.Warnings = append(r.Summary.Warnings, "the last line of the counts is cut short and was left out: the run has not ended")
	}
	return r, nil
}

// runName is the last part of a path that says something.
func runName(path string) string {
	path = filepath.Clean(path)
	if filepath.Base(path) == "counts.jsonl" && filepath.Dir(path) != "." {
		path = filepath.Dir(path)
	}
	base := filepath.Base(path)
	if base == "." || base == ".." || base == string(filepath.Separator) {
		if abs, err := filepath.Abs(path); err == nil {
			base = filepath.Base(abs)
		}
	}
	return strings.TrimSuffix(strings.TrimSuffix(base, ".gz"), ".jsonl")
}

func readSaved(path string) (m saved, err error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	} else if err != nil {
		return m, err
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return m, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// certify fills in all that follows from the counts.
func (r *Run) certify(s Settings, m saved) error {
	names := r.Header.Names
	for _, n := range [][]string{m.Names, s.Names} {
		if names == nil && len(n) == r.Header.Classes {
			names = n
		}
	}
	expr, alpha := first(s.Cost, m.Cost), first(s.Alpha, m.Alpha, defaultAlpha)
	if expr == "" {
		return fmt.Errorf("%s: no costs: there is no metrics.json beside it that says what a mistake costs; give --cost, as in --cost 'cat->*' or --cost costs.csv", r.Path)
	}
	matrix, err := cost.Parse(expr, r.Header.Classes, names)
	if err != nil {
		return fmt.Errorf("%s: %w", r.Path, err)
	}
	procedure, err := certify.ParseProcedure(first(s.Procedure, m.Procedure, string(certify.Joint)))
	if err != nil {
		return err
	}
	if r.Counting, err = metrics.ParseCounting(first(s.Counting, m.Counting, string(metrics.Strict))); err != nil {
		return err
	}
	r.Eps = s.Eps
	if r.Eps < 0 {
		r.Eps = defaultEps
		if len(m.Levels) > 0 {
			r.Eps = m.Levels[0].Eps
		}
	}
	r.Params = certify.Params{Sigma: r.Header.Sigma, Alpha: alpha, Procedure: procedure, Cost: matrix,
		Randomize: m.Randomize, Seed: r.Header.Seed}
	if m.Split != "" && procedure != certify.Paper { // the paper's procedure has its own
		if r.Params.Split, err = certify.ParseSplit(m.Split); err != nil {
			return fmt.Errorf("%s: %w", r.Path, err)
		}
	}
	if r.Sampled, err = certify.FromHeader(r.Header); err != nil {
		return fmt.Errorf("%s: %w", r.Path, err)
	}
	if r.Sampled != nil {
		r.Params.Schedule = &r.Sampled.Schedule
	}
	r.Results = make([]certify.Result, len(r.Records))
	for i, rec := range r.Records {
		if r.Results[i], err = certify.FromCounts(rec, r.Params); err != nil {
			return fmt.Errorf("%s: %w", r.Path, err)
		}
	}
	if r.Set, err = metrics.NewSet(r.Results, matrix, r.Counting); err != nil {
		return fmt.Errorf("%s: %w", r.Path, err)
	}
	if r.Summary, err = metrics.Compute(r.Results, r.Params, metrics.Options{Eps: []float64{r.Eps}, Counting: r.Counting}); err != nil {
		return fmt.Errorf("%s: %w", r.Path, err)
	}
	r.Summary.Warnings = append(r.Summary.Warnings, r.Sampled.Doubts(r.Params, string(r.Counting), []float64{r.Eps})...)
	return nil
}

// first is the first value that is not empty.
func first[T comparable](values ...T) T {
	var none T
	for _, v := range values {
		if v != none {
			return v
		}
	}
	return none
}

// counted is a radius under the run's way of counting.
func (r *Run) counted(res certify.Result, radius float64) float64 {
	if r.Counting == metrics.Strict && !res.Correct() {
		return 0
	}
	return radius
}

// sensitiveClasses are the labels with a costly mistake that the run has
// examples of.
func (r *Run) sensitiveClasses() []int {
	var out []int
	for _, res := range r.Results {
		if res.Sensitive && !slices.Contains(out, res.Label) {
			out = append(out, res.Label)
		}
	}
	slices.Sort(out)
	return out
}

// Distinguish gives runs of the same name different ones, by their folder and,
// where that does not help, a number.
func Distinguish(runs []*Run) {
	clash := func() map[string]int {
		n := map[string]int{}
		for _, r := range runs {
			n[r.Name]++
		}
		return n
	}
	for n, i := clash(), 0; i < len(runs); i++ {
		if n[runs[i].Name] > 1 {
			if abs, err := filepath.Abs(runs[i].Path); err == nil {
				folder := filepath.Dir(abs)
				if filepath.Base(folder) == runs[i].Name {
					folder = filepath.Dir(folder)
				}
				runs[i].Name = filepath.Base(folder) + "/" + runs[i].Name
			}
		}
	}
	for n, i := clash(), 0; i < len(runs); i++ {
		if n[runs[i].Name] > 1 {
			runs[i].Name = fmt.Sprintf("%s (%d)", runs[i].Name, i+1)
		}
	}
}
