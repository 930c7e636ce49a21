package kernel

// Equal is dst = a == b.
func Equal(dst []bool, a, b []float32) { equalAt(best, dst, a, b) }

func equalAt(l Level, dst []bool, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	n := len(dst) / unit
	if l == Portable {
		for i := range dst {
			dst[i] = a[i] == b[i]
		}
		return
	}
	if n > 0 {
		equalBlocks(l, &dst[0], &a[0], &b[0], n)
	}
	for i := n * unit; i < len(dst); i++ {
		dst[i] = a[i] == b[i]
	}
}

// NotEqual is dst = a != b.
func NotEqual(dst []bool, a, b []float32) { notEqualAt(best, dst, a, b) }

func notEqualAt(l Level, dst []bool, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	n := len(dst) / unit
	if l == Portable {
		for i := range dst {
			dst[i] = a[i] != b[i]
		}
		return
	}
	if n > 0 {
		notEqualBlocks(l, &dst[0], &a[0], &b[0], n)
	}
	for i := n * unit; i < len(dst); i++ {
		dst[i] = a[i] != b[i]
	}
}

// Less is dst = a < b.
func Less(dst []bool, a, b []float32) { lessAt(best, dst, a, b) }

func lessAt(l Level, dst []bool, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	n := len(dst) / unit
	if l == Portable {
		for i := range dst {
			dst[i] = a[i] < b[i]
		}
		return
	}
	if n > 0 {
		lessBlocks(l, &dst[0], &a[0], &b[0], n)
	}
	for i := n * unit; i < len(dst); i++ {
		dst[i] = a[i] < b[i]
	}
}

// LessEqual is dst = a <= b.
func LessEqual(dst []bool, a, b []float32) { lessEqualAt(best, dst, a, b) }

func lessEqualAt(l Level, dst []bool, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	n := len(dst) / unit
	if l == Portable {
		for i := range dst {
			dst[i] = a[i] <= b[i]
		}
		return
	}
	if n > 0 {
		lessEqualBlocks(l, &dst[0], &a[0], &b[0], n)
	}
	for i := n * unit; i < len(dst); i++ {
		dst[i] = a[i] <= b[i]
	}
}

// Greater is dst = a > b.
func Greater(dst []bool, a, b []float32) { Less(dst, b, a) }

// GreaterEqual is dst = a >= b.
func GreaterEqual(dst []bool, a, b []float32) { LessEqual(dst, b, a) }

// Select is dst = a where cond, else b.
func Select(dst []float32, cond []bool, a, b []float32) { selectAt(best, dst, cond, a, b) }

func selectAt(l Level, dst []float32, cond []bool, a, b []float32) {
	cond, a, b = cond[:len(dst)], a[:len(dst)], b[:len(dst)]
	i := 0
	if n := len(dst) / unit; n > 0 && selectBlocks(l, &dst[0], &cond[0], &a[0], &b[0], n) {
		i = n * unit
	}
	for ; i < len(dst); i++ {
		if cond[i] {
			dst[i] = a[i]
		} else {
			dst[i] = b[i]
		}
	}
}
