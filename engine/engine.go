// Package engine is where graphs run: lorica's own CPU backend, or XLA through
// a PJRT plugin, and the compiled samplers on them.
//
// A sampler draws noise, classifies and counts. The noise of a draw is that of
// package draw on every engine, up to the rounding of logarithm, sine and
// cosine. On one engine the counts of a draw do not depend on the jobs around
// it, their order or how they are cut; on the CPU not on the batch size
// either. On XLA the batch size is part of the engine's identity
// (Sampler.Identity), because a GPU may choose other convolution algorithms
// for another batch. Engines download nothing.
package engine

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/gomlx/gomlx/backends"

	"lorica/engine/cpu"
	"lorica/engine/cpu/kernel"
)

// Config is what an engine is opened with. The zero value is usable.
type Config struct {
	// PluginDirs are folders to search for PJRT plugins: lib folders, and
	// Python's site-packages with JAX's plugins in them.
	PluginDirs []string
}

// Engine is an open place to run graphs.
type Engine struct {
	spec    string
	device  string
	host    bool // it computes in the host's memory, from noise made there
	backend backends.Backend
}

// DefaultSpec is the engine that every machine has.
const DefaultSpec = "cpu"

// Open opens an engine by name: "cpu", "xla:cuda", "xla:cpu" or
// "xla:/path/to/plugin.so".
func Open(spec string, c Config) (*Engine, error) {
	switch kind, plugin, _ := strings.Cut(spec, ":"); {
	case spec == "" || spec == "cpu":
		return openCPU()
	case kind == "xla" && plugin != "":
		path, err := PluginPath(spec, c.PluginDirs)
		if err != nil {
			return nil, err
		}
		b, err := openXLA(path)
		if err != nil {
			return nil, fmt.Errorf("engine %s: %w", spec, err)
		}
		// A plugin given by its path is called what it is, not where it lies:
		// the name goes into counts files, which other machines go on with.
		name := "xla:" + pluginName(filepath.Base(path))
		return &Engine{spec: name, device: xlaDevice(name, b), backend: b}, nil
	}
	return nil, fmt.Errorf("engine %q is not one of cpu, xla:cuda, xla:cpu, xla:/path/to/plugin.so", spec)
}

func openCPU() (*Engine, error) {
	b, err := cpu.New("")
	if err != nil {
		return nil, fmt.Errorf("engine cpu: %w", err)
	}
	// The instruction level is part of the name: levels may round differently.
	return &Engine{spec: "cpu", device: kernel.Best().String(), host: true, backend: b}, nil
}

// Backend is GoMLX's view of the engine.
func (e *Engine) Backend() backends.Backend { return e.backend }

// Host tells whether the engine computes in the host's memory.
func (e *Engine) Host() bool { return e.host }

// Spec is the engine's name: "cpu", "xla:cuda".
func (e *Engine) Spec() string { return e.spec }

// Description names the engine and its device: "cpu avx512", "xla:cuda NVIDIA H200".
func (e *Engine) Description() string {
	return strings.TrimSpace(e.spec + " " + e.device)
}

// Close gives the engine's memory back. Samplers on it must not be used after.
func (e *Engine) Close() error {
	if !e.backend.IsFinalized() {
		e.backend.Finalize()
	}
	return nil
}

// Recovered, deferred, turns a panic of graph building into an error. A
// runtime.Error is a mistake of ours and goes on.
func Recovered(err *error) {
	switch r := recover().(type) {
	case nil:
	case runtime.Error:
		panic(r)
	case error:
		*err = r
	default:
		*err = fmt.Errorf("%v", r)
	}
}

// Plugin is a PJRT plugin on this machine.
type Plugin struct {
	Name string // what xla:NAME calls it: "cuda", "cpu", ...
	Path string
}

// pluginPatterns are the places of a plugin below a folder.
var pluginPatterns = []struct{ glob, name string }{
	{"jax_plugins/xla_cuda*/xla_cuda_plugin.so", "cuda"},
	{"jax_plugins/xla_rocm*/xla_rocm_plugin.so", "rocm"},
	{"pjrt_c_api_*_plugin.so", ""},
	{"pjrt-plugin-*.so", ""},
	{"pjrt_plugin_*.so", ""},
	{"pjrt_c_api_*_plugin.dylib", ""},
}

// Plugins lists the plugins below the folders, in their order.
func Plugins(dirs []string) []Plugin {
	var found []Plugin
	for _, dir := range dirs {
		for _, p := range pluginPatterns {
			paths, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(p.glob)))
			if err != nil {
				continue // a folder whose name is not a pattern: nothing there
			}
			slices.Sort(paths)
			slices.Reverse(paths) // the newest CUDA first
			for _, path := range paths {
				name := p.name
				if name == "" {
					name = pluginName(filepath.Base(path))
				}
				found = append(found, Plugin{Name: name, Path: path})
			}
		}
	}
	return found
}

// pluginName is the NAME in pjrt_c_api_NAME_plugin.so and its like.
func pluginName(base string) string {
	base = strings.TrimSuffix(base, filepath.Ext(base))
	for _, prefix := range []string{"pjrt_c_api_", "pjrt-plugin-", "pjrt_plugin_", "xla_"} {
		base = strings.TrimPrefix(base, prefix)
	}
	return strings.TrimSuffix(base, "_plugin")
}

// PluginPath is the file that an engine called xla:... loads.
func PluginPath(spec string, dirs []string) (string, error) {
	path, err := findPlugin(strings.TrimPrefix(spec, "xla:"), dirs)
	if err != nil {
		return "", fmt.Errorf("engine %s: %w", spec, err)
	}
	return path, nil
}

// findPlugin resolves the part of a spec after "xla:".
func findPlugin(name string, dirs []string) (string, error) {
	if strings.ContainsAny(name, `/\`) {
		return filepath.Abs(name)
	}
	for _, p := range Plugins(dirs) {
		if p.Name == name {
			return p.Path, nil
		}
	}
	return "", fmt.Errorf("no PJRT plugin called %q on this machine (searched %d folders); `lorica engines` says how to get one, or give its path as xla:/path/to/plugin.so", name, len(dirs))
}

// ErrNoXLA is the error of a build without cgo.
var ErrNoXLA = errors.New("this lorica was built without XLA (it needs cgo, on linux/amd64 or macOS): build it with CGO_ENABLED=1 and a C compiler, or use --engine cpu")
