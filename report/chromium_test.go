package report

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

var pictures = flag.String("pictures", "", "keep pictures of the pages in this `folder`, to be looked at")

// browser is a real Chromium without a window. It is driven over the two pipes
// of --remote-debugging-pipe: JSON messages that end in a zero byte.
type browser struct {
	t       *testing.T
	out     io.Writer
	session string

	mu      sync.Mutex
	next    int
	waiting map[int]chan reply
	events  []event
	wake    *sync.Cond
	ended   bool
}

type reply struct {
	Result json.RawMessage
	Error  *struct{ Message string }
}

type event struct {
	Method string
	Params json.RawMessage
}

// patience is how long a step of the browser may take before the test fails;
// a loaded machine needs a while to start one.
const patience = 60 * time.Second

// startBrowser opens an empty page. A machine without Chromium fails the test:
// what nobody opened was not tested.
func startBrowser(t *testing.T) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("the browser test needs Debian's chromium: apt-get install chromium, or run ./check.sh")
	}
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	back, sink, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	profile := t.TempDir()
	cmd := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--remote-debugging-pipe",
		"--user-data-dir="+filepath.Join(profile, "chromium"))
	cmd.Env = append(os.Environ(), "HOME="+profile) // it writes caches beside its profile
	cmd.ExtraFiles = []*os.File{in, sink}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	sink.Close()
	b := &browser{t: t, out: out, waiting: map[int]chan reply{}}
	b.wake = sync.NewCond(&b.mu)
	read := make(chan struct{})
	go func() { defer close(read); b.read(back) }()
	t.Cleanup(func() {
		b.call("Browser.close", nil, nil)
		out.Close()
		killer := time.AfterFunc(patience, func() { cmd.Process.Kill() })
		defer killer.Stop()
		cmd.Wait()
		<-read
		back.Close()
	})
	var target struct{ TargetID string }
	b.must("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.must("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.must(domain+".enable", nil, nil)
	}
	return b
}

// read takes the browser's messages until it closes its end.
func (b *browser) read(from io.Reader) {
	in := bufio.NewReaderSize(from, 1<<20)
	for {
		raw, err := in.ReadBytes(0)
		if err != nil {
			break
		}
		var m struct {
			ID     int
			Method string
			Params json.RawMessage
			reply
		}
		if json.Unmarshal(raw[:len(raw)-1], &m) != nil {
			continue
		}
		b.mu.Lock()
		if c := b.waiting[m.ID]; m.ID != 0 && c != nil {
			delete(b.waiting, m.ID)
			c <- m.reply
		} else if m.Method != "" {
			b.events = append(b.events, event{m.Method, m.Params})
			b.wake.Broadcast()
		}
		b.mu.Unlock()
	}
	b.mu.Lock()
	b.ended = true
	for _, c := range b.waiting {
		c <- reply{Error: &struct{ Message string }{"the browser went away"}}
	}
	b.wake.Broadcast()
	b.mu.Unlock()
}

// call sends a command and waits for its answer.
func (b *browser) call(method string, params any, result any) error {
	answer := make(chan reply, 1)
	b.mu.Lock()
	if b.ended {
		b.mu.Unlock()
		return errors.New("the browser went away")
	}
	b.next++
	m := map[string]any{"id": b.next, "method": method}
	if params != nil {
		m["params"] = params
	}
	if b.session != "" && !strings.HasPrefix(method, "Browser.") && !strings.HasPrefix(method, "Target.") {
		m["sessionId"] = b.session
	}
	raw, err := json.Marshal(m)
	if err == nil {
		b.waiting[b.next] = answer
		_, err = b.out.Write(append(raw, 0))
	}
	b.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case r := <-answer:
		if r.Error != nil {
			return fmt.Errorf("%s: %s", method, r.Error.Message)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(r.Result, result)
	case <-time.After(patience):
		return fmt.Errorf("%s: no answer within %v", method, patience)
	}
}

func (b *browser) must(method string, params any, result any) {
	b.t.Helper()
	if err := b.call(method, params, result); err != nil {
		b.t.Fatal(err)
	}
}

// open loads a file and waits until it is there.
func (b *browser) open(path string) {
	b.t.Helper()
	b.mu.Lock()
	b.events = nil
	b.mu.Unlock()
	b.must("Page.navigate", map[string]any{"url": "file://" + path}, nil)
	late := time.AfterFunc(patience, func() { b.mu.Lock(); b.ended = true; b.wake.Broadcast(); b.mu.Unlock() })
	defer late.Stop()
	b.mu.Lock()
	defer b.mu.Unlock()
	for !b.ended {
		for _, e := range b.events {
			if e.Method == "Page.loadEventFired" {
				return
			}
		}
		b.wake.Wait()
	}
	b.t.Fatalf("%s did not load", path)
}

// size makes the page as wide and high as a device's.
func (b *browser) size(width, height int, mobile bool) {
	b.t.Helper()
	b.must("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}, nil)
}

// eval runs an expression in the page and decodes what it comes to.
func (b *browser) eval(expr string, into any) {
	b.t.Helper()
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	b.must("Runtime.evaluate", map[string]any{"expression": expr, "returnByValue": true, "awaitPromise": true, "userGesture": true}, &r)
	if r.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s %s", expr, r.ExceptionDetails.Text, r.ExceptionDetails.Exception.Description)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(r.Result.Value, into); err != nil {
		b.t.Fatalf("%s: %v", expr, err)
	}
}

// text is what an element shows.
func (b *browser) text(selector string) string {
	b.t.Helper()
	var s string
	b.eval(fmt.Sprintf("document.querySelector(%q).textContent.trim()", selector), &s)
	return s
}

// complaints are the console's errors, uncaught exceptions and requests that
// left the page, since it was opened.
func (b *browser) complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []string
	for _, e := range b.events {
		switch e.Method {
		case "Runtime.exceptionThrown", "Log.entryAdded":
			out = append(out, e.Method+": "+string(e.Params))
		case "Runtime.consoleAPICalled":
			if strings.Contains(string(e.Params), `"type":"error"`) || strings.Contains(string(e.Params), `"type":"warning"`) {
				out = append(out, string(e.Params))
			}
		case "Network.requestWillBeSent":
			var p struct {
				Request struct{ URL string }
				Type    string
			}
			if json.Unmarshal(e.Params, &p) == nil && p.Type != "Document" && !strings.HasPrefix(p.Request.URL, "data:") {
				out = append(out, "request: "+p.Request.URL)
			}
		}
	}
	return out
}

// picture saves what is seen (the whole page with all set) for people to look
// at, where the test is told to keep pictures.
func (b *browser) picture(name string, all bool) {
	b.t.Helper()
	dir := *pictures
	if dir == "" {
		return
	}
	var shot struct{ Data string }
	b.must("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": all}, &shot)
	raw, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), raw, 0o644); err != nil {
		b.t.Fatal(err)
	}
}
