package metrics

import (
	"fmt"
	"math"
	"sort"

	"lorica/bound"
	"lorica/certify"
)

// Options says what a Summary holds.
type Options struct {
	Eps      []float64 // where every figure is stated; nil is {0.5}
	Grid     []float64 // where the curves are sampled; nil is 0 to the largest radius in 50 steps
	Counting Counting  // "" is Strict
	Positive *int      // class for precision and recall, or nil

	// Confidence of the statements about the whole data set; 0 is 0.99.
	Confidence float64
}

// Summary is all that is known about a data set under one cost matrix: the
// content of metrics.json.
type Summary struct {
	Cost      string            `json:"cost"` // as an expression
	Names     []string          `json:"names,omitempty"`
	Classes   int               `json:"classes"`
	Sigma     float64           `json:"sigma"`
	Alpha     float64           `json:"alpha"`
	Procedure certify.Procedure `json:"procedure"`
	Split     certify.Split     `json:"alpha_split,omitempty"`
	Randomize bool              `json:"randomise,omitempty"`
	Counting  Counting          `json:"count"`
	Examples  int               `json:"examples"`
	Sensitive int               `json:"sensitive"`
	Abstained int               `json:"abstained"` // every claim withdrawn
	Draws     int64             `json:"draws"`     // estimation draws, all examples

	Acc    Share   `json:"acc"`
	Levels []Level `json:"levels"`  // one an eps of Options
	AtOnce AtOnce  `json:"at_once"` // the same eps, for the data set as a whole
	Curve  []Point `json:"curve"`

	Confusion Confusion     `json:"confusion"`
	StdWins   []StdWins     `json:"std_wins"`
	Radii     Distributions `json:"radii"`
	Positive  *Positive     `json:"positive,omitempty"`
	Warnings  []string      `json:"warnings,omitempty"`
}

// Point is every figure at one eps.
type Point struct {
	Eps     float64 `json:"eps"`
	CertAcc Share   `json:"cert_acc"`
	RobCS   Share   `json:"rob_cs"`
	RobCost Mean    `json:"rob_cost"`
}

// Level is a Point with the matrix of robust errors.
type Level struct {
	Point
	RobustErrors []PairError `json:"robust_errors"`
}

// StdWins is how often the prediction's radius is above the group radius,
// among sensitive examples whose prediction is not in Omega, by |Omega|.
type StdWins struct {
	Omega int   `json:"omega"` // |Omega|
	Share Share `json:"share"`
}

// Point evaluates all figures at eps.
func (s *Set) Point(eps float64) Point {
	return Point{Eps: eps, CertAcc: s.CertAcc(eps), RobCS: s.RobCS(eps), RobCost: s.RobCost(eps)}
}

// Curve evaluates all figures over a grid of eps.
func (s *Set) Curve(grid []float64) []Point {
	out := make([]Point, len(grid))
	for i, e := range grid {
		out[i] = s.Point(e)
	}
	return out
}

// DefaultGrid is 0 to the largest counted radius, in 50 steps of a round size.
func (s *Set) DefaultGrid() []float64 {
	largest := 0.0
	for _, radii := range [][]float64{s.std, s.group} {
		if len(radii) > 0 {
			largest = max(largest, radii[len(radii)-1])
		}
	}
	step := math.Max(math.Ceil(largest*20)/1000, 0.001) // 50 steps reach it
	grid := make([]float64, 51)
	for i := range grid {
		grid[i] = float64(math.Round(step*1000)*float64(i)) / 1000
	}
	return grid
}

// Compute sums results up that were certified with p.
func Compute(results []certify.Result, p certify.Params, o Options) (Summary, error) {
	if err := p.Validate(); err != nil {
		return Summary{}, err
	}
	s, err := NewSet(results, p.Cost, o.Counting)
	if err != nil {
		return Summary{}, err
	}
	if p.Procedure == "" {
		p.Procedure = certify.Joint
	}
	if o.Eps == nil {
		o.Eps = []float64{0.5}
	}
	for _, e := range append(append([]float64{}, o.Eps...), o.Grid...) {
		if !(e >= 0) || math.IsInf(e, 0) {
			return Summary{}, fmt.Errorf("eps = %v: want a finite number, 0 or above", e)
		}
	}
	if o.Confidence == 0 {
		o.Confidence = 0.99
	}
	if !(o.Confidence > 0 && o.Confidence < 1) {
		return Summary{}, fmt.Errorf("confidence = %v: want a number between 0 and 1", o.Confidence)
	}
	if o.Grid == nil {
		o.Grid = s.DefaultGrid()
	}
	out := Summary{
		Cost: p.Cost.String(), Names: p.Cost.Names(), Classes: p.Cost.Classes(),
		Sigma: p.Sigma, Alpha: p.Alpha, Procedure: p.Procedure, Split: p.Split, Randomize: p.Randomize, Counting: s.counting,
		Examples: s.Examples(), Sensitive: s.Sensitive(),
		Acc: s.Acc(), Curve: s.Curve(o.Grid), AtOnce: s.AtOnce(p, o.Eps, o.Confidence),
		Confusion: s.Confusion(), StdWins: s.StdWins(), Radii: s.Distributions(),
	}
	for _, e := range o.Eps {
		out.Levels = append(out.Levels, Level{Point: s.Point(e), RobustErrors: s.RobustErrors(e)})
	}
	var most int64
	for _, r := range results {
		out.Draws += r.N
		most = max(most, r.N)
		if r.Abstained {
			out.Abstained++
		}
	}
	if o.Positive != nil {
		pos, err := s.Positive(*o.Positive)
		if err != nil {
			return Summary{}, err
		}
		out.Positive = &pos
	}
	out.Warnings = warnings(out, p, most)
	return out, nil
}

// warnings are the doubts a reader of the figures should know.
func warnings(s Summary, p certify.Params, most int64) []string {
	var w []string
	if s.Examples == 0 {
		return []string{"there are no examples"}
	}
	if s.Sensitive == 0 {
		w = append(w, "no example has a sensitive label: Rob_cs and Rob_cost say nothing")
	}
	if p.Procedure == certify.Paper {
		w = append(w, fmt.Sprintf("procedure paper takes the larger of two radii, which is proved only at 1 - 1.5 alpha = %g", 1-1.5*p.Alpha))
	}
	// What a perfect run could reach: every draw the top class.
	level := p.Alpha
	if p.Schedule != nil { // examples that stopped sooner had no need of more
		most = p.Schedule.Last()
		level = p.Schedule.Level(most, p.Alpha)
	}
	best := p.Sigma / 2 * (bound.QuantileDown(bound.Lower(most, most, level/2)) - bound.QuantileUp(bound.Upper(0, most, level/2)))
	for _, l := range s.Levels {
		if l.Eps >= best {
			w = append(w, fmt.Sprintf("no group radius above %s can be proved with %d draws, sigma %g and alpha %g: at eps %g more draws are needed",
				certify.FormatRadius(math.Max(best, 0), 3), most, p.Sigma, p.Alpha, l.Eps))
		}
	}
	return w
}

// StdWins counts by |Omega|, ascending.
func (s *Set) StdWins() []StdWins {
	wins, of := map[int]int{}, map[int]int{}
	for _, r := range s.results {
		if r.Sensitive && !r.InOmega() {
			of[len(r.Pairs)]++
			if r.StdWins {
				wins[len(r.Pairs)]++
			}
		}
	}
	var out []StdWins
	for size, n := range of {
		out = append(out, StdWins{Omega: size, Share: share(wins[size], n)})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Omega < out[j].Omega })
	return out
}
