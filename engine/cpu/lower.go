package cpu

import "github.com/gomlx/gomlx/backends"

// lowerings turn nodes into steps, by operation. Elementwise operations are
// not among them: they run as members of groups.
var lowerings map[backends.OpType]func(n *node) (step, error)

func init() {
	lowerings = map[backends.OpType]func(n *node) (step, error){
		opGroup:                            lowerElementwise,
		backends.OpTypeReshape:             lowerView,
		backends.OpTypeBitcast:             lowerView,
		backends.OpTypeBroadcastInDim:      lowerBroadcast,
		backends.OpTypeTranspose:           lowerTranspose,
		backends.OpTypeSlice:               lowerSlice,
		backends.OpTypeReverse:             lowerReverse,
		backends.OpTypeConcatenate:         lowerConcatenate,
		backends.OpTypePad:                 lowerPad,
		backends.OpTypeIota:                lowerIota,
		backends.OpTypeArgMinMax:           lowerArgMinMax,
		backends.OpTypeDotGeneral:          lowerDot,
		backends.OpTypeConvGeneral:         lowerConv,
		backends.OpTypeGather:              lowerGather,
		backends.OpTypeScatterSum:          lowerScatter,
		backends.OpTypeScatterMax:          lowerScatter,
		backends.OpTypeScatterMin:          lowerScatter,
		backends.OpTypeDynamicSlice:        lowerDynamicSlice,
		backends.OpTypeDynamicUpdateSlice:  lowerDynamicUpdateSlice,
		backends.OpTypeReduceWindow:        lowerWindow,
		backends.OpTypeSelectAndScatterMax: lowerWindow,
		backends.OpTypeSelectAndScatterMin: lowerWindow,
		opRandomBits:                       lowerRandomBits,
		opRandomState:                      lowerRandomState,
	}
	for _, op := range reduceOps {
		lowerings[op] = lowerReduce
	}
}

// lowerView stands for the operations that only rename memory; isStored keeps
// them from being lowered.
func lowerView(*node) (step, error) { return step{run: func(*frame) {}}, nil }
