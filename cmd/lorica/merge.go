package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"lorica/counts"
)

func newMerge() *cobra.Command {
	return &cobra.Command{
		Use:   "merge OUT FILE...",
		Short: "Join counts files of one run into one",
		Long: `Join counts files that were sampled in parts (other examples, other machines)
into one new file, ordered by example.

The headers must describe the same draws: model, data, sigma, n0, n, seed and
engine. An example that stands in two files with the same counts is kept once;
with other counts it is a conflict, and nothing is written. OUT must not exist.`,
		Example: "  lorica merge all.jsonl part1/counts.jsonl part2/counts.jsonl.gz",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usagef("merge needs a file to write and at least one to read: lorica merge OUT FILE...")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			did, err := counts.Merge(args[0], args[1:]...)
			if err != nil {
				return err
			}
			for _, path := range did.Cut {
				fmt.Fprintf(c.ErrOrStderr(), "warning: the last line of %s is cut short and was left out\n", path)
			}
			fmt.Fprintf(c.OutOrStdout(), "%s: %d examples from %d files, %d identical repeats dropped\n",
				args[0], did.Records, len(args)-1, did.Repeats)
			return nil
		},
	}
}
