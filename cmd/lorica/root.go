package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// Exit codes (docs/design.md, Command line).
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// usageError marks a mistake in the command line: exit code 2.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// usagef is fmt.Errorf for mistakes in the command line.
func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// run executes one command line and returns the exit code. It is main without
// the process, so that tests and the documentation can call it.
func run(ctx context.Context, stdout, stderr io.Writer, args []string) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	var usage usageError
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(stderr, "lorica: interrupted; run the same command again to continue")
		return exitInterrupted
	case errors.As(err, &usage):
		fmt.Fprintln(stderr, "lorica:", err)
		return exitUsage
	default:
		fmt.Fprintln(stderr, "lorica:", err)
		return exitFailed
	}
}

// newRoot assembles the commands: one file each.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "lorica",
		Short:         "Which of a classifier's expensive mistakes nobody can force",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          usageArgs(cobra.NoArgs),
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usagef("%w (see %s --help)", err, c.CommandPath())
	})
	root.AddCommand(
		newCertify(),
		newCost(),
		newDemo(),
		newEvaluate(),
		newReport(),
		newTrain(),
		newData(),
		newMerge(),
		newExport(),
		newBench(),
		newEngines(),
		newStatus(),
		newVersion(),
		newWorker(),
	)
	return root
}
