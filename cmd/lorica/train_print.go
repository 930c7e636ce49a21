package main

import (
	"fmt"
	"io"

	"lorica/train"
)

// trainMeter shows a run: a line that repaints itself, and a line an epoch.
type trainMeter struct {
	*meter
	first train.Progress
	began bool
}

func newTrainMeter(w io.Writer) *trainMeter { return &trainMeter{meter: newMeter(w, "samples")} }

func (m *trainMeter) watch(p train.Progress) {
	if !m.began { // the rate leaves compilation out
		m.meter = newMeter(m.w, m.unit)
		m.first, m.began = p, true
	}
	if p.EpochDone {
		m.done()
		fmt.Fprintf(m.w, "epoch %d/%d  %s\n", p.Epoch, p.Epochs, lossText(p.Last))
		return
	}
	perStep := p.Samples
	if p.Step > 0 {
		perStep = max(p.Samples-m.first.Samples, 0) / int64(max(p.Step-m.first.Step, 1))
	}
	done := int64(p.Step-m.first.Step) * perStep
	m.show(done, done+int64(p.Steps-p.Step)*perStep, fmt.Sprintf("epoch %d/%d loss %.3f", p.Epoch+1, p.Epochs, p.Last.Loss))
}

// lossText is an epoch in one line.
func lossText(e train.Epoch) string {
	s := fmt.Sprintf("loss %.4f = classification %.4f, robust sensitive %.4f, normal %.4f  right %.1f%%  %s samples/s",
		e.Loss, e.Classification, e.Sensitive, e.Normal, 100*e.Right, thousands(e.SamplesPerS))
	if e.Held != nil {
		s += fmt.Sprintf("  held out: Acc ~%.1f%% Rob_cs ~%.1f%% Rob_cost ~%.2f", 100*e.Held.Acc, 100*e.Held.RobCS, e.Held.RobCost)
	}
	return s
}

// result says what a run came to.
func (m *trainMeter) result(w io.Writer, res train.Result) error {
	rate := 0.0
	if res.Train > 0 {
		rate = float64(res.Samples) / res.Train.Seconds()
	}
	_, err := fmt.Fprintf(w, "trained on %s noisy images in %.1f s (%s a second) after %.1f s of compiling\nwritten to %s\n",
		thousands(float64(res.Samples)), res.Train.Seconds(), thousands(rate), res.Compile.Seconds(), res.Model)
	return err
}
