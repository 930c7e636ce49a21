package main

import (
	"fmt"

	ort "github.com/yalue/onnxruntime_go"
)

// ortModel is a model in ONNX Runtime with its tensors.
type ortModel struct {
	session *ort.AdvancedSession
	in, out *ort.Tensor[float32]
}

// startORT loads the shared library once.
func startORT(library string) error {
	ort.SetSharedLibraryPath(library)
	if err := ort.InitializeEnvironment(); err != nil {
		return fmt.Errorf("ONNX Runtime's library %s: %w (make peers fetches it)", library, err)
	}
	return nil
}

func newORT(path string, batch, threads int) (*ortModel, error) {
	inputs, outputs, err := ort.GetInputOutputInfo(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(inputs) != 1 || len(outputs) != 1 {
		return nil, fmt.Errorf("%s has %d inputs and %d outputs, expected one of each", path, len(inputs), len(outputs))
	}
	shape := func(d ort.Shape) ort.Shape {
		d = append(ort.Shape{}, d...)
		d[0] = int64(batch)
		return d
	}
	m := &ortModel{}
	if m.in, err = ort.NewEmptyTensor[float32](shape(inputs[0].Dimensions)); err != nil {
		return nil, err
	}
	if m.out, err = ort.NewEmptyTensor[float32](shape(outputs[0].Dimensions)); err != nil {
		return nil, err
	}
	opts, err := ort.NewSessionOptions()
	if err != nil {
		return nil, err
	}
	defer opts.Destroy()
	if err := opts.SetIntraOpNumThreads(threads); err != nil {
		return nil, err
	}
	m.session, err = ort.NewAdvancedSession(path, []string{inputs[0].Name}, []string{outputs[0].Name}, []ort.Value{m.in}, []ort.Value{m.out}, opts)
	return m, err
}

func (m *ortModel) run() error { return m.session.Run() }
