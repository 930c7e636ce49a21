package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the release build (-ldflags "-X main.version=...").
var version = "dev"

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of lorica and of what it is built on",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			fmt.Fprintf(c.OutOrStdout(), "lorica %s (%s, %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			info, ok := debug.ReadBuildInfo()
			if !ok {
				return nil
			}
			for _, d := range info.Deps {
				switch d.Path {
				case "github.com/gomlx/gomlx", "github.com/gomlx/go-xla", "github.com/gomlx/onnx-gomlx", "github.com/nats-io/nats-server/v2":
					fmt.Fprintf(c.OutOrStdout(), "  %s %s\n", d.Path, d.Version)
				}
			}
			return nil
		},
	}
}
