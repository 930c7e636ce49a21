package cluster

import (
	"bytes"
	"context"
	"sync"
)

// Bounds on the images that a worker remembers.
const (
	imageBytes = 64 << 20
	imageCount = 1024
)

// images remembers the newest images of a run, so that an example's many
// chunks fetch its image once. They come from the coordinator, who holds them
// for as long as a chunk needs them: nothing is stored on a server.
type images struct {
	mu     sync.Mutex // held while fetching: both lanes mostly want the same image
	known  map[int][]float32
	oldest []int
	most   int
}

func newImages(pixels int) *images {
	return &images{known: map[int][]float32{}, most: min(max(8, imageBytes/(4*pixels)), imageCount)}
}

func (c *images) put(example int, image []float32) {
	if len(c.oldest) >= c.most {
		delete(c.known, c.oldest[0])
		c.oldest = append(c.oldest[:0], c.oldest[1:]...)
	}
	c.known[example] = image
	c.oldest = append(c.oldest, example)
}

// image is the image of a chunk, or nil when the chunk is not open any more.
func (v *visit) image(ctx context.Context, o order) ([]float32, error) {
	c := v.images
	c.mu.Lock()
	defer c.mu.Unlock()
	if image, ok := c.known[o.Example]; ok {
		return image, nil
	}
	image := make([]float32, v.spec.Pixels())
	for offset := 0; offset < 4*len(image); {
		part, err := v.ask(ctx, "image", wanted{ID: o.ID, Offset: offset})
		if err != nil {
			return nil, err
		}
		if bytes.Equal(part, notOpen) {
			return nil, nil
		}
		if offset, err = getImage(image, offset, part); err != nil {
			return nil, err
		}
	}
	c.put(o.Example, image)
	return image, nil
}
