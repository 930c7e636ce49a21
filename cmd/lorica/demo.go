package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"lorica/metrics"
	"lorica/report"
	"lorica/smooth"
)

// demoEps is the radius the demo speaks of.
const demoEps = 0.5

func newDemo() *cobra.Command {
	var out string
	var at place
	c := &cobra.Command{
		Use:   "demo",
		Short: "The whole story in a minute, on what this binary carries",
		Long: `Certify two ResNet-20 models on 101 real CIFAR-10 test images and compare them.
One was trained with Gaussian noise only, the other so that no mistake on a cat
can be forced (Margin-CS, cost cat->*). Models and images are in this binary.`,
		Example: "  lorica demo --out demo",
		Args:    usageArgs(cobra.NoArgs),
		RunE:    func(c *cobra.Command, _ []string) error { return demo(c, out, at) },
	}
	c.Flags().StringVar(&out, "out", "demo", "`folder` for the two runs and the report")
	at.register(c.Flags())
	return c
}

// demoModels are the two sides of the story.
var demoModels = []struct{ name, title string }{
	{"gaussian", "before: trained with noise alone (Gaussian)"},
	{"margin-cs", "after: trained for cat->* (Margin-CS)"},
}

func demo(c *cobra.Command, out string, at place) error {
	w := c.OutOrStdout()
	fmt.Fprintf(w, "101 real CIFAR-10 images, every mistake on a cat is costly (cat->*), noise sigma 0.5.\n\n")
	var sums []metrics.Summary
	var paths []string
	for _, m := range demoModels {
		sum, err := demoRun(c, m.name, filepath.Join(out, m.name), at)
		if err != nil {
			return err
		}
		sums, paths = append(sums, sum), append(paths, filepath.Join(out, m.name))
		demoLine(w, m.title, sum)
	}
	before, after := sums[0].Levels[0].RobCS, sums[1].Levels[0].RobCS
	fmt.Fprintf(w, "\nWithin an l2 distance of %g a costly mistake is not ruled out on %d of %d cats before, and on %d\n"+
		"after. For the other %d it is proved that nobody can force one, each with probability 0.999.\n",
		demoEps, before.Of-before.Hits, before.Of, after.Of-after.Hits, after.Hits)
	page := filepath.Join(out, "report.html")
	if _, _, err := writePage(c, paths, reportFlags{Settings: report.Settings{Eps: -1}, out: page}); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nLook at it: open %s in a browser.\nThe runs are in %s. Ask them another question, with no new draw:\n"+
		"  lorica evaluate --counts %s --cost 'cat->dog:10,deer:1' --eps 0.25,0.5\n",
		page, out, filepath.Join(out, "margin-cs", "counts.jsonl"))
	return nil
}

func demoRun(c *cobra.Command, name, out string, at place) (metrics.Summary, error) {
	f := certifyFlags{Config: smooth.DefaultConfig(), at: at, model: "builtin:" + name, data: "builtin", out: out, skip: 1}
	// At most 3000 draws where it is close, a few hundred on average: better
	// answers from fewer draws than 500 for every image.
	f.N = 3000
	f.adaptive.decide = fmt.Sprint(demoEps)
	f.question = question{Cost: "cat->*", Alpha: 0.001, Eps: fmt.Sprint(demoEps), Procedure: "joint", Count: "strict"}
	run, err := prepare(c, f)
	if err != nil {
		return metrics.Summary{}, err
	}
	if err := run.sample(c); err != nil {
		return metrics.Summary{}, err
	}
	return run.conclude(c)
}

// demoLine is one model's figures.
func demoLine(w io.Writer, title string, s metrics.Summary) {
	l := s.Levels[0]
	fmt.Fprintf(w, "%s\n  Acc       %s of all images: right, and proved\n  Rob_cs    %s of the cats: no costly mistake can be forced within %g\n"+
		"  Rob_cost  %s a cat: cost of the mistakes that are not ruled out\n",
		title, percent(s.Acc), percent(l.RobCS), l.Eps, meanText(l.RobCost))
}
