package main

import (
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"slices"
	"time"
)

// side is one contestant: calls runs it n times and says how long that took
// by the clock and in processor time of all its threads.
type side struct {
	name  string
	calls func(n int) (wall, cpu time.Duration, err error)
}

// race lets the sides take turns and prints a table. On a busy machine the
// clock says little: processor time and the best round say more.
func (c *config) race(w io.Writer, title string, sides []side) error {
	walls := make([][]time.Duration, len(sides))
	cpus := make([][]time.Duration, len(sides))
	for _, s := range sides { // compile, warm up
		if _, _, err := s.calls(2); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	for round := range c.rounds {
		for i, s := range sides {
			stop, err := c.profiling(i == 0 && round == 0)
			if err != nil {
				return err
			}
			wall, cpu, err := s.calls(c.calls)
			stop()
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			walls[i] = append(walls[i], wall/time.Duration(c.calls))
			cpus[i] = append(cpus[i], cpu/time.Duration(c.calls))
		}
	}
	rate := func(d time.Duration) float64 { return float64(c.batch) / d.Seconds() }
	median := func(d []time.Duration) time.Duration { return slices.Sorted(slices.Values(d))[len(d)/2] }
	fmt.Fprintf(w, "%s, batch %d, %d threads, %d rounds of %d calls\n", title, c.batch, c.threads, c.rounds, c.calls)
	fmt.Fprintf(w, "  %-14s %14s %14s %16s\n", "", "best samples/s", "median", "per CPU second")
	for i, s := range sides {
		fmt.Fprintf(w, "  %-14s %14.0f %14.0f %16.0f\n", s.name, rate(slices.Min(walls[i])), rate(median(walls[i])), rate(slices.Min(cpus[i])))
	}
	for i := 1; i < len(sides); i++ {
		// Rounds are compared pairwise: what slows one side slows the other.
		var ratios []float64
		for r := range walls[0] {
			ratios = append(ratios, walls[i][r].Seconds()/walls[0][r].Seconds())
		}
		slices.Sort(ratios)
		fmt.Fprintf(w, "  %s / %s: %.2f best, %.2f median of rounds, %.2f by CPU time\n", sides[0].name, sides[i].name,
			slices.Min(walls[i]).Seconds()/slices.Min(walls[0]).Seconds(), ratios[len(ratios)/2],
			slices.Min(cpus[i]).Seconds()/slices.Min(cpus[0]).Seconds())
	}
	return nil
}

// profiling starts the profile on lorica's first turn of each race.
func (c *config) profiling(on bool) (stop func(), err error) {
	if !on || c.profile == "" {
		return func() {}, nil
	}
	f, err := os.Create(c.profile)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, err
	}
	return func() { pprof.StopCPUProfile(); f.Close() }, nil
}

// timed is a side of this process: f runs once a call.
func timed(name string, f func() error) side {
	return side{name, func(n int) (time.Duration, time.Duration, error) {
		wall, cpu := time.Now(), processTime()
		for range n {
			if err := f(); err != nil {
				return 0, 0, err
			}
		}
		return time.Since(wall), processTime() - cpu, nil
	}}
}
