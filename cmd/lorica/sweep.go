package main

import "github.com/spf13/cobra"

func sweep(c *cobra.Command, f trainFlags) error { return usagef("--sweep %q", f.sweep) }
