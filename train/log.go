package train

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Epoch is one line of RUN/train.jsonl after its header: an epoch, or the part
// of it since the last line.
type Epoch struct {
	Epoch          int       `json:"epoch"` // epochs finished
	Step           int       `json:"step"`  // steps finished
	LR             float64   `json:"lr"`
	Loss           float64   `json:"loss"`
	Classification float64   `json:"classification"`
	Sensitive      float64   `json:"robust_sensitive"`
	Normal         float64   `json:"robust_normal"`
	Right          float64   `json:"right"` // share of noisy training images
	Norm           float64   `json:"gradient_norm"`
	Held           *Estimate `json:"held,omitempty"`
	Seconds        float64   `json:"seconds"` // of this line's steps
	SamplesPerS    float64   `json:"samples_per_s"`
}

// logHeader is the first line.
type logHeader struct {
	Lorica  string `json:"lorica"` // "train"
	Version int    `json:"version"`
	header
}

// journal appends lines to RUN/train.jsonl.
type journal struct {
	file   *os.File
	epochs []Epoch
}

// openJournal begins the file, or goes on with it at a step: lines of later
// steps, which a kill left behind the last checkpoint, are dropped.
func openJournal(dir string, h header, step int) (*journal, error) {
	path := filepath.Join(dir, "train.jsonl")
	j := &journal{}
	head, err := json.Marshal(logHeader{"train", 1, h})
	if err != nil {
		return nil, err
	}
	lines := [][]byte{head}
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for i, line := range bytes.Split(old, []byte("\n")) {
		var e Epoch
		if i == 0 || json.Unmarshal(line, &e) != nil || e.Step > step {
			continue
		}
		j.epochs = append(j.epochs, e)
		lines = append(lines, line)
	}
	temp := path + ".tmp"
	if err := os.WriteFile(temp, append(bytes.Join(lines, []byte("\n")), '\n'), 0o644); err != nil {
		return nil, err
	}
	if err := os.Rename(temp, path); err != nil {
		return nil, err
	}
	j.file, err = os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o644)
	return j, err
}

func (j *journal) append(e Epoch) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	j.epochs = append(j.epochs, e)
	_, err = j.file.Write(append(line, '\n'))
	return err
}
