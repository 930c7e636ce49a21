package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"lorica/draw"
	"lorica/engine"
	"lorica/model"
)

type benchFlags struct {
	at          place
	model       string
	batches     []int
	layout      string
	seconds     float64
	check       int
	compileOnly bool
	limits      bool
	json        bool
}

// benchResult is one line of the benchmark.
type benchResult struct {
	Model      string         `json:"model"`
	Engine     string         `json:"engine"`
	Batch      int            `json:"batch"`
	OpenS      float64        `json:"open_s"`
	CompileS   float64        `json:"compile_s"`
	FirstS     float64        `json:"first_batch_s"`
	Samples    int64          `json:"samples,omitempty"`
	Seconds    float64        `json:"seconds,omitempty"`
	PerSecond  float64        `json:"samples_per_s,omitempty"`
	Cost       model.Cost     `json:"cost_per_sample"`
	Limits     *engine.Limits `json:"limits,omitempty"`
	FLOPShare  float64        `json:"flop_share,omitempty"`      // of the measured FLOP/s
	BandShare  float64        `json:"bandwidth_share,omitempty"` // of the measured bytes/s
	CheckDraws int            `json:"check_draws,omitempty"`
	CheckDiff  int64          `json:"check_differing,omitempty"`
}

func newBench() *cobra.Command {
	f := benchFlags{}
	c := &cobra.Command{
		Use:   "bench [--model MODEL] [--engine E] [--precision P]",
		Short: "Samples a second of an engine on a model, and the share of the machine's limit",
		Long: `Run the sampler that certification runs (noise, forward pass, arg max, counts) on
one engine for a few seconds and print samples a second, the time to compile, and
what share of the machine that is: of the FLOP/s that a large matrix product
reaches and of the bytes a second that a large copy reaches on the same engine,
both measured now. The work of a sample is counted from the model's layers; its
bytes are those of activations that are written and read once.

MODEL is an ONNX file, a checkpoint or builtin:NAME. --check N draws N samples on
this engine and on the CPU in float32 and says how many were counted differently.`,
		Example: `  lorica bench --model builtin:gaussian
  lorica bench --model resnet56.onnx --engine xla:cuda --precision bfloat16 --batches 512,1024,4096 --json`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return benchRun(c, f) },
	}
	fl := c.Flags()
	fl.StringVar(&f.model, "model", "builtin:gaussian", "`model` to run: ONNX, checkpoint or builtin:NAME")
	f.at.register(fl)
	fl.Lookup("batch").Usage = "rows of the compiled program (0: chosen to fit, as certify does)"
	fl.IntSliceVar(&f.batches, "batches", nil, "several numbers of rows, one after the other (instead of --batch)")
	fl.Float64Var(&f.seconds, "seconds", 5, "time to measure for, each number of rows")
	fl.IntVar(&f.check, "check", 0, "compare `N` draws with the CPU in float32")
	fl.BoolVar(&f.limits, "limits", true, "measure the machine's limits too")
	fl.BoolVar(&f.json, "json", false, "print one JSON object a line")
	fl.BoolVar(&f.compileOnly, "compile-only", false, "stop after the first batch (to time start-up)")
	fl.StringVar(&f.layout, "layout", "", "layout of activations: nhwc or nchw")
	for _, hidden := range []string{"compile-only", "layout"} {
		if err := fl.MarkHidden(hidden); err != nil {
			panic(err)
		}
	}
	return c
}

func benchRun(c *cobra.Command, f benchFlags) (err error) {
	if err := (engine.SamplerConfig{Precision: engine.Precision(f.at.precision), Rows: f.at.batch, Layout: f.layout}).Validate(); err != nil {
		return usageError{err}
	}
	m, err := loadModel(f.model)
	if err != nil {
		return err
	}
	if len(f.batches) == 0 {
		f.batches = []int{f.at.batch}
	}
	start := time.Now()
	e, err := openEngine(f.at.engine)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	open := time.Since(start)

	var limits *engine.Limits
	if f.limits && !f.compileOnly {
		l, err := engine.MeasureLimits(e, engine.Precision(f.at.precision))
		if err != nil {
			return fmt.Errorf("measuring the machine: %w", err)
		}
		limits = &l
	}
	var results []benchResult
	for _, batch := range f.batches {
		r, err := benchBatch(c.Context(), e, m, f, batch)
		if err != nil {
			return err
		}
		r.OpenS = open.Seconds()
		if limits != nil && r.PerSecond > 0 {
			r.Limits = limits
			width := 4.0
			if f.at.precision == string(engine.BFloat16) {
				width = 2
			}
			r.FLOPShare = r.PerSecond * r.Cost.FLOPs / limits.FLOPS
			r.BandShare = r.PerSecond * r.Cost.Values * width / limits.Bandwidth
		}
		if f.json {
			if err := json.NewEncoder(c.OutOrStdout()).Encode(r); err != nil {
				return err
			}
		}
		results = append(results, r)
	}
	if f.json {
		return nil
	}
	return printBench(c.OutOrStdout(), results, f)
}

// benchBatch measures one batch size. Its jobs are like certification's: chunks
// of a thousand draws of different images.
func benchBatch(ctx context.Context, e *engine.Engine, m *model.Model, f benchFlags, batch int) (benchResult, error) {
	r := benchResult{Model: f.model, Cost: m.Cost()}
	cfg := engine.SamplerConfig{Sigma: 0.5, Precision: engine.Precision(f.at.precision), Rows: batch, Layout: f.layout}
	s, err := engine.NewSampler(e, m, cfg)
	if err != nil {
		return r, err
	}
	defer s.Close()
	jobs := benchJobs(m, 4*s.Batch())
	start := time.Now()
	if _, err := s.Sample(ctx, benchJobs(m, s.Batch())); err != nil {
		return r, err
	}
	r.FirstS = time.Since(start).Seconds()
	r.Engine, r.Batch, r.CompileS = s.Identity(), s.Batch(), s.CompileTime().Seconds()
	if !f.compileOnly {
		// Two calls at once, as the sampling loop makes them.
		start = time.Now()
		deadline := start.Add(time.Duration(f.seconds * float64(time.Second)))
		done := make(chan int64)
		failed := make(chan error, 2)
		for range 2 {
			go func() {
				n := int64(0)
				for time.Now().Before(deadline) && ctx.Err() == nil {
					if _, err := s.Sample(ctx, jobs); err != nil {
						failed <- err
						break
					}
					n += int64(4 * s.Batch())
				}
				done <- n
			}()
		}
		r.Samples = <-done + <-done
		r.Seconds = time.Since(start).Seconds()
		r.PerSecond = float64(r.Samples) / r.Seconds
		if err := ctx.Err(); err != nil {
			return r, err
		}
		select {
		case err := <-failed:
			return r, err
		default:
		}
	}
	if f.check > 0 {
		if r.CheckDiff, err = compareWithCPU(ctx, s, m, f.check); err != nil {
			return r, err
		}
		r.CheckDraws = f.check
	}
	return r, nil
}

func benchJobs(m *model.Model, draws int) []draw.Job {
	const chunk, images = 1000, 16
	var jobs []draw.Job
	for i := 0; draws > 0; i++ {
		image := make([]float32, m.Image.Size())
		draw.Noise(image, 1, draw.Select, i%images, 0)
		for k, v := range image {
			image[k] = min(max(0.5+0.25*v, 0), 1)
		}
		n := min(chunk, draws)
		jobs = append(jobs, draw.Job{Image: image, Chunk: draw.Chunk{Seed: 1, Phase: draw.Estimate,
			Example: i % images, First: int64(i/images) * chunk, Count: n}})
		draws -= n
	}
	return jobs
}

// compareWithCPU counts the draws that a sampler and the CPU disagree on, from
// the differences of their counts.
func compareWithCPU(ctx context.Context, s *engine.Sampler, m *model.Model, draws int) (int64, error) {
	e, err := engine.Open(engine.DefaultSpec, engine.Config{})
	if err != nil {
		return 0, err
	}
	defer e.Close()
	cpu, err := engine.NewSampler(e, m, engine.DefaultSamplerConfig())
	if err != nil {
		return 0, err
	}
	defer cpu.Close()
	jobs := benchJobs(m, draws)
	got, err := s.Sample(ctx, jobs)
	if err != nil {
		return 0, err
	}
	want, err := cpu.Sample(ctx, jobs)
	if err != nil {
		return 0, err
	}
	var differing int64
	for i := range got {
		for k, v := range got[i].Counts {
			differing += max(v-want[i].Counts[k], 0)
		}
		differing += max(got[i].Invalid-want[i].Invalid, 0)
	}
	return differing, nil
}

func printBench(out io.Writer, results []benchResult, f benchFlags) error {
	if len(results) == 0 {
		return nil
	}
	r := results[0]
	fmt.Fprintf(out, "%s on %s\n", f.model, r.Engine)
	if r.Cost.FLOPs > 0 {
		fmt.Fprintf(out, "a sample: %.1f MFLOP, %.0f thousand activations moved\n", r.Cost.FLOPs/1e6, r.Cost.Values/1e3)
	}
	if l := r.Limits; l != nil {
		fmt.Fprintf(out, "the machine: %.4g GFLOP/s in a matrix product, %.4g GB/s in a copy\n", l.FLOPS/1e9, l.Bandwidth/1e9)
	}
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "batch\tsamples/s\tof FLOP/s\tof bytes/s\topen s\tcompile s\tfirst batch s\tdiffering\t")
	share := func(v float64) string {
		if v == 0 {
			return "-"
		}
		return fmt.Sprintf("%.1f%%", 100*v)
	}
	for _, r := range results {
		differing := "-"
		if r.CheckDraws > 0 {
			differing = fmt.Sprintf("%d of %d", r.CheckDiff, r.CheckDraws)
		}
		fmt.Fprintf(w, "%d\t%.0f\t%s\t%s\t%.1f\t%.1f\t%.2f\t%s\t\n", r.Batch, r.PerSecond, share(r.FLOPShare), share(r.BandShare),
			r.OpenS, r.CompileS, r.FirstS, differing)
	}
	return w.Flush()
}
