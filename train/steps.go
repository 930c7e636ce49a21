package train

import (
	"context"
	"fmt"
	"time"

	"lorica/draw"
	"lorica/engine"
)

// outputs are the step's, in order.
var outputs = []string{"theta", "velocity", "stats", "clock", "tally"}

// train makes the steps that are left.
func (r *run) train(ctx context.Context, res *Result) error {
	var epoch sums // since the last line of the journal
	lineAt := time.Now()
	for r.step < r.total {
		if err := ctx.Err(); err != nil {
			if saveErr := r.save(); saveErr != nil {
				return saveErr
			}
			return err
		}
		before := r.step
		if err := r.advance(); err != nil {
			return fmt.Errorf("step %d: %w", r.step, err)
		}
		res.Samples += int64(r.step-before) * int64(r.Batch*r.Draws)
		epochDone := r.step/r.perEpoch != before/r.perEpoch || r.step == r.total
		if !epochDone && r.step/reportSteps == before/reportSteps {
			continue
		}
		part, err := r.read()
		if err != nil {
			return err
		}
		epoch.add(part)
		p := Progress{Step: r.step, Steps: r.total, Epoch: r.step / r.perEpoch, Epochs: r.Epochs, Samples: res.Samples, Last: r.line(part, time.Since(lineAt)), EpochDone: epochDone}
		if epochDone {
			p.Last = r.line(epoch, time.Since(lineAt))
			if p.Last.Held, err = r.look(p.Epoch); err != nil {
				return err
			}
			if err := r.journal.append(p.Last); err != nil {
				return err
			}
			epoch, lineAt = sums{}, time.Now()
		}
		if r.task.Watch != nil {
			r.task.Watch(p)
		}
		if time.Since(r.savedAt) >= r.task.SaveEvery {
			if err := r.save(); err != nil {
				return err
			}
		}
	}
	return r.save()
}

// advance makes one execution: the attack, then Unroll steps.
func (r *run) advance() error {
	if r.step > 0 && r.step%r.window == 0 {
		if err := r.openWindow(); err != nil {
			return err
		}
	}
	if r.hostNoise {
		if err := r.makeNoise(); err != nil {
			return err
		}
	}
	if r.attacks() {
		push := r.zeros
		for range r.AttackSteps {
			r.values["push"] = push
			out, err := r.attack.run(r.values)
			if err != nil {
				return err
			}
			if push != r.zeros {
				if err := push.FinalizeAll(); err != nil {
					return err
				}
			}
			push = out[0]
		}
		r.values["push"] = push
	}
	out, err := r.program.run(r.values)
	if err != nil {
		return err
	}
	for i, name := range outputs {
		r.values[name] = out[i]
	}
	r.step = min(r.step+r.Unroll, r.total)
	return nil
}

// makeNoise sends the noise of the step's draws: those of the graph that a
// device makes it with, up to rounding.
func (r *run) makeNoise() error {
	from := r.step % r.window * r.Batch
	var examples, indices []uint32
	for _, i := range r.batches[from : from+r.Batch] {
		for k := range r.Draws {
			examples, indices = append(examples, uint32(i)), append(indices, uint32(r.step*r.Draws+k))
		}
	}
	engine.NoiseRows(r.noise, r.Sigma, r.Seed, phaseNoise, examples, indices)
	delete(r.values, "noise") // the last one was spent
	return r.put("noise", r.noise, len(examples), len(r.noise)/len(examples))
}

// sums are the sums of the steps' tallies.
type sums [tallyWords]float64

func (s *sums) add(o sums) {
	for i, v := range o {
		s[i] += v
	}
}

// read takes the tally off the device and begins a new one. A bad step ends the
// run here.
func (r *run) read() (s sums, err error) {
	words := make([]float32, tallyWords)
	if err := download(r.backend, r.values["tally"], words); err != nil {
		return s, err
	}
	clock := make([]uint32, clockWords)
	if err := download(r.backend, r.values["clock"], clock); err != nil {
		return s, err
	}
	if bad := clock[clockBad]; bad != never {
		return s, r.stopAt(int(bad))
	}
	for i, v := range words {
		s[i] = float64(v)
	}
	return s, r.put("tally", make([]float32, tallyWords), tallyWords)
}

// stopAt saves the weights, which no step has changed since the bad one, and
// says what happened.
func (r *run) stopAt(step int) error {
	r.step = step
	e := &NotFiniteError{Step: step, Epoch: step / r.perEpoch, Checkpoint: checkpointFile(r.task.Dir, step)}
	from := step % r.perEpoch * r.Batch
	e.Examples = order(r.Seed, e.Epoch, r.task.Data.Len())[from : from+r.Batch]
	if err := r.save(); err != nil {
		return err
	}
	return e
}

// line is the journal's line for some steps.
func (r *run) line(s sums, took time.Duration) Epoch {
	n := max(s[tallySteps], 1)
	e := Epoch{
		Epoch: r.step / r.perEpoch, Step: r.step, LR: r.rate(max(r.step-1, 0), r.perEpoch, r.total),
		Loss: s[tallyLoss] / n, Classification: s[tallyClassification] / n, Sensitive: s[tallySensitive] / n, Normal: s[tallyNormal] / n,
		Right: s[tallyRight] / n, Norm: s[tallyNorm] / n, Seconds: took.Seconds(),
	}
	if took > 0 {
		e.SamplesPerS = s[tallySteps] * float64(r.Batch*r.Draws) / took.Seconds()
	}
	return e
}

// look estimates the classifier where it is time to and the monitor is ready.
func (r *run) look(epoch int) (*Estimate, error) {
	if r.monitor == nil || epoch%max(r.task.LookEvery, 1) != 0 && r.step < r.total {
		return nil, nil
	}
	if r.held == nil {
		select {
		case r.held = <-r.monitor:
		default:
		}
	}
	if r.held == nil {
		return nil, nil
	}
	e, err := r.held.look(r.values["theta"], r.values["stats"], draw.Key(r.Seed))
	return &e, err
}
