package cpu

import (
	"math"
	"unsafe"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/x448/float16"
)

// half and brain are the bits of the two half-precision types.
type (
	half  uint16
	brain uint16
)

// convertFn returns the conversion from one supported data type to another.
// Numbers become bool by "not zero". Floats become integers by truncation;
// what does not fit saturates, and NaN gives 0, on every machine alike.
func convertFn(from, to dtypes.DType) vecFn {
	if from == to {
		return func(dst, a, _, _ unsafe.Pointer, n int) {
			copy(slice[byte](dst, n*to.Size()), slice[byte](a, n*to.Size()))
		}
	}
	switch to {
	case dtypes.Float16: // by way of float32, unless it is that already
		return narrow(from, func(v float32) half { return half(float16.Fromfloat32(v)) })
	case dtypes.BFloat16:
		return narrow(from, brainOf)
	}
	switch from {
	case dtypes.Bool:
		return fromBool(to)
	case dtypes.Int8:
		return fromInt[int8](to)
	case dtypes.Int16:
		return fromInt[int16](to)
	case dtypes.Int32:
		return fromInt[int32](to)
	case dtypes.Int64:
		return fromInt[int64](to)
	case dtypes.Uint8:
		return fromInt[uint8](to)
	case dtypes.Uint16:
		return fromInt[uint16](to)
	case dtypes.Uint32:
		return fromInt[uint32](to)
	case dtypes.Uint64:
		return fromInt[uint64](to)
	case dtypes.Float16:
		return fromFloat(to, func(h half) float64 { return float64(float16.Frombits(uint16(h)).Float32()) })
	case dtypes.BFloat16:
		return fromFloat(to, func(b brain) float64 { return float64(b.float32()) })
	case dtypes.Float32:
		return fromFloat(to, func(v float32) float64 { return float64(v) })
	case dtypes.Float64:
		return fromFloat(to, func(v float64) float64 { return v })
	}
	return nil
}

// float32 widens a bfloat16.
func (b brain) float32() float32 { return math.Float32frombits(uint32(b) << 16) }

// brainOf rounds to the nearest bfloat16, ties to even.
func brainOf(v float32) brain {
	u := math.Float32bits(v)
	if v != v {
		return brain(u>>16 | 0x40) // quiet, so that rounding cannot make it infinite
	}
	return brain((u + 0x7fff + u>>16&1) >> 16)
}

// narrow converts to a half type by way of float32. A float64 is rounded twice
// on that way, as XLA does.
func narrow[H any](from dtypes.DType, f func(float32) H) vecFn {
	last := unary(f)
	if from == dtypes.Float32 {
		return last
	}
	first := convertFn(from, dtypes.Float32)
	size := from.Size()
	return func(dst, a, _, _ unsafe.Pointer, n int) {
		var buf [256]float32
		for i := 0; i < n; i += len(buf) {
			m := min(len(buf), n-i)
			first(unsafe.Pointer(&buf), unsafe.Add(a, i*size), nil, nil, m)
			last(unsafe.Add(dst, i*2), unsafe.Pointer(&buf), nil, nil, m)
		}
	}
}

func fromBool(to dtypes.DType) vecFn {
	// A bool is a byte that is 0 or 1.
	return fromInt[uint8](to)
}

func fromInt[T integer](to dtypes.DType) vecFn {
	switch to {
	case dtypes.Bool:
		return unary(func(a T) bool { return a != 0 })
	case dtypes.Int8:
		return unary(func(a T) int8 { return int8(a) })
	case dtypes.Int16:
		return unary(func(a T) int16 { return int16(a) })
	case dtypes.Int32:
		return unary(func(a T) int32 { return int32(a) })
	case dtypes.Int64:
		return unary(func(a T) int64 { return int64(a) })
	case dtypes.Uint8:
		return unary(func(a T) uint8 { return uint8(a) })
	case dtypes.Uint16:
		return unary(func(a T) uint16 { return uint16(a) })
	case dtypes.Uint32:
		return unary(func(a T) uint32 { return uint32(a) })
	case dtypes.Uint64:
		return unary(func(a T) uint64 { return uint64(a) })
	case dtypes.Float32:
		return unary(func(a T) float32 { return float32(a) })
	case dtypes.Float64:
		return unary(func(a T) float64 { return float64(a) })
	}
	return nil
}

func fromFloat[T any](to dtypes.DType, wide func(T) float64) vecFn {
	switch to {
	case dtypes.Bool:
		return unary(func(a T) bool { return wide(a) != 0 })
	case dtypes.Int8:
		return unary(func(a T) int8 { return int8(saturate(wide(a), math.MinInt8, math.MaxInt8)) })
	case dtypes.Int16:
		return unary(func(a T) int16 { return int16(saturate(wide(a), math.MinInt16, math.MaxInt16)) })
	case dtypes.Int32:
		return unary(func(a T) int32 { return int32(saturate(wide(a), math.MinInt32, math.MaxInt32)) })
	case dtypes.Int64:
		return unary(func(a T) int64 { return saturate(wide(a), math.MinInt64, math.MaxInt64) })
	case dtypes.Uint8:
		return unary(func(a T) uint8 { return uint8(saturate(wide(a), 0, math.MaxUint8)) })
	case dtypes.Uint16:
		return unary(func(a T) uint16 { return uint16(saturate(wide(a), 0, math.MaxUint16)) })
	case dtypes.Uint32:
		return unary(func(a T) uint32 { return uint32(saturate(wide(a), 0, math.MaxUint32)) })
	case dtypes.Uint64:
		return unary(func(a T) uint64 {
			v := wide(a)
			switch {
			case v >= 1<<64:
				return math.MaxUint64
			case v >= 1<<63: // beyond int64: shift the range down and back
				return uint64(int64(v-1<<63)) + 1<<63
			}
			return uint64(saturate(v, 0, math.MaxInt64))
		})
	case dtypes.Float32:
		return unary(func(a T) float32 { return float32(wide(a)) })
	case dtypes.Float64:
		return unary(func(a T) float64 { return wide(a) })
	}
	return nil
}

// saturate truncates v to an integer within [lo, hi]; NaN gives 0.
func saturate(v float64, lo, hi int64) int64 {
	switch {
	case v != v:
		return 0
	case v <= float64(lo):
		return lo
	case v >= float64(hi): // true also at 2^63, which float64(MaxInt64) rounds to
		return hi
	}
	return int64(v)
}
