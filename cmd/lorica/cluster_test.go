package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"

	"lorica/counts"
	"lorica/dataset"
	"lorica/smooth"
)

// serveNATS is a server of a cluster: name, folder, client and route address,
// routes of all. It ends with its test.
func serveNATS(args []string) {
	conf := fmt.Sprintf("server_name: %s\nlisten: %s\njetstream { store_dir: %q }\ncluster { name: test, listen: %s, routes: [%s] }\n",
		args[0], args[2], args[1], args[3], args[4])
	file := filepath.Join(args[1], args[0]+".conf")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		panic(err)
	}
	opts, err := server.ProcessConfigFile(file)
	if err != nil {
		panic(err)
	}
	opts.NoLog = true
	s, err := server.NewServer(opts)
	if err != nil {
		panic(err)
	}
	s.Start()
	_, _ = os.Stdin.Read(make([]byte, 1)) // the test's end closes it
	os.Exit(0)
}

// process starts the test binary in a role.
func process(t *testing.T, role string, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.Command(os.Args[0], args...)
	c.Env = append(os.Environ(), "LORICA_TEST_AS="+role)
	log := &bytes.Buffer{}
	c.Stderr = log
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		kill(c)
		if t.Failed() {
			t.Logf("%s %s:\n%s", role, args[0], log)
		}
	})
	return c
}

// kill ends a process at once; killing it again does nothing.
func kill(c *exec.Cmd) {
	_ = c.Process.Kill()
	_ = c.Wait()
}

// free returns an address nobody listens on.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// startServers starts a cluster of three and returns it by name.
func startServers(t *testing.T) (servers map[string]*exec.Cmd, urls string) {
	t.Helper()
	var clients, routes []string
	for range 3 {
		clients, routes = append(clients, free(t)), append(routes, free(t))
	}
	servers = map[string]*exec.Cmd{}
	for i := range clients {
		name := fmt.Sprint("n", i)
		servers[name] = process(t, "server", name, t.TempDir(), clients[i], routes[i], "nats://"+strings.Join(routes, ", nats://"))
	}
	return servers, "nats://" + strings.Join(clients, ",nats://")
}

// until polls for a condition: the only clock is how long a failure may take.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(90 * time.Second); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("gave up waiting for " + what)
		}
	}
}

func lines(file string) int {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	return bytes.Count(data, []byte("\n"))
}

// A server of three, two workers of four and the coordinator are killed while
// the run goes on; its counts file is the single machine's, byte for byte.
func TestClusterSurvivesKills(t *testing.T) {
	base := []string{"certify", "--model", "builtin:margin-cs", "--data", "builtin", "--cost", "cat->*", "--sigma", "0.5",
		"--n0", "20", "--n", "200", "--chunk", "20", "--max", "40", "--decide", "0.25,0.5",
		"--batch", "8"} // a small batch: few chunks are out at once, and examples finish one by one
	dir := t.TempDir()
	mustRun(t, append(base, "--out", filepath.Join(dir, "one"))...)
	want, err := os.ReadFile(filepath.Join(dir, "one", "counts.jsonl"))
	if err != nil {
		t.Fatal(err)
	}

	servers, urls := startServers(t)
	nc, err := nats.Connect(urls, nats.MaxReconnects(-1), nats.RetryOnFailedConnect(true), nats.ReconnectWait(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the servers to choose a leader", func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, err := js.AccountInfo(ctx)
		return err == nil
	})
	var workers []*exec.Cmd
	for i := range 4 {
		workers = append(workers, process(t, "command", "worker", "--cluster", urls, "--name", fmt.Sprint("w", i)))
	}
	many := append(base, "--cluster", urls, "--lease", "2s", "--replicas", "3", "--out", filepath.Join(dir, "many"))
	file := filepath.Join(dir, "many", "counts.jsonl")
	coordinator := process(t, "command", many...)

	until(t, "the first examples", func() bool { return lines(file) > 3 })
	leader := streamLeader(t, js)
	kill(servers[leader])
	kill(workers[0])
	reached := lines(file)
	until(t, "examples after a server and a worker were killed", func() bool { return lines(file) > reached+2 })
	kill(coordinator)
	if n := lines(file); n > 40 {
		t.Fatalf("the run had ended with %d lines before the coordinator was killed: nothing was tested", n)
	}
	reached = lines(file)
	coordinator = process(t, "command", many...)
	until(t, "examples of the second coordinator", func() bool { return lines(file) > reached })
	kill(workers[1])
	if err := coordinator.Wait(); err != nil {
		t.Fatalf("the second coordinator: %v", err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the counts differ: %d bytes, %d from one machine", len(got), len(want))
	}
}

// streamLeader is the server that leads the queue of chunks, which must have
// three copies.
func streamLeader(t *testing.T, js jetstream.JetStream) (name string) {
	t.Helper()
	until(t, "the queue's leader", func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		stream, err := js.Stream(ctx, "LORICA_CHUNKS")
		if err != nil || stream.CachedInfo().Cluster == nil {
			return false
		}
		info := stream.CachedInfo()
		if info.Config.Replicas != 3 {
			t.Fatalf("the queue has %d copies", info.Config.Replicas)
		}
		name = info.Cluster.Leader
		return name != ""
	})
	return name
}

// With workers of its own, over the server in its process, certify writes the
// same file.
func TestWorkersInOneProcess(t *testing.T) {
	base := []string{"certify", "--model", "builtin:gaussian", "--data", "builtin", "--cost", "cat->*", "--sigma", "0.5",
		"--n0", "10", "--n", "60", "--chunk", "16", "--indices", "1,3,5,7"}
	dir := t.TempDir()
	var files [][]byte
	for _, extra := range [][]string{nil, {"--workers", "2", "--metrics", "127.0.0.1:0"}} {
		to := filepath.Join(dir, fmt.Sprint(len(files)))
		mustRun(t, append(append(base, "--out", to), extra...)...)
		data, err := os.ReadFile(filepath.Join(to, "counts.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, data)
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("the counts differ")
	}
}

func TestClusterFlagsAreChecked(t *testing.T) {
	base := []string{"certify", "--model", "builtin:gaussian", "--data", "builtin", "--cost", "cat->*", "--out", t.TempDir()}
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{append(base, "--workers", "-1"), exitUsage, "--workers"},
		{append(base, "--cluster", "nats://x", "--listen", ":1"), exitUsage, "--listen"},
		{append(base, "--mixed-engines"), exitUsage, "--mixed-engines"},
		{append(base, "--listen", "0.0.0.0:0"), exitFailed, "password"},
		{append(base, "--cluster", "nats://u:secret@127.0.0.1:1"), exitFailed, "u:xxxxx@127.0.0.1:1"},
		{[]string{"worker"}, exitUsage, "--cluster"},
		{[]string{"status"}, exitUsage, "--cluster"},
		{[]string{"worker", "--cluster", "nats://127.0.0.1:1", "--nats-user", "u"}, exitFailed, "password file"},
	} {
		var out, log bytes.Buffer
		if code := run(context.Background(), &out, &log, test.args); code != test.code || !strings.Contains(log.String(), test.want) {
			t.Errorf("%v: exit code %d, %s", test.args, code, &log)
		}
		if strings.Contains(log.String(), "secret") {
			t.Errorf("%v: a password is shown: %s", test.args, &log)
		}
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("over"))
	if code := run(ctx, &bytes.Buffer{}, &bytes.Buffer{}, append(base, "--workers", "1")); code != exitInterrupted {
		t.Errorf("an interrupted run gave exit code %d", code)
	}
}

// BenchmarkOverhead samples with one engine directly and through JetStream, in
// turns, and reports the share of the throughput that is left.
func BenchmarkOverhead(b *testing.B) {
	m, err := loadModel("builtin:margin-cs")
	if err != nil {
		b.Fatal(err)
	}
	set, err := dataset.Open("builtin", "")
	if err != nil {
		b.Fatal(err)
	}
	f := certifyFlags{Config: smooth.Config{Sigma: 0.5, N0: 100, N: 2000, Seed: 1, Chunk: 1000}, model: "builtin:margin-cs", out: b.TempDir(),
		at: place{engine: "cpu", precision: "float32"}, spread: clusterFlags{workers: 1, lease: 30 * time.Second}}
	r := &certification{certifyFlags: f, model: m, set: set}
	c := &cobra.Command{}
	c.SetContext(context.Background())
	c.SetErr(io.Discard)
	through, err := r.supply(c)
	if err != nil {
		b.Fatal(err)
	}
	defer through.close()
	r.spread.workers = 0
	direct, err := r.supply(c)
	if err != nil {
		b.Fatal(err)
	}
	defer direct.close()
	var spent [2]time.Duration
	both := []*supply{direct, through}
	for b.Loop() {
		for _, i := range []int{0, 1, 1, 0} { // so that a drift of the machine hits both alike
			s, start := both[i], time.Now()
			err := smooth.Run(context.Background(), smooth.Task{Sampler: s, Source: set, Examples: []int{0, 1, 2, 3}, Config: f.Config,
				Emit: func(counts.Record) error { return nil }, InFlight: s.inFlight})
			if err != nil {
				b.Fatal(err)
			}
			spent[i] += time.Since(start)
		}
	}
	b.ReportMetric(float64(spent[0])/float64(spent[1]), "share")
	b.ReportMetric(float64(b.N)*2*4*2100/spent[1].Seconds(), "samples/s")
}
