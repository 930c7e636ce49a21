package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"lorica/cluster"
)

func newStatus() *cobra.Command {
	var access cluster.Access
	asJSON := false
	c := &cobra.Command{
		Use:     "status --cluster nats://HOST:4222",
		Short:   "Show the runs and workers of a cluster",
		Long:    "List the certifications that are open on a cluster, how far they are, and all\nworkers: those at work and those that wait for a run.",
		Example: "  lorica status --cluster nats://10.0.0.1:4222",
		Args:    usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if access.URL == "" {
				return usagef("status needs --cluster (see lorica status --help)")
			}
			nc, err := cluster.Connect(access, "lorica status")
			if err != nil {
				return err
			}
			defer nc.Close()
			runs, workers, err := cluster.Status(c.Context(), nc)
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(c.OutOrStdout(), struct {
					Runs    []cluster.RunStatus    `json:"runs"`
					Workers []cluster.WorkerStatus `json:"workers"`
				}{runs, workers})
			}
			return printStatus(c.OutOrStdout(), runs, workers)
		},
	}
	registerAccess(c.Flags(), &access)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON instead of tables")
	return c
}

func printStatus(w io.Writer, runs []cluster.RunStatus, workers []cluster.WorkerStatus) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "RUN\tTITLE\tEXAMPLES\tDONE\tSAMPLES/S\tLEFT\tWORKERS\n")
	for _, r := range runs {
		s := r.Stats
		left := "?"
		if d, ok := s.Left(); ok {
			left = clock(d)
		}
		done := 0.0
		if s.OfDraws > 0 {
			done = 100 * float64(s.DrawsDone) / float64(s.OfDraws)
		}
		fmt.Fprintf(t, "%s\t%s\t%d/%d\t%.0f%%\t%s\t%s\t%d\n", r.Spec.Name, r.Spec.Title, s.Examples, s.OfExamples, done, thousands(s.Rate), left, len(s.Workers))
	}
	fmt.Fprintf(t, "\nWORKER\tENGINE\tRUN\tSAMPLES\tSINCE\n")
	for _, k := range workers {
		run, since := "waits", ""
		if k.Run != "" {
			run, since = k.Run, clock(time.Duration(k.Seconds*float64(time.Second)))
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", k.Name, k.Engine, run, thousands(float64(k.Draws)), since)
	}
	return t.Flush()
}
