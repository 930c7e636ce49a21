package main

import (
	"lorica/cost"
	"lorica/counts"
)

// example is a real one whose counts are taken for its probabilities.
type example struct {
	label       int
	selected    []int64
	frequencies []float64
}

// load reads the reference counts of a model.
func load(path string) ([]example, error) {
	in, err := counts.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	var out []example
	for rec, err := range in.Records() {
		if err != nil {
			return nil, err
		}
		e := example{label: rec.Label, selected: append([]int64(nil), rec.Select...)}
		for _, n := range rec.Count {
			e.frequencies = append(e.frequencies, float64(n)/float64(rec.N))
		}
		out = append(out, e)
	}
	return out, nil
}

var models = []struct{ name, path string }{
	{"Gaussian", "cmd/lorica/testdata/golden/counts_gaussian_resnet20_s050.jsonl.gz"},
	{"Margin-CS", "cmd/lorica/testdata/golden/counts_margin-cs_resnet20_s050.jsonl.gz"},
}

// larger are two more models, for the tables alone: lorica's own ResNet-56s.
var larger = []struct{ name, path string }{
	{"Gaussian, ResNet-56", "results/cifar10-cat/gaussian_resnet56.counts.jsonl.gz"},
	{"Margin-CS, ResNet-56", "results/cifar10-cat/margin-cs_resnet56_lambda1.counts.jsonl.gz"},
}

var scenarios = []struct{ name, cost string }{{"S-Seed", "3->*"}, {"S-Pair", "3->5"}, {"M-Pair", "3->2,4,5"}}

const (
	sigma = 0.5
	alpha = 0.001
	most  = 100_000 // draws, of the fixed design and the cap of the others
	seeds = 1
)

func matrix(expr string) *cost.Matrix {
	m, err := cost.ParseExpr(expr, 10, nil)
	if err != nil {
		panic(err)
	}
	return m
}

func argMax(c []int64) int {
	best := 0
	for k, v := range c {
		if v > c[best] {
			best = k
		}
	}
	return best
}
