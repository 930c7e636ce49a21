package kernel

import "unsafe"

// unit is the number of floats in which packed operands are laid out: one
// cache line, one AVX-512 register.
const unit = 16

// tap is one stretch of a tile's sum: where its rows begin, in bytes from the
// tile's left operand, and how many steps it has.
type tap struct{ off, n int }

// tileArgs are the arguments of a tile kernel, in the order that the assembly
// reads them. A tile is out[r, c] = relu?(start + sum + res[r, c]) for a few
// rows r and one or two units of columns c, where the sum runs over the taps:
// rows of the left operand times the right operand, which is read straight
// through, and start is out itself, the bias, or zero.
type tileArgs struct {
	in     unsafe.Pointer
	taps   *tap
	ntaps  int
	w      unsafe.Pointer
	out    unsafe.Pointer
	stride int            // bytes between the rows of out and of res
	bias   unsafe.Pointer // whole units, or nil
	res    unsafe.Pointer // or nil
	mask   uintptr        // AVX-512: a bit a column; AVX2: the address of a row of masks
	acc    int            // 1: start from out
	relu   int
}
