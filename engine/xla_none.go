//go:build !cgo || !((linux && amd64) || darwin)

package engine

import "github.com/gomlx/gomlx/backends"

// HasXLA tells whether this build can open XLA engines.
const HasXLA = false

func openXLA(string) (backends.Backend, error) { return nil, ErrNoXLA }

func xlaDevice(string, backends.Backend) string { return "" }
