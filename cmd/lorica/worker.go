package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"lorica/cluster"
	"lorica/draw"
	"lorica/engine"
	"lorica/model"
)

func newWorker() *cobra.Command {
	var access cluster.Access
	var at place
	name := ""
	c := &cobra.Command{
		Use:   "worker --cluster nats://HOST:4222",
		Short: "Sample for certifications that run elsewhere",
		Long: `Join a cluster and sample for whatever run is open there, with this machine's
engine, until interrupted. Workers may join and leave at any time: a chunk of
work that one leaves behind is given to another, and the counts stay the same.

The model comes from the cluster and is checked by its hash. A run takes only
workers whose lorica and engine give the same draws as those it has; it tells
the others why, and they wait for another run.`,
		Example: `  lorica worker --cluster nats://10.0.0.1:4222 --engine xla:cuda
  lorica worker --cluster tls://head:4222 --nats-ca ca.pem --nats-creds worker.creds`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if access.URL == "" {
				return usagef("worker needs --cluster (see lorica worker --help)")
			}
			nc, err := cluster.Connect(access, "lorica worker "+name)
			if err != nil {
				return err
			}
			defer nc.Close()
			log := func(line string) { fmt.Fprintln(c.ErrOrStderr(), line) }
			log("worker " + name + " is ready")
			return cluster.Worker{Name: name, Version: version, Build: buildDevice(at), Log: log}.Run(c.Context(), nc)
		},
	}
	fl := c.Flags()
	registerAccess(fl, &access)
	fl.StringVar(&name, "name", workerName(), "`name` to be known by")
	fl.StringVar(&at.engine, "engine", engine.DefaultSpec, "where it runs: cpu, xla:cuda, xla:cpu or xla:/path/to/plugin.so")
	fl.StringVar(&at.precision, "precision", "", "arithmetic of the model: float32 or bfloat16 (default: the run's)")
	fl.IntVar(&at.batch, "batch", 0, "draws the device works on at once (0: the run's)")
	return c
}

func workerName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return host + "-" + strconv.Itoa(os.Getpid())
}

// builtDevice is a device that a worker closes when it needs another.
type builtDevice struct{ *device }

func (d builtDevice) Close() error { return d.close() }

// buildDevice makes a worker's sampler. The engine is the worker's own; the
// run's precision and batch hold where the worker's were not given.
func buildDevice(at place) cluster.Builder {
	return func(_ context.Context, spec cluster.Spec, raw []byte) (draw.Sampler, string, error) {
		m, err := model.Parse(spec.ModelName, raw)
		if err != nil {
			return nil, "", err
		}
		if err := m.Fits(model.Shape{C: spec.Image[0], H: spec.Image[1], W: spec.Image[2]}, spec.Classes); err != nil {
			return nil, "", err
		}
		p := at
		if p.precision == "" {
			p.precision = spec.Options["precision"]
		}
		if p.batch == 0 {
			if p.batch, err = strconv.Atoi(spec.Options["batch"]); err != nil {
				return nil, "", fmt.Errorf("the run's batch is %q: a number was expected", spec.Options["batch"])
			}
		}
		d, err := openDevice(p, m, spec.Sigma)
		if err != nil {
			return nil, "", err
		}
		return builtDevice{d}, d.Identity(), nil
	}
}
