// The study behind docs/adaptive.md: it compares ways to decide by stages on
// the reference counts and measures the false proofs of the one that is kept.
//
// Each example's counts of 10,000 draws are taken for its probabilities, and
// draws are simulated from them. The draws of the fixed design go on where those
// of the staged one stop, as they do in lorica: the same seed makes the same
// draws, so a disagreement is one that a user would see.
//
//	go run ./docs/internal/adaptive designs    the constructions, side by side
//	go run ./docs/internal/adaptive tables     the kept one on every scenario
//	go run ./docs/internal/adaptive tolerance  --radius-tolerance
//	go run ./docs/internal/adaptive options    the split of alpha, randomised bounds
//	go run ./docs/internal/adaptive false      false proofs: exact sums and runs
//
// Run it from the root of the repository.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	reps := flag.Int("reps", 20, "simulated runs over the data set")
	runs := flag.Int("runs", 1_000_000, "simulated examples for false proofs")
	only := flag.String("only", "", "leave out all scenarios and eps but this, such as S-Seed/0.5")
	flag.Parse()
	var err error
	switch flag.Arg(0) {
	case "designs":
		err = compareDesigns(*reps)
	case "tables":
		err = tables(*reps, *only)
	case "tolerance":
		err = toleranceTable(*reps)
	case "options":
		err = options(*reps)
	case "false":
		falseProofs(*runs)
	default:
		err = fmt.Errorf("unknown part %q: see the package's comment", flag.Arg(0))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
