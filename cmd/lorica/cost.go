package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"lorica/cost"
	"lorica/dataset"
)

func newCost() *cobra.Command {
	var classes int
	var data, names string
	c := &cobra.Command{
		Use:   "cost COST",
		Short: "Show a cost matrix as lorica reads it",
		Long: `Read a cost matrix, check it, and show it as a table: truth down, answer across,
"·" for a mistake that costs nothing. Below it stands Omega, the classes that
must never be reached, for each sensitive class.

COST is a .csv or .json matrix, or an expression:

  3->*              no mistake on class 3 may be forced
  2->*;4->*         nor on 2 and 4
  3->2,4,5          class 3 must not become 2, 4 or 5
  3->2:1,4:1,5:10   and 5 is ten times as bad
  cat->dog          by name, where the classes have names

The classes come from --classes, --names or --data.`,
		Example: `  lorica cost '3->2:1,4:1,5:10' --classes 10
  lorica cost 'cat->dog' --data builtin
  lorica cost costs.csv --names benign,malignant`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			n, list, err := classNames(classes, names, data)
			if err != nil {
				return err
			}
			m, err := cost.Parse(args[0], n, list)
			if err != nil {
				return usageError{err}
			}
			return printCost(c.OutOrStdout(), m)
		},
	}
	c.Flags().IntVar(&classes, "classes", 0, "`number` of classes")
	c.Flags().StringVar(&names, "names", "", "class `names`, separated by commas")
	c.Flags().StringVar(&data, "data", "", "take the classes of this data `set` (see lorica data --help)")
	return c
}

// classNames finds the classes from the one flag that was given.
func classNames(classes int, names, data string) (int, []string, error) {
	given := 0
	for _, set := range []bool{classes != 0, names != "", data != ""} {
		if set {
			given++
		}
	}
	switch {
	case given != 1:
		return 0, nil, usagef("cost needs one of --classes N, --names A,B,… or --data SET")
	case classes != 0:
		if classes < 2 {
			return 0, nil, usagef("--classes %d: at least 2 are needed", classes)
		}
		return classes, nil, nil
	case names != "":
		list := strings.Split(names, ",")
		for i := range list {
			list[i] = strings.TrimSpace(list[i])
		}
		return len(list), list, nil
	}
	set, err := dataset.Open(data, "")
	if err != nil {
		return 0, nil, err
	}
	return len(set.Classes()), set.Classes(), nil
}

// widest is the largest matrix shown as a table: more columns fit no screen.
const widest = 20

func printCost(w io.Writer, m *cost.Matrix) error {
	p := &printer{w: w}
	if m.Classes() <= widest {
		p.f("%s\n", m.Table())
	}
	for y := range m.Classes() {
		if !m.Sensitive(y) {
			continue
		}
		var list []string
		for i, k := range m.Omega(y) {
			if i == widest {
				list = append(list, fmt.Sprintf("… (%d in all)", len(m.Omega(y))))
				break
			}
			name := m.Name(k)
			if v := m.At(y, k); v != 1 {
				name += " (cost " + strconv.FormatFloat(v, 'g', -1, 64) + ")"
			}
			list = append(list, name)
		}
		p.f("a true %s must not become: %s\n", m.Name(y), strings.Join(list, ", "))
	}
	p.f("%d sensitive pairs; as an expression: %s\n", m.Pairs(), m)
	return p.err
}
