// Package cost holds the cost matrix: what each mistake costs, and so which
// classes an adversary must never reach.
//
// C[y][k] is the cost of answering k where the truth is y. The sensitive set of
// y is Omega(y) = {k : C[y][k] > 0}; a class with a non-empty one is sensitive.
//
// A Matrix is valid by construction and never changes: square, one row and one
// column a class, finite, not negative, nothing on the diagonal, and at least
// one sensitive pair. The package refuses everything else with an error that
// says where.
package cost

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Matrix is a valid, immutable cost matrix.
type Matrix struct {
	rows  [][]float64
	omega [][]int
	names []string // nil, or one a class
}

// New makes a Matrix from rows, which are copied; names is nil or has one name
// a class.
func New(rows [][]float64, names []string) (*Matrix, error) {
	n := len(rows)
	if n < 2 {
		return nil, fmt.Errorf("cost matrix has %d rows; it needs at least 2 classes", n)
	}
	if err := checkNames(names, n); err != nil {
		return nil, err
	}
	m := &Matrix{rows: make([][]float64, n), omega: make([][]int, n), names: slices.Clone(names)}
	pairs := 0
	for y, row := range rows {
		if len(row) != n {
			return nil, fmt.Errorf("cost matrix is not square: row %s has %d entries, there are %d rows", m.Name(y), len(row), n)
		}
		for k, c := range row {
			switch {
			case math.IsNaN(c) || math.IsInf(c, 0):
				return nil, fmt.Errorf("cost of %s->%s is %v; it must be a finite number", m.Name(y), m.Name(k), c)
			case c < 0:
				return nil, fmt.Errorf("cost of %s->%s is %v; it must not be negative", m.Name(y), m.Name(k), c)
			case c > 0 && y == k:
				return nil, fmt.Errorf("cost of %s->%s is %v; a right answer costs nothing, the diagonal must be 0", m.Name(y), m.Name(k), c)
			case c > 0:
				m.omega[y] = append(m.omega[y], k)
				pairs++
			}
		}
		m.rows[y] = slices.Clone(row)
	}
	if pairs == 0 {
		return nil, fmt.Errorf("cost matrix has no sensitive pair: give at least one mistake a cost above 0")
	}
	return m, nil
}

// checkNames wants names to be nil or n different, non-empty ones.
func checkNames(names []string, n int) error {
	if names == nil {
		return nil
	}
	if len(names) != n {
		return fmt.Errorf("%d class names for %d classes", len(names), n)
	}
	seen := map[string]bool{}
	for i, s := range names {
		if s == "" {
			return fmt.Errorf("class %d has an empty name", i)
		}
		if seen[s] {
			return fmt.Errorf("two classes are named %q", s)
		}
		seen[s] = true
	}
	return nil
}

// Classes is the number of classes.
func (m *Matrix) Classes() int { return len(m.rows) }

// At is the cost of answering k where the truth is y.
func (m *Matrix) At(y, k int) float64 { return m.rows[y][k] }

// Omega is the sensitive set of y in ascending order; it must not be changed.
func (m *Matrix) Omega(y int) []int { return m.omega[y] }

// Sensitive reports whether any mistake on y costs something.
func (m *Matrix) Sensitive(y int) bool { return len(m.omega[y]) > 0 }

// Pairs is the number of sensitive pairs.
func (m *Matrix) Pairs() int {
	n := 0
	for _, o := range m.omega {
		n += len(o)
	}
	return n
}

// RowMax is the most that the mistakes on y can cost together: the sum of its
// row, and the largest value an example of y adds to Rob_cost.
func (m *Matrix) RowMax(y int) float64 {
	s := 0.0
	for _, k := range m.omega[y] {
		s += m.rows[y][k]
	}
	return s
}

// Names is nil, or one name a class; it must not be changed.
func (m *Matrix) Names() []string { return m.names }

// Name is the name of class k, or its number where there are no names.
func (m *Matrix) Name(k int) string {
	if m.names == nil {
		return strconv.Itoa(k)
	}
	return m.names[k]
}

// String is the matrix as an expression that Parse reads back, by class
// number: the form for headers and provenance. "3->*" stands for a row of ones.
func (m *Matrix) String() string {
	var rules []string
	for y, omega := range m.omega {
		if len(omega) == 0 {
			continue
		}
		ones := true
		for _, k := range omega {
			ones = ones && m.rows[y][k] == 1
		}
		if ones && len(omega) == len(m.rows)-1 && len(omega) > 1 {
			rules = append(rules, fmt.Sprintf("%d->*", y))
			continue
		}
		targets := make([]string, len(omega))
		for i, k := range omega {
			targets[i] = strconv.Itoa(k)
			if !ones {
				targets[i] += ":" + strconv.FormatFloat(m.rows[y][k], 'g', -1, 64)
			}
		}
		rules = append(rules, fmt.Sprintf("%d->%s", y, strings.Join(targets, ",")))
	}
	return strings.Join(rules, ";")
}

// Class finds a class by its name or number.
func (m *Matrix) Class(s string) (int, error) { return class(s, len(m.rows), m.names) }
