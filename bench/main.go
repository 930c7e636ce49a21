// Command bench runs lorica's CPU engine beside its peers on the same machine,
// in turns, and prints how they compare: ONNX Runtime for forward passes,
// PyTorch for training steps. It is a module of its own, so that lorica's stays
// free of the peers' bindings.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

// config is what the command line says.
type config struct {
	runtime string
	models  []string
	python  string
	arch    string
	batch   int
	threads int
	rounds  int
	calls   int
	profile string
}

func main() {
	if err := run(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, args []string) error {
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	var c config
	models := fs.String("models", "", "ONNX files for the forward pass, separated by commas")
	fs.StringVar(&c.runtime, "onnxruntime", "", "ONNX Runtime's shared library; empty leaves that peer out")
	fs.StringVar(&c.python, "python", "", "a Python with PyTorch; empty leaves that peer out")
	fs.StringVar(&c.arch, "train", "", "architecture for the training step: resnet20 or resnet56; empty leaves training out")
	fs.IntVar(&c.batch, "batch", 64, "batch size")
	fs.IntVar(&c.threads, "threads", 2, "threads of each side")
	fs.IntVar(&c.rounds, "rounds", 8, "rounds; the sides take turns within each")
	fs.IntVar(&c.calls, "calls", 5, "calls of each side in a round")
	fs.StringVar(&c.profile, "cpuprofile", "", "write a profile of lorica's turns to this file")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if *models != "" {
		c.models = strings.Split(*models, ",")
	}
	if len(c.models) == 0 && c.arch == "" {
		return fmt.Errorf("nothing to do: give -models, -train or both")
	}
	if c.runtime != "" && len(c.models) > 0 {
		if err := startORT(c.runtime); err != nil {
			return err
		}
	}
	for _, m := range c.models {
		if err := c.forward(w, m); err != nil {
			return err
		}
	}
	if c.arch != "" {
		return c.training(w)
	}
	return nil
}
