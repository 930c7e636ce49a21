package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"lorica/engine"
)

func newEngines() *cobra.Command {
	return &cobra.Command{
		Use:   "engines",
		Short: "List the engines that this machine has, and how to get the rest",
		Long: `List where lorica can run models on this machine. The CPU engine is part of the
binary. XLA engines are PJRT plugins, found in the library paths, in
$PJRT_PLUGIN_LIBRARY_PATH and among Python's packages, where pip puts JAX's; none
is ever downloaded.`,
		Example: `  lorica engines`,
		Args:    usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			out := c.OutOrStdout()
			fmt.Fprintln(out, "cpu         part of lorica; float32 (bfloat16 for comparison, slower)")
			if !engine.HasXLA {
				fmt.Fprintln(out, "\n"+engine.ErrNoXLA.Error())
				return nil
			}
			first := map[string]bool{}
			for _, p := range engine.Plugins(pluginDirs()) {
				if first[p.Name] {
					continue
				}
				first[p.Name] = true
				fmt.Fprintf(out, "%-11s %s; float32, bfloat16\n", "xla:"+p.Name, p.Path)
			}
			if !first["cuda"] {
				fmt.Fprint(out, `
xla:cuda is not here. On a machine with an NVIDIA GPU and driver:
  pip install "jax[cuda12]"      (its plugin is all that is used; no Python runs)
or give any PJRT plugin by its path: --engine xla:/path/to/plugin.so
`)
			}
			if !first["cpu"] {
				fmt.Fprint(out, `
xla:cpu is not here. lorica's own CPU engine needs no plugin; to compare with XLA's,
put a pjrt_c_api_cpu_plugin.so into a folder of $PJRT_PLUGIN_LIBRARY_PATH.
`)
			}
			return nil
		},
	}
}
