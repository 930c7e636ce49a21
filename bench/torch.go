package main

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

//go:embed peer_training.py
var torchScript string

// torch is a Python process that runs training steps on demand.
type torch struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startTorch(c *config) (*torch, error) {
	depth, ok := strings.CutPrefix(c.arch, "resnet")
	if !ok {
		return nil, fmt.Errorf("PyTorch's side knows resnet20, resnet56, ..., not %q", c.arch)
	}
	cmd := exec.Command(c.python, "-c", torchScript, depth, strconv.Itoa(c.batch), strconv.Itoa(c.threads))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	t := &torch{cmd, in, bufio.NewReader(out)}
	if line, err := t.out.ReadString('\n'); err != nil || !strings.HasPrefix(line, "ready") {
		t.close()
		return nil, fmt.Errorf("PyTorch did not start (make peers installs it): %s", stderr.String())
	}
	return t, nil
}

// calls runs n steps.
func (t *torch) calls(n int) (wall, cpu time.Duration, err error) {
	if _, err := fmt.Fprintln(t.in, n); err != nil {
		return 0, 0, err
	}
	line, err := t.out.ReadString('\n')
	if err != nil {
		return 0, 0, err
	}
	var a, b float64
	if _, err := fmt.Sscan(line, &a, &b); err != nil {
		return 0, 0, fmt.Errorf("answer %q: %w", line, err)
	}
	return time.Duration(a * 1e9), time.Duration(b * 1e9), nil
}

func (t *torch) close() {
	t.in.Close()
	t.cmd.Wait()
}
