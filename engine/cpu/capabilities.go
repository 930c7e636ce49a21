package cpu

import (
	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/pkg/errors"
)

// supportedDTypes are the data types of buffers and of all operations. Half
// precision is stored as such and computed in float32.
var supportedDTypes = []dtypes.DType{
	dtypes.Bool,
	dtypes.Int8, dtypes.Int16, dtypes.Int32, dtypes.Int64,
	dtypes.Uint8, dtypes.Uint16, dtypes.Uint32, dtypes.Uint64,
	dtypes.Float16, dtypes.BFloat16, dtypes.Float32, dtypes.Float64,
}

// composed are the operations that the builder writes in terms of others, so
// that no lowering carries their name.
var composed = []backends.OpType{
	backends.OpTypeParameter, backends.OpTypeConstant, backends.OpTypeIdentity, backends.OpTypeIsNaN,
	backends.OpTypeDot, backends.OpTypeBroadcast, backends.OpTypeRNGBitGenerator,
	backends.OpTypeBatchNormForInference, backends.OpTypeBatchNormForTraining, backends.OpTypeBatchNormGradient,
}

// capabilities lists what can be built. It is read off the tables that do the
// work, so it cannot promise what they lack.
func capabilities() backends.Capabilities {
	c := backends.Capabilities{
		Operations: map[backends.OpType]bool{},
		DTypes:     map[dtypes.DType]bool{},
	}
	for op := range lowerings {
		if op < backends.OpTypeLast {
			c.Operations[op] = true
		}
	}
	for op := range elementwise {
		c.Operations[op] = true
	}
	for _, op := range composed {
		c.Operations[op] = true
	}
	for _, d := range supportedDTypes {
		c.DTypes[d] = true
	}
	return c
}

// checkDType returns an error unless the data type is supported.
func checkDType(where string, d dtypes.DType) error {
	for _, s := range supportedDTypes {
		if s == d {
			return nil
		}
	}
	return errors.Errorf("backend %q: %s: data type %s is not supported", Name, where, d)
}
