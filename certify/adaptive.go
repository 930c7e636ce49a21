package certify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"lorica/bound"
	"lorica/counts"
)

// A run that stops each example when its question is answered chooses n by
// looking at the counts, and a bound made for a fixed n is then false more
// often than alpha says. Such a run keeps in its header the looks at which it
// could stop, and in each record the stage at which it did; FromCounts uses the
// bounds of that schedule and refuses a record of the one kind under the
// parameters of the other.

// Names of the fields in a counts file that make it one of an adaptive run.
const (
	adaptiveField = "adaptive" // of the header
	stageField    = "stage"    // of a record: the number of its look, from 1
)

// StagedClopperPearson names the bounds of package bound's Schedule.
const StagedClopperPearson = "staged-clopper-pearson"

// Adaptive says how an adaptive run samples. It is written into the header.
type Adaptive struct {
	Bounds string `json:"bounds"` // StagedClopperPearson
	bound.Schedule
	Asked Asked `json:"asked"`
}

// Asked is the question that decided when an example had enough draws. It
// changes no guarantee: certificates from the counts are valid for every other
// question too, only less strong than a run that had asked it.
type Asked struct {
	Cost      string    `json:"cost"` // as an expression
	Alpha     float64   `json:"alpha"`
	Procedure Procedure `json:"procedure"`
	Count     string    `json:"count"`
	Eps       []float64 `json:"eps,omitempty"`              // decide whether radii are above these
	Tolerance float64   `json:"radius_tolerance,omitempty"` // know radii this well
}

// Header returns the header of a run that samples this way.
func (a Adaptive) Header(h counts.Header) (counts.Header, error) {
	if err := a.validate(h.N); err != nil {
		return h, err
	}
	raw, err := json.Marshal(a)
	if err != nil {
		return h, err
	}
	extra := map[string]json.RawMessage{adaptiveField: raw}
	for key, value := range h.Extra {
		if key != adaptiveField {
			extra[key] = value
		}
	}
	h.Extra = extra
	return h, nil
}

// FromHeader finds out how a file was sampled; nil where every example has the
// number of draws that was planned for it.
func FromHeader(h counts.Header) (*Adaptive, error) {
	raw, ok := h.Extra[adaptiveField]
	if !ok {
		return nil, nil
	}
	a := new(Adaptive)
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields() // what is not known might change the bounds
	if err := dec.Decode(a); err != nil {
		return nil, fmt.Errorf("header field %q: %w", adaptiveField, err)
	}
	if err := a.validate(h.N); err != nil {
		return nil, fmt.Errorf("header field %q: %w", adaptiveField, err)
	}
	return a, nil
}

func (a *Adaptive) validate(n int64) error {
	if a.Bounds != StagedClopperPearson {
		return fmt.Errorf("bounds %q are unknown: want %q", a.Bounds, StagedClopperPearson)
	}
	if err := a.Schedule.Validate(); err != nil {
		return err
	}
	if a.Last() != n {
		return fmt.Errorf("the last look is at %d draws, the header says %d", a.Last(), n)
	}
	return nil
}

// Mark writes into a finished record at which stage it is.
func (a *Adaptive) Mark(rec *counts.Record) error {
	stage := a.Stage(rec.N)
	if stage == 0 {
		return fmt.Errorf("example %d stopped at %d draws, where there is no look", rec.Index, rec.N)
	}
	if rec.Extra == nil {
		rec.Extra = map[string]json.RawMessage{}
	}
	rec.Extra[stageField] = strconv.AppendInt(nil, int64(stage), 10)
	return nil
}

// level is the level at which the bounds of a record are made: alpha, or the
// part of it that belongs to the record's look.
func (p Params) level(rec *counts.Record) (float64, error) {
	raw, marked := rec.Extra[stageField]
	if p.Schedule == nil {
		if marked {
			return 0, fmt.Errorf("it was stopped at stage %s of an adaptive run, but the header's schedule is missing: a bound for a fixed number of draws would not hold", raw)
		}
		return p.Alpha, nil
	}
	stage := p.Schedule.Stage(rec.N)
	switch {
	case !marked:
		return 0, fmt.Errorf("field %q is missing: every record of an adaptive run has it", stageField)
	case stage == 0:
		return 0, fmt.Errorf("n = %d is none of the looks that the header plans: its bounds would not hold", rec.N)
	case string(raw) != strconv.Itoa(stage):
		return 0, fmt.Errorf("field %q is %s, but the look at %d draws is number %d", stageField, raw, rec.N, stage)
	}
	return p.Schedule.Level(rec.N, p.Alpha), nil
}

// Doubts says where a question is not the one that stopped the sampling. The
// certificates are valid all the same; these are reasons why they may be weak.
func (a *Adaptive) Doubts(p Params, count string, eps []float64) []string {
	if a == nil {
		return nil
	}
	const so = ": valid, but draws stopped for another question, so radii may be smaller than more draws would prove"
	var w []string
	if p.Cost != nil && p.Cost.String() != a.Asked.Cost {
		w = append(w, fmt.Sprintf("the draws were made for the costs %s%s", a.Asked.Cost, so))
	}
	if p.Alpha != a.Asked.Alpha {
		w = append(w, fmt.Sprintf("the draws were made for alpha %g, not %g%s", a.Asked.Alpha, p.Alpha, so))
	}
	if p.Procedure != a.Asked.Procedure && !(p.Procedure == "" && a.Asked.Procedure == Joint) {
		w = append(w, fmt.Sprintf("the draws were made for procedure %s%s", a.Asked.Procedure, so))
	}
	if count != a.Asked.Count && a.Asked.Count == "strict" {
		w = append(w, "the draws were made for counting strict: examples whose prediction is wrong were left at the first look"+so)
	}
	if a.Asked.Tolerance == 0 {
		for _, e := range eps {
			if !slices.ContainsFunc(a.Asked.Eps, func(x float64) bool { return math.Abs(x-e) <= 1e-12 }) {
				w = append(w, fmt.Sprintf("the draws were made to decide eps %v, not %g%s", a.Asked.Eps, e, so))
			}
		}
	}
	return w
}
