package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"lorica/dataset"
	"lorica/report"
)

// reportFlags are what report was asked for.
type reportFlags struct {
	report.Settings
	out, data, split string
	figures, tables  string
}

func newReport() *cobra.Command {
	f := reportFlags{Settings: report.Settings{Eps: -1}}
	c := &cobra.Command{
		Use:   "report RUN...",
		Short: "Show one run or several: an HTML page, figures, tables",
		Long: `Write a page that shows which costly mistakes are still possible, how robust each
run is at each radius, and what changed between them. The page is one file: it
opens from disk, asks the network for nothing, and works without its script.

RUN is a folder with counts.jsonl and the metrics.json that 'lorica certify'
wrote: it needs no flags. It may also be a counts file alone, with --cost.

The pictures of the examples come from the data that the run was made with; where
it cannot be found, --data says where it is, or the page does without. --figures
writes every figure as SVG and PNG for papers, --tables the comparison as
Markdown, CSV and LaTeX.`,
		Example: `  lorica report demo/gaussian demo/margin-cs -o report.html
  lorica report run/counts.jsonl --cost 'cat->dog:10' --eps 0.25 --data cifar10:DIR
  lorica report run --figures figures --tables tables`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("report needs at least one run: lorica report RUN... (see lorica report --help)")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return writeReport(c, args, f) },
	}
	fl := c.Flags()
	fl.StringVarP(&f.out, "out", "o", "report.html", "`file` to write")
	fl.StringVar(&f.Cost, "cost", "", "cost `matrix`, in place of the run's own: a .csv or .json file or an expression")
	fl.Float64Var(&f.Alpha, "alpha", 0, "a claim is false with at most this probability (default: the run's own, else 0.001)")
	fl.Float64Var(&f.Eps, "eps", -1, "l2 `radius` the page opens at (default: the run's own, else 0.5)")
	fl.StringVar(&f.Procedure, "procedure", "", "joint or paper (default: the run's own, else joint)")
	fl.StringVar(&f.Counting, "count", "", "strict or harmless (default: the run's own, else strict)")
	fl.StringVar(&f.data, "data", "", "`data` set to take the pictures from")
	fl.StringVar(&f.split, "split", "", "`part` of --data")
	fl.StringVar(&f.figures, "figures", "", "write every figure as SVG and PNG into this `folder`")
	fl.StringVar(&f.tables, "tables", "", "write the comparison as Markdown, CSV and LaTeX into this `folder`")
	return c
}

func writeReport(c *cobra.Command, paths []string, f reportFlags) error {
	if c.Flags().Changed("eps") && !(f.Eps >= 0 && f.Eps <= 1e6) {
		return usagef("--eps %v: want a number, 0 or above", f.Eps)
	}
	if c.Flags().Changed("alpha") && !(f.Alpha > 0 && f.Alpha < 1) {
		return usagef("--alpha %v: want a number between 0 and 1", f.Alpha)
	}
	runs, size, err := writePage(c, paths, f)
	if err != nil {
		return err
	}
	report.Terminal(c.OutOrStdout(), runs)
	fmt.Fprintf(c.OutOrStdout(), "\nwritten to %s (%.1f MB)\n", f.out, float64(size)/1e6)
	if f.figures != "" {
		if err := writeFigures(c, runs, f.figures); err != nil {
			return err
		}
	}
	if f.tables != "" {
		return writeTables(c, runs, f.tables)
	}
	return nil
}

// writePage writes the page of some runs and says how many bytes it has.
func writePage(c *cobra.Command, paths []string, f reportFlags) ([]*report.Run, int, error) {
	runs, err := loadRuns(c, paths, f)
	if err != nil {
		return nil, 0, err
	}
	var page bytes.Buffer
	command := append(append([]string{"lorica", "report"}, paths...), flagsGiven(c, f)...)
	if err := report.Page(&page, runs, report.Options{Version: version, Command: command}); err != nil {
		return nil, 0, err
	}
	return runs, page.Len(), os.WriteFile(f.out, page.Bytes(), 0o644)
}

// flagsGiven are the flags of a report as they were given.
func flagsGiven(c *cobra.Command, f reportFlags) []string {
	if c.Name() != "report" { // demo writes one too
		return []string{"--out=" + f.out}
	}
	return commandLine(c)[2:]
}

// loadRuns reads the runs and finds their pictures.
func loadRuns(c *cobra.Command, paths []string, f reportFlags) ([]*report.Run, error) {
	var pictures dataset.Set
	if f.data != "" {
		set, err := dataset.Open(f.data, f.split)
		if err != nil {
			return nil, err
		}
		pictures, f.Names = set, set.Classes()
	}
	var runs []*report.Run
	for _, path := range paths {
		r, err := report.Load(path, f.Settings)
		if err != nil {
			return nil, err
		}
		set, err := pictures, error(nil)
		if set == nil {
			set, err = ownPictures(r)
		}
		if err == nil {
			err = r.CheckPictures(set)
		}
		if err != nil {
			if pictures != nil {
				return nil, fmt.Errorf("%s: --data %s is not the data of this run: %w", path, f.data, err)
			}
			fmt.Fprintf(c.ErrOrStderr(), "warning: %s: no pictures: %v; --data says where they are\n", path, err)
		} else {
			r.Pictures = set
		}
		runs = append(runs, r)
	}
	report.Distinguish(runs)
	return runs, nil
}

// ownPictures opens the data that the run's own command named. The data must
// be what was sampled: the header holds its identity.
func ownPictures(r *report.Run) (dataset.Set, error) {
	spec := r.Header.Data
	for i, a := range r.Command {
		if v, ok := strings.CutPrefix(a, "--data="); ok {
			spec = v
		} else if a == "--data" && i+1 < len(r.Command) {
			spec = r.Command[i+1]
		}
	}
	if kind, _, _ := strings.Cut(r.Header.Data, " "); kind == "builtin" {
		spec = "builtin"
	}
	set, err := dataset.Open(spec, r.Header.Split)
	if err != nil {
		return nil, err
	}
	if spec != r.Header.Data && set.Identity() != r.Header.Data {
		return nil, fmt.Errorf("%s is now %s, the run was made on %s", spec, set.Identity(), r.Header.Data)
	}
	return set, nil
}

func writeFigures(c *cobra.Command, runs []*report.Run, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	figures, err := report.Figures(runs)
	if err != nil {
		return err
	}
	for _, fig := range figures {
		if err := fig.Write(dir); err != nil {
			return err
		}
	}
	fmt.Fprintf(c.OutOrStdout(), "%d figures in %s, each as SVG and PNG\n", len(figures), dir)
	return nil
}

func writeTables(c *cobra.Command, runs []*report.Run, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	t := report.Table(runs, runs[0].Eps)
	for name, write := range map[string]func(*bytes.Buffer) error{
		"table.md":  func(b *bytes.Buffer) error { return t.Markdown(b) },
		"table.csv": func(b *bytes.Buffer) error { return t.CSV(b) },
		"table.tex": func(b *bytes.Buffer) error { return t.LaTeX(b) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	fmt.Fprintf(c.OutOrStdout(), "table.md, table.csv and table.tex in %s\n", dir)
	return nil
}
