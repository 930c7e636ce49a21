package cost

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ParseExpr reads a matrix for the given classes from an expression: rules
// "from->to" separated by ";". from is a class, to is "*" (every other class)
// or classes separated by ",", each with an optional cost ("5:10"; 1 where
// nothing is said; "*:2" works too). A class is a number or, where names is
// not nil, a name. Spaces do not matter. A pair may be named once only: a
// second cost for it is an error even if it is the same.
func ParseExpr(expr string, classes int, names []string) (*Matrix, error) {
	if classes < 2 {
		return nil, fmt.Errorf("cost expression %q for %d classes; at least 2 are needed", expr, classes)
	}
	if err := checkNames(names, classes); err != nil {
		return nil, err
	}
	rows := make([][]float64, classes)
	set := make([][]bool, classes)
	for i := range rows {
		rows[i], set[i] = make([]float64, classes), make([]bool, classes)
	}
	for rule := range strings.SplitSeq(expr, ";") {
		if err := parseRule(rule, rows, set, names); err != nil {
			return nil, fmt.Errorf("cost expression %q: %w", expr, err)
		}
	}
	m, err := New(rows, names)
	if err != nil {
		return nil, fmt.Errorf("cost expression %q: %w", expr, err)
	}
	return m, nil
}

func parseRule(rule string, rows [][]float64, set [][]bool, names []string) error {
	from, to, ok := strings.Cut(rule, "->")
	if !ok {
		return fmt.Errorf("rule %q: want from->to, as in 3->*, 3->5 or 3->2:1,5:10", strings.TrimSpace(rule))
	}
	y, err := class(from, len(rows), names)
	if err != nil {
		return err
	}
	for target := range strings.SplitSeq(to, ",") {
		who, c, err := splitCost(target, names)
		if err != nil {
			return err
		}
		targets := []int{}
		if strings.TrimSpace(who) == "*" {
			for k := range rows {
				if k != y {
					targets = append(targets, k)
				}
			}
		} else {
			k, err := class(who, len(rows), names)
			if err != nil {
				return err
			}
			if k == y {
				return fmt.Errorf("%s->%s: a right answer has no cost", strings.TrimSpace(from), strings.TrimSpace(who))
			}
			targets = append(targets, k)
		}
		for _, k := range targets {
			if set[y][k] {
				return fmt.Errorf("the pair %d->%d is given twice", y, k)
			}
			set[y][k], rows[y][k] = true, c
		}
	}
	return nil
}

// splitCost cuts the ":10" off a target. A name may hold a colon itself, so a
// target that is a name as it stands is taken whole.
func splitCost(target string, names []string) (who string, c float64, err error) {
	target = strings.TrimSpace(target)
	for _, n := range names {
		if n == target {
			return target, 1, nil
		}
	}
	i := strings.LastIndex(target, ":")
	if i < 0 {
		return target, 1, nil
	}
	text := strings.TrimSpace(target[i+1:])
	c, err = strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(c) || math.IsInf(c, 0) || c <= 0 {
		return "", 0, fmt.Errorf("target %q: the cost %q must be a finite number above 0", target, text)
	}
	return target[:i], c, nil
}

// class finds a class by number or name; a name wins where both would fit.
func class(s string, classes int, names []string) (int, error) {
	s = strings.TrimSpace(s)
	for i, n := range names {
		if n == s {
			return i, nil
		}
	}
	k, err := strconv.Atoi(s)
	switch {
	case err == nil && k >= 0 && k < classes:
		return k, nil
	case err == nil:
		return 0, fmt.Errorf("unknown class %d: there are %d classes, 0 to %d", k, classes, classes-1)
	case s == "":
		return 0, fmt.Errorf("a class is missing: want from->to")
	case names == nil:
		return 0, fmt.Errorf("unknown class %q: the classes have no names here, use 0 to %d", s, classes-1)
	}
	return 0, fmt.Errorf("unknown class %q: the classes are %s", s, listNames(names))
}

// listNames keeps an error on one line where there are a thousand classes.
func listNames(names []string) string {
	if len(names) <= 12 {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:12], ", ") + fmt.Sprintf(", … (%d in all)", len(names))
}
