package train

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"

	"lorica/dataset"
	"lorica/model"
)

// Data is a set of labelled images in memory, as they go to the device.
type Data struct {
	Shape  model.Shape
	Names  []string // of the classes
	Pixels []byte   // channels x height x width, one image after the other
	Labels []int32
}

// Load decodes some examples of a set (nil: all), on all cores.
func Load(set dataset.Set, indices []int) (*Data, error) {
	if indices == nil {
		indices = make([]int, set.Len())
		for i := range indices {
			indices[i] = i
		}
	}
	c, h, w := set.Shape()
	d := &Data{Shape: model.Shape{C: c, H: h, W: w}, Names: set.Classes(), Labels: make([]int32, len(indices))}
	size := d.Shape.Size()
	d.Pixels = make([]byte, size*len(indices))
	workers := min(runtime.GOMAXPROCS(0), max(len(indices), 1))
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for k := range workers {
		wg.Go(func() {
			for i := k * len(indices) / workers; i < (k+1)*len(indices)/workers; i++ {
				d.Labels[i] = int32(set.Label(indices[i]))
				if _, err := set.Pixels(indices[i], d.Pixels[i*size:i*size:(i+1)*size]); err != nil {
					errs[k] = fmt.Errorf("%s: %w", set.Name(indices[i]), err)
					return
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return d, nil
}

// Len is the number of examples.
func (d *Data) Len() int { return len(d.Labels) }

// order is the order of the examples in an epoch.
func order(seed uint64, epoch, examples int) []int {
	return rand.New(rand.NewPCG(seed, uint64(phaseOrder)<<32|uint64(epoch))).Perm(examples)
}
