package cpu

import (
	"reflect"
	"sync"
	"unsafe"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/dtypes/bfloat16"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/pkg/errors"
	"github.com/x448/float16"
)

// buffer is a tensor in memory. It is always shared: clients read and write
// the memory that executions use.
type buffer struct {
	backend *Backend
	shape   shapes.Shape
	mem     []byte // shape.Size() elements, aligned; nil once finalized
	block   []byte // what mem was cut from, to be given back
}

// newBuffer returns a buffer whose content is undefined.
func (b *Backend) newBuffer(shape shapes.Shape) *buffer {
	size := shape.Size() * shape.DType.Size()
	block := b.memory.get(size)
	return &buffer{backend: b, shape: shape.Clone(), mem: block[:size:size], block: block}
}

// flat returns the buffer's memory as a slice of its Go type.
func (u *buffer) flat() any { return flatOf(u.mem, u.shape.DType) }

// flatOf views bytes as a slice of the Go type of dtype.
func flatOf(mem []byte, dtype dtypes.DType) any {
	switch dtype {
	case dtypes.Bool:
		return view[bool](mem)
	case dtypes.Int8:
		return view[int8](mem)
	case dtypes.Int16:
		return view[int16](mem)
	case dtypes.Int32:
		return view[int32](mem)
	case dtypes.Int64:
		return view[int64](mem)
	case dtypes.Uint8:
		return view[uint8](mem)
	case dtypes.Uint16:
		return view[uint16](mem)
	case dtypes.Uint32:
		return view[uint32](mem)
	case dtypes.Uint64:
		return view[uint64](mem)
	case dtypes.Float16:
		return view[float16.Float16](mem)
	case dtypes.BFloat16:
		return view[bfloat16.BFloat16](mem)
	case dtypes.Float32:
		return view[float32](mem)
	case dtypes.Float64:
		return view[float64](mem)
	}
	panic("cpu: no Go type for " + dtype.String()) // checkDType lets none through
}

// view reinterprets aligned bytes as a slice of T.
func view[T any](mem []byte) []T {
	var t T
	n := len(mem) / int(unsafe.Sizeof(t))
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(mem))), n)
}

// bytesOf views a slice of a Go number type as bytes.
func bytesOf(flat any) []byte {
	v := reflect.ValueOf(flat)
	n := v.Len() * int(v.Type().Elem().Size())
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(v.UnsafePointer()), n)
}

// own checks that a buffer is this backend's and is alive.
func (b *Backend) own(buf backends.Buffer) (*buffer, error) {
	u, ok := buf.(*buffer)
	if !ok || u == nil || u.backend != b {
		return nil, errors.Errorf("backend %q: buffer %T is not one of this backend's", Name, buf)
	}
	if u.block == nil {
		return nil, errors.Errorf("backend %q: buffer of shape %s was finalized or donated", Name, u.shape)
	}
	return u, nil
}

// BufferFinalize implements backends.DataInterface.
func (b *Backend) BufferFinalize(buf backends.Buffer) error {
	u, err := b.own(buf)
	if err != nil {
		return err
	}
	u.free()
	return nil
}

// free gives the memory back for reuse.
func (u *buffer) free() {
	u.backend.memory.put(u.block)
	u.mem, u.block = nil, nil
}

// BufferShape implements backends.DataInterface.
func (b *Backend) BufferShape(buf backends.Buffer) (shapes.Shape, error) {
	u, err := b.own(buf)
	if err != nil {
		return shapes.Invalid(), err
	}
	return u.shape, nil
}

// BufferDeviceNum implements backends.DataInterface.
func (b *Backend) BufferDeviceNum(buf backends.Buffer) (backends.DeviceNum, error) {
	_, err := b.own(buf)
	return 0, err
}

// BufferToFlatData implements backends.DataInterface.
func (b *Backend) BufferToFlatData(buf backends.Buffer, flat any) error {
	u, err := b.own(buf)
	if err != nil {
		return err
	}
	if err := checkFlat(flat, u.shape); err != nil {
		return err
	}
	copy(bytesOf(flat), u.mem)
	return nil
}

// BufferFromFlatData implements backends.DataInterface.
func (b *Backend) BufferFromFlatData(device backends.DeviceNum, flat any, shape shapes.Shape) (backends.Buffer, error) {
	if err := b.checkTarget(device, shape); err != nil {
		return nil, err
	}
	if err := checkFlat(flat, shape); err != nil {
		return nil, err
	}
	u := b.newBuffer(shape)
	copy(u.mem, bytesOf(flat))
	return u, nil
}

// checkTarget checks that a buffer can be made.
func (b *Backend) checkTarget(device backends.DeviceNum, shape shapes.Shape) error {
	if b.IsFinalized() {
		return errors.Errorf("backend %q was finalized", Name)
	}
	if device != 0 {
		return errors.Errorf("backend %q has device 0 only, not %d", Name, device)
	}
	return checkDType("buffer", shape.DType)
}

// checkFlat checks that flat is a slice with the shape's type and size.
func checkFlat(flat any, shape shapes.Shape) error {
	v := reflect.ValueOf(flat)
	if v.Kind() != reflect.Slice || v.Type().Elem() != shape.DType.GoType() || v.Len() != shape.Size() {
		return errors.Errorf("backend %q: shape %s needs a slice of %d %s, got %T with %d", Name, shape,
			shape.Size(), shape.DType.GoType(), flat, lenOf(v))
	}
	return nil
}

func lenOf(v reflect.Value) int {
	if v.Kind() != reflect.Slice {
		return 0
	}
	return v.Len()
}

// HasSharedBuffers implements backends.DataInterface.
func (b *Backend) HasSharedBuffers() bool { return true }

// NewSharedBuffer implements backends.DataInterface. The memory is zero.
func (b *Backend) NewSharedBuffer(device backends.DeviceNum, shape shapes.Shape) (backends.Buffer, any, error) {
	if err := b.checkTarget(device, shape); err != nil {
		return nil, nil, err
	}
	u := b.newBuffer(shape)
	clear(u.mem)
	return u, u.flat(), nil
}

// BufferData implements backends.DataInterface.
func (b *Backend) BufferData(buf backends.Buffer) (any, error) {
	u, err := b.own(buf)
	if err != nil {
		return nil, err
	}
	return u.flat(), nil
}

// BufferCopyToDevice implements backends.DataInterface: there is one device.
func (b *Backend) BufferCopyToDevice(backends.Buffer, backends.DeviceNum) (backends.Buffer, error) {
	return nil, errors.Errorf("backend %q has one device: there is none to copy to", Name)
}

const (
	alignment = 64      // a cache line, and the widest vector
	keepBytes = 4 << 30 // memory kept for reuse; beyond it the collector has it
)

// memory keeps freed blocks for reuse, so that repeated executions allocate
// nothing. Blocks come in size classes an eighth apart.
type memory struct {
	mu     sync.Mutex
	free   map[int][][]byte // by class
	kept   int
	closed bool
}

// class rounds a size up to one of its size class.
func class(size int) int {
	size = max(size, alignment)
	step := alignment
	for step*16 <= size {
		step *= 2
	}
	return (size + step - 1) / step * step
}

// get returns an aligned block of at least size bytes, with undefined content.
func (m *memory) get(size int) []byte {
	c := class(size)
	m.mu.Lock()
	if s := m.free[c]; len(s) > 0 {
		block := s[len(s)-1]
		m.free[c] = s[:len(s)-1]
		m.kept -= c
		m.mu.Unlock()
		return block
	}
	m.mu.Unlock()
	raw := make([]byte, c+alignment)
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(raw)))) & (alignment - 1)
	return raw[skip : skip+c : skip+c]
}

// put takes a block back.
func (m *memory) put(block []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || m.kept+len(block) > keepBytes {
		return
	}
	if m.free == nil {
		m.free = map[int][][]byte{}
	}
	m.kept += len(block)
	m.free[len(block)] = append(m.free[len(block)], block)
}

// drop forgets all blocks, now and later.
func (m *memory) drop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.free, m.kept = nil, 0
}
