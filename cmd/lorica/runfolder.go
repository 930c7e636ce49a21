package main

import (
	"encoding/json"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lorica/metrics"
)

// runMetrics is metrics.json in a run folder: the figures, and how to get them
// again.
type runMetrics struct {
	metrics.Summary
	Command []string `json:"command,omitempty"`
	Version string   `json:"version,omitempty"`
}

// commandLine is the command that repeats c: its name and the flags that were
// given, in the order of their names.
func commandLine(c *cobra.Command) []string {
	line := strings.Fields(c.CommandPath())
	c.Flags().Visit(func(f *pflag.Flag) {
		if s, ok := f.Value.(pflag.SliceValue); ok {
			line = append(line, "--"+f.Name+"="+strings.Join(s.GetSlice(), ","))
			return
		}
		line = append(line, "--"+f.Name+"="+f.Value.String())
	})
	return line
}

// writeMetrics replaces metrics.json at once.
func writeMetrics(path string, sum metrics.Summary, command []string) error {
	raw, err := json.MarshalIndent(runMetrics{sum, command, version}, "", " ")
	if err != nil {
		return err
	}
	temp := path + ".tmp"
	if err := os.WriteFile(temp, append(raw, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(temp, path)
}
