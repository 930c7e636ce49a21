package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// meter shows how far a long job is: a line that repaints itself on a
// terminal, a line now and then elsewhere. It is silent for the first two
// seconds, so that short jobs stay quiet.
type meter struct {
	w        io.Writer
	terminal bool
	unit     string // what is counted a second: "samples"
	start    time.Time
	last     time.Time
	shown    int // width of the line on the terminal
}

const (
	quiet         = 2 * time.Second
	repaintEvery  = 200 * time.Millisecond
	printLogEvery = 15 * time.Second
)

func newMeter(w io.Writer, unit string) *meter {
	f, ok := w.(*os.File)
	if ok {
		info, err := f.Stat()
		ok = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	now := time.Now()
	return &meter{w: w, terminal: ok, unit: unit, start: now, last: now}
}

// show reports that done of total units are finished; label says what a person
// counts ("12/100 examples"). The estimate of the time left assumes the mean
// rate so far.
func (m *meter) show(done, total int64, label string) {
	now := time.Now()
	every := printLogEvery
	if m.terminal {
		every = repaintEvery
	}
	if now.Sub(m.start) < quiet || now.Sub(m.last) < every {
		return
	}
	m.last = now
	elapsed := now.Sub(m.start).Seconds()
	rate := float64(done) / elapsed
	left := "?"
	if rate > 0 {
		left = clock(time.Duration(float64(total-done) / rate * float64(time.Second)))
	}
	share := 1.0
	if total > 0 {
		share = float64(done) / float64(total)
	}
	if !m.terminal {
		fmt.Fprintf(m.w, "%s, %.0f%%, %s %s/s, %s left\n", label, 100*share, thousands(rate), m.unit, left)
		return
	}
	const width = 24
	full := int(share * width)
	line := fmt.Sprintf("%s%s %3.0f%%  %s  %s %s/s  %s left",
		strings.Repeat("█", full), strings.Repeat("░", width-full), 100*share, label, thousands(rate), m.unit, left)
	pad := max(m.shown-len([]rune(line)), 0)
	m.shown = len([]rune(line))
	fmt.Fprintf(m.w, "\r%s%s", line, strings.Repeat(" ", pad))
}

// done clears the line, for the results that follow.
func (m *meter) done() {
	if m.terminal && m.shown > 0 {
		fmt.Fprintf(m.w, "\r%s\r", strings.Repeat(" ", m.shown))
		m.shown = 0
	}
}

// total says what a long job came to.
func (m *meter) total(done int64, note string) {
	if t := time.Since(m.start); t >= quiet {
		fmt.Fprintf(m.w, "%s %s in %.1f s: %s a second%s\n", thousands(float64(done)), m.unit, t.Seconds(), thousands(float64(done)/t.Seconds()), note)
	}
}

// clock writes a duration the way people say it: 1 h 05 m, 3 m 20 s, 8 s.
func clock(d time.Duration) string {
	s := int(d.Round(time.Second).Seconds())
	switch {
	case s >= 3600:
		return fmt.Sprintf("%d h %02d m", s/3600, s%3600/60)
	case s >= 60:
		return fmt.Sprintf("%d m %02d s", s/60, s%60)
	default:
		return fmt.Sprintf("%d s", s)
	}
}

// thousands writes a rate with its thousands set apart.
func thousands(v float64) string {
	s := fmt.Sprintf("%.0f", v)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
