package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lorica/cluster"
	"lorica/draw"
	"lorica/model"
	"lorica/smooth"
)

// registerAccess adds the flags that say how to reach and trust a cluster.
func registerAccess(fl *pflag.FlagSet, a *cluster.Access) {
	fl.StringVar(&a.URL, "cluster", "", "NATS servers: `nats://host:4222`, several with commas")
	fl.StringVar(&a.Creds, "nats-creds", "", "NATS credentials `file`")
	fl.StringVar(&a.User, "nats-user", "", "user `name`, in place of credentials")
	fl.StringVar(&a.PasswordFile, "nats-password-file", "", "`file` with the user's password")
	fl.StringVar(&a.CA, "nats-ca", "", "`file` of certificates to trust")
	fl.StringVar(&a.Cert, "nats-cert", "", "certificate `file` of this side")
	fl.StringVar(&a.Key, "nats-key", "", "key `file` of the certificate")
}

// clusterFlags say how certify spreads its draws over workers.
type clusterFlags struct {
	access   cluster.Access
	workers  int
	listen   string
	metrics  string
	mixed    bool
	replicas int
	lease    time.Duration
}

func (f *clusterFlags) register(fl *pflag.FlagSet) {
	registerAccess(fl, &f.access)
	fl.IntVar(&f.workers, "workers", 0, "sample with `N` workers in this process, over JetStream")
	fl.StringVar(&f.listen, "listen", "", "let workers join this process at `host:port`")
	fl.StringVar(&f.metrics, "metrics", "", "serve Prometheus metrics of the workers at `host:port`")
	fl.BoolVar(&f.mixed, "mixed-engines", false, "let workers of different engines take part (recorded in the counts)")
	fl.DurationVar(&f.lease, "lease", 30*time.Second, "how long a worker that is not heard of keeps its chunks")
	fl.IntVar(&f.replicas, "replicas", 0, "copies of the cluster's streams (0: 3 where the servers can, else 1)")
}

func (f *clusterFlags) used() bool { return f.access.URL != "" || f.workers > 0 || f.listen != "" }

func (f *clusterFlags) validate() error {
	switch {
	case f.workers < 0 || f.workers > 1024:
		return usagef("--workers is %d: between 0 and 1024 fit in one process", f.workers)
	case f.access.URL != "" && f.listen != "":
		return usagef("--cluster joins servers that run, --listen starts one: give one of them")
	case f.lease < time.Second || f.lease > time.Hour:
		return usagef("--lease is %v: between a second and an hour were expected", f.lease)
	case !f.used() && (f.metrics != "" || f.mixed):
		return usagef("--metrics and --mixed-engines are for runs with --cluster, --workers or --listen")
	}
	return nil
}

// mixedEngines is the header's engine where any may take part.
const mixedEngines = "mixed"

// supply is where a run's draws come from: a device, or a cluster of workers.
type supply struct {
	draw.Sampler
	engine   string        // for the counts' header
	identity func() string // the engine as it is now; nil for a cluster, which watches its workers'
	inFlight func() int
	watch    func(smooth.Progress)
	label    func() string // what the progress line says besides
	note     func() string // what the total says besides
	close    func() error
}

// warning tells of an engine that is not what the counts' header says any more.
func (s *supply) warning() string {
	if s.identity == nil || s.identity() == s.engine {
		return ""
	}
	return fmt.Sprintf("warning: the device ran out of memory, so %s went on as %s: the counts are as sound, but need not repeat bit for bit", s.engine, s.identity())
}

// supply opens what the run draws with.
func (r *certification) supply(c *cobra.Command) (*supply, error) {
	if r.spread.used() {
		return clusterSupply(c, r)
	}
	return deviceSupply(r.at, r.model, r.Sigma)
}

// deviceSupply samples in this process, without a cluster.
func deviceSupply(p place, m *model.Model, sigma float64) (*supply, error) {
	d, err := openDevice(p, m, sigma)
	if err != nil {
		return nil, err
	}
	return &supply{
		Sampler: d, engine: d.Identity(), identity: d.Identity, watch: func(smooth.Progress) {}, label: func() string { return "" },
		note:  func() string { return fmt.Sprintf(" (start-up %.1f s)", d.CompileTime().Seconds()) },
		close: d.close,
	}, nil
}

// crew is a coordinator with all that belongs to it in this process.
type crew struct {
	*cluster.Coordinator
	closers []func() error // in the order of opening
	stop    context.CancelFunc
	local   sync.WaitGroup
}

func (w *crew) close() error {
	w.stop()
	w.local.Wait()
	var err error
	for i := len(w.closers) - 1; i >= 0; i-- {
		err = errors.Join(err, w.closers[i]())
	}
	return err
}

// clusterSupply opens the run on a cluster, or on a server in this process,
// and starts the workers that were asked for.
func clusterSupply(c *cobra.Command, r *certification) (s *supply, err error) {
	f := &r.spread
	log := func(line string) { fmt.Fprintln(c.ErrOrStderr(), line) }
	ctx, stop := context.WithCancel(c.Context())
	w := &crew{stop: stop}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	raw, err := modelBytes(r.certifyFlags.model, r.model.SHA256)
	if err != nil {
		return nil, err
	}
	connect, err := f.connector(w, log)
	if err != nil {
		return nil, err
	}
	nc, err := connect("lorica certify")
	if err != nil {
		return nil, err
	}
	w.closers = append(w.closers, func() error { nc.Close(); return nil })

	spec := cluster.Spec{
		Version: version, Name: r.clusterName(), Title: cluster.Title(filepath.Base(r.out), r.header.Data, fmt.Sprintf("sigma %g", r.Sigma)),
		ModelName: filepath.Base(r.certifyFlags.model), Engine: r.header.Engine, Mixed: f.mixed, Sigma: r.Sigma, Classes: r.model.Labels, Chunk: r.Chunk,
		Image:   [3]int{r.model.Image.C, r.model.Image.H, r.model.Image.W},
		Options: map[string]string{"precision": r.at.precision, "batch": strconv.Itoa(r.at.batch)},
	}
	if f.mixed {
		spec.Engine = mixedEngines
	}
	if w.Coordinator, err = cluster.Open(ctx, nc, spec, raw, cluster.Options{Timing: cluster.Timing{Lease: f.lease}, Replicas: f.replicas, Memory: f.access.URL == "", Log: log}); err != nil {
		return nil, err
	}
	w.closers = append(w.closers, w.Coordinator.Close)
	if f.metrics != "" {
		if err := w.serveMetrics(f.metrics, log); err != nil {
			return nil, err
		}
	}
	for i := range f.workers {
		if err := w.startLocal(ctx, i, connect, r.at); err != nil {
			return nil, err
		}
	}
	if f.workers == 0 {
		log("waiting for the first worker")
	}
	engine, err := w.Engine(ctx)
	if err != nil {
		return nil, err
	}
	return &supply{
		Sampler: w, engine: engine, inFlight: w.InFlight, watch: w.Watch, close: w.close,
		label: func() string { return fmt.Sprintf(", %s", plural(len(w.Stats().Workers), "worker")) },
		note:  func() string { return "" },
	}, nil
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// connector returns what connects to the cluster, or to a server in this
// process, which it starts.
func (f *clusterFlags) connector(w *crew, log func(string)) (func(name string) (*nats.Conn, error), error) {
	if f.access.URL != "" {
		return func(name string) (*nats.Conn, error) { return cluster.Connect(f.access, name) }, nil
	}
	server, err := cluster.Embed(f.listen, f.access)
	if err != nil {
		return nil, err
	}
	w.closers = append(w.closers, func() error { server.Close(); return nil })
	if f.listen != "" {
		log("workers join with: lorica worker --cluster nats://" + server.Address())
	}
	return server.Connect, nil
}

// startLocal starts a worker in this process. One that cannot work ends the
// run: it was asked for here.
func (w *crew) startLocal(ctx context.Context, i int, connect func(string) (*nats.Conn, error), at place) error {
	name := fmt.Sprintf("%s-%d", workerName(), i)
	nc, err := connect(name)
	if err != nil {
		return err
	}
	w.local.Go(func() {
		defer nc.Close()
		worker := cluster.Worker{Name: name, Version: version, Build: buildDevice(at), Strict: true}
		if err := worker.Run(ctx, nc); ctx.Err() == nil {
			w.Fail(fmt.Errorf("worker %s: %w", name, err))
		}
	})
	return nil
}

// clusterName is the same for the same run folder and header, so that certify
// started again takes its own run over and no other.
func (r *certification) clusterName() string {
	host, _ := os.Hostname() // without a name the folder has to do
	folder, err := filepath.Abs(r.out)
	if err != nil {
		folder = r.out
	}
	h := r.header
	return cluster.Name(host, folder, h.Model.SHA256, h.Data, h.Split, fmt.Sprint(h.Sigma, h.N0, h.N, h.Seed))
}

// modelBytes are the bytes that the model was loaded from.
func modelBytes(name, hash string) ([]byte, error) {
	var raw []byte
	var err error
	if b, ok := strings.CutPrefix(name, "builtin:"); ok {
		raw, err = model.BuiltinBytes(b)
	} else {
		raw, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(raw); hex.EncodeToString(sum[:]) != hash {
		return nil, fmt.Errorf("model %s changed while it was read", name)
	}
	return raw, nil
}

// serveMetrics answers /metrics until the run ends.
func (w *crew) serveMetrics(address string, log func(string)) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("--metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_ = w.Stats().WriteMetrics(out) // the other side hung up
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 10 * time.Second}
	w.local.Go(func() { _ = server.Serve(l) }) // until Close
	stop := w.stop
	w.stop = func() { stop(); server.Close() }
	log("metrics at http://" + l.Addr().String() + "/metrics")
	return nil
}
