// Package kernel holds the loops over memory of lorica's CPU engine: float32
// matrix products, convolutions, vector maths and noise, over plain slices.
// It knows nothing of graphs, shapes or buffers; package cpu calls it.
//
// Every routine exists in portable Go, and the ones that matter also in
// assembly for AVX2+FMA and AVX-512, chosen once by what the processor has.
//
// Guarantees. A result does not depend on how many workers a Par has nor on
// the order in which it runs tasks: work is cut into tasks by shape alone, and
// every output element is summed in one fixed order. Slices passed as outputs
// must not overlap inputs unless a function says that they may. Lengths and
// strides that do not fit a slice panic before memory is touched.
package kernel
