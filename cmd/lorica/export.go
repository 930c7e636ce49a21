package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func newExport() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "export MODEL -o FILE.onnx",
		Short: "Write a trained model as ONNX",
		Long: `Write a checkpoint as an ONNX file that ONNX Runtime and others run: input
"image", N x C x H x W in [0,1] with any batch size, output "logits". The
normalisation is inside and the batch norms are folded into the convolutions.

MODEL is a checkpoint, an ONNX file that lorica can rewrite, or builtin:NAME.`,
		Example: `  lorica export run/checkpoint.safetensors -o model.onnx`,
		Args:    usageArgs(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if out == "" {
				return usagef("export needs -o FILE.onnx")
			}
			m, err := loadModel(args[0])
			if err != nil {
				return err
			}
			if err := m.ExportONNX(out); err != nil {
				return err
			}
			arch := m.Meta.Architecture
			if arch == "" {
				arch = "classifier"
			}
			fmt.Fprintf(c.OutOrStdout(), "%s: %s for %s images and %d classes, input \"image\", output \"logits\"\n",
				out, strings.TrimSpace(arch), m.Image, m.Labels)
			return nil
		},
	}
	c.Flags().StringVarP(&out, "out", "o", "", "ONNX `file` to write")
	return c
}
