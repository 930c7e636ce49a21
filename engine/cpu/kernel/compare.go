package kernel

// Equal is dst = a == b.
func Equal(dst []bool, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] == b[i]
	}
}

// NotEqual is dst = a != b.
func NotEqual(dst []bool, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] != b[i]
	}
}

// Less is dst = a < b.
func Less(dst []bool, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] < b[i]
	}
}

// LessEqual is dst = a <= b.
func LessEqual(dst []bool, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] <= b[i]
	}
}

// Greater is dst = a > b.
func Greater(dst []bool, a, b []float32) { Less(dst, b, a) }

// GreaterEqual is dst = a >= b.
func GreaterEqual(dst []bool, a, b []float32) { LessEqual(dst, b, a) }

// Select is dst = a where cond, else b.
func Select(dst []float32, cond []bool, a, b []float32) {
	cond, a, b = cond[:len(dst)], a[:len(dst)], b[:len(dst)]
	for i := range dst {
		if cond[i] {
			dst[i] = a[i]
		} else {
			dst[i] = b[i]
		}
	}
}
