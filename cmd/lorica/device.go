package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"lorica/engine"
	"lorica/model"
)

// place says where graphs run.
type place struct {
	engine, precision string
	batch             int
}

func (p *place) register(fl *pflag.FlagSet) {
	fl.StringVar(&p.engine, "engine", engine.DefaultSpec, "where it runs: cpu, xla:cuda, xla:cpu or xla:/path/to/plugin.so")
	fl.StringVar(&p.precision, "precision", "float32", "arithmetic of the model: float32 or bfloat16")
	fl.IntVar(&p.batch, "batch", 0, "draws handed to the device at once; changes no count (0: chosen to fit)")
}

// loadModel reads a model file, or one that the binary carries.
func loadModel(name string) (*model.Model, error) {
	if b, ok := strings.CutPrefix(name, "builtin:"); ok {
		return model.Builtin(b)
	}
	return model.Load(name)
}

// device is an engine with one model compiled on it.
type device struct {
	*engine.Sampler
	engine *engine.Engine
}

// openEngine opens an engine with what this machine's environment says.
func openEngine(spec string) (*engine.Engine, error) {
	dirs := pluginDirs()
	if strings.HasPrefix(spec, "xla:") {
		path, err := engine.PluginPath(spec, dirs)
		if err != nil {
			return nil, err
		}
		if err := prepareXLA(path); err != nil {
			return nil, err
		}
	}
	return engine.Open(spec, engine.Config{PluginDirs: dirs})
}

// autotuneFlag keeps XLA's choice of kernels in a folder. Choices are made by
// timing, so that without it two processes may choose otherwise and round
// otherwise; with it the second one also starts in half the time.
const autotuneFlag = "xla_gpu_per_fusion_autotune_cache_dir"

// prepareXLA sets what a plugin reads from the environment when it loads,
// where the user has not.
func prepareXLA(plugin string) error {
	// go-xla's check of CUDA's libraries warns about pip's folders, which work.
	if os.Getenv("GOPJRT_CUDA_CHECKS") == "" {
		if err := os.Setenv("GOPJRT_CUDA_CHECKS", "0"); err != nil {
			return err
		}
	}
	flags := os.Getenv("XLA_FLAGS")
	cache, err := os.UserCacheDir()
	if err != nil || strings.Contains(flags, "autotune") || !fileContains(plugin, autotuneFlag) {
		return nil // no folder, the user's own choice, or a plugin that would stop at an unknown flag
	}
	dir := filepath.Join(cache, "lorica", "autotune")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil // a cache is not worth failing for
	}
	return os.Setenv("XLA_FLAGS", strings.TrimSpace(flags+" --"+autotuneFlag+"="+dir))
}

// fileContains looks for a text in a file of any size.
func fileContains(path, text string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	buf := make([]byte, 1<<20)
	kept := 0
	for {
		n, err := f.Read(buf[kept:])
		if bytes.Contains(buf[:kept+n], []byte(text)) {
			return true
		}
		if err != nil {
			return false
		}
		// A text may lie across the end of what was read.
		tail := min(len(text)-1, kept+n)
		copy(buf, buf[kept+n-tail:kept+n])
		kept = tail
	}
}

// openDevice compiles a model where p says.
func openDevice(p place, m *model.Model, sigma float64) (*device, error) {
	e, err := openEngine(p.engine)
	if err != nil {
		return nil, err
	}
	s, err := engine.NewSampler(e, m, engine.SamplerConfig{Sigma: sigma, Precision: engine.Precision(p.precision), Batch: p.batch})
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return &device{s, e}, nil
}

func (d *device) close() error {
	d.Sampler.Close()
	return d.engine.Close()
}

// pluginDirs are the folders where users have PJRT plugins: the library paths,
// and Python's packages, where pip puts JAX's.
func pluginDirs() []string {
	dirs := filepath.SplitList(os.Getenv("PJRT_PLUGIN_LIBRARY_PATH"))
	dirs = append(dirs, filepath.SplitList(os.Getenv("LD_LIBRARY_PATH"))...)
	roots := []string{os.Getenv("VIRTUAL_ENV"), os.Getenv("CONDA_PREFIX"), "/usr/local", "/usr"}
	if home, err := os.UserHomeDir(); err == nil {
		roots = append(roots, filepath.Join(home, ".local"))
	}
	for _, root := range roots {
		if root == "" {
			continue
		}
		dirs = append(dirs, filepath.Join(root, "lib"))
		for _, packages := range []string{"site-packages", "dist-packages"} {
			found, err := filepath.Glob(filepath.Join(root, "lib", "python3*", packages))
			if err == nil {
				dirs = append(dirs, found...)
			}
		}
	}
	return dirs
}
