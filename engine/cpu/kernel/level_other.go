//go:build !amd64

package kernel

func detect() Level { return Portable }

func tilesOf(Level) *tileSet { return &portableTiles }

func noiseGroups(Level, []float32, uint64, uint32, uint32, uint32) int { return 0 }

func sumBlocks(Level, *[lanes]float32, *float32, int) bool { return false }

func sumRowBlocks(Level, *[lanes]float32, *float32, int, int) bool { return false }
