//go:build !amd64

package kernel

func detect() Level { return Portable }

func tilesOf(Level) *tileSet { return &portableTiles }
