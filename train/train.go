// Package train trains classifiers whose costly mistakes are hard to force: the
// eight methods that the paper compares, and their loop.
//
// A method is an objective over the classifier's logits under Gaussian noise
// (one file each); noise, soft-smoothed probabilities, margins, weights and the
// attack are shared parts. One step (augmentation, noise, forward, backward and
// the optimiser) is one graph whose state stays on the device; the host sends
// the order of the examples now and then and reads losses back.
//
// A run is a pure function of its configuration, data and engine: everything
// random is a counter-based draw identified by (seed, step, example), so a run
// that was killed and resumed ends with the same weights, bit for bit, as one
// that was not. A step whose loss is not finite changes nothing, and stops the
// run with the step, its examples and the weights before it.
//
// Graph building panics inside GoMLX; this package returns errors.
package train

import "lorica/draw"

// The phases of training's draws, apart from those of certification: the same
// seed never meets the same noise twice.
const (
	phaseNoise   draw.Phase = 16 + iota // noise of a step
	phaseAugment                        // crop and flip
	phaseMix                            // SmoothMix's t
	phaseMonitor                        // noise of the running estimate
	phaseOrder                          // order of an epoch
)
