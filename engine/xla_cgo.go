//go:build cgo && ((linux && amd64) || darwin)

package engine

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/gomlx/go-xla/pkg/pjrt"
	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/backends/xla"
)

// HasXLA tells whether this build can open XLA engines.
const HasXLA = true

// openXLA loads the plugin at a path. Nothing is ever downloaded.
func openXLA(path string) (backends.Backend, error) {
	xla.EnableAutoInstall(false)
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	// Memory is taken as it is needed, so that several runs share a device.
	b, err := xla.NewWithOptions(path, pjrt.NamedValuesMap{"preallocate": false})
	if err != nil {
		// A plugin that does not know the option.
		if b, err2 := xla.NewWithOptions(path, nil); err2 == nil {
			return b, nil
		}
		return nil, err
	}
	return b, nil
}

// xlaDevice names the device of a backend.
func xlaDevice(plugin string, b backends.Backend) string {
	if strings.Contains(plugin, "cuda") {
		// PJRT's own description is only "cuda:0".
		infos, _ := filepath.Glob("/proc/driver/nvidia/gpus/*/information")
		for _, info := range infos {
			text, err := os.ReadFile(info)
			if err != nil {
				continue
			}
			for line := range strings.Lines(string(text)) {
				if model, ok := strings.CutPrefix(line, "Model:"); ok {
					return strings.TrimSpace(model)
				}
			}
		}
	}
	text, _, _ := strings.Cut(b.DeviceDescription(0), " [")
	return text
}
