package cluster

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"lorica/counts"
	"lorica/draw"
	"lorica/smooth"
)

// A worker that is cut off for longer than its lease (its process stopped, its
// cable pulled) answers late: its chunks were done by others, and its answers
// are dropped. It is played here with the worker's own steps, so that it can
// stand still between them.
func TestLateAnswersAreDropped(t *testing.T) {
	const n = 6
	want := direct(t, n, smooth.Fixed(testTask.N))
	s := embed(t)
	c := open(t, s, testSpec, quick)
	nc, err := s.Connect("late")
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	sampler := &linear{sigma: 0.5, batch: 32}
	v := &visit{spec: c.Spec(), fill: 4, full: 200, images: newImages(6), serving: &serving{
		Worker: Worker{Name: "late", Version: "test", Log: func(string) {}}, nc: nc, js: js, sampler: sampler, engine: "linear",
		specs: map[string]Spec{"run": c.Spec()},
	}}
	ctx := context.Background()
	if err := v.join(ctx); err != nil {
		t.Fatal(err)
	}
	type end struct {
		recs []counts.Record
		err  error
	}
	ended := make(chan end)
	go func() {
		recs, err := sample(t, c, n, testTask, nil)
		ended <- end{recs, err}
	}()
	msgs := v.fetch(ctx)
	if len(msgs) == 0 {
		t.Fatal("no chunks came")
	}
	var group []held
	var results []result
	for _, m := range msgs {
		o, err := decodeOrder(m.Data(), &v.spec)
		if err != nil {
			t.Fatal(err)
		}
		image, err := v.image(ctx, o)
		if err != nil || image == nil {
			t.Fatal("no image", err)
		}
		tallies, err := sampler.Sample(ctx, []draw.Job{{Image: image, Chunk: o.Chunk}})
		if err != nil {
			t.Fatal(err)
		}
		// A late answer that is wrong as well would show if it were taken.
		tallies[0].Counts[0], tallies[0].Counts[1] = tallies[0].Counts[1], tallies[0].Counts[0]
		group, results = append(group, held{msg: m, id: o.ID}), append(results, packTally(o.ID, tallies[0]))
	}
	join(t, s, Worker{Name: "other", Build: buildLinear(nil)})
	got := <-ended // others finish once the lease is over
	if got.err != nil || !reflect.DeepEqual(got.recs, want) {
		t.Fatalf("%d records, %v", len(got.recs), got.err)
	}
	if data, err := v.ask(ctx, "life", beat{Member: v.member}); err != nil || !strings.Contains(string(data), "not a member") {
		t.Logf("the late worker is still a member: %s, %v", data, err) // it slept less than the run's patience with it
	} else if err := v.join(ctx); err != nil {
		t.Fatal(err)
	}
	if err := v.hand(ctx, group, results); err != nil {
		t.Errorf("handing in late answers: %v", err)
	}
	if st := c.Stats(); st.Late < int64(len(group)) {
		t.Errorf("%d late answers of %d", st.Late, len(group))
	}
}

// A coordinator that starts while the run of a dead one lies on the server
// purges its chunks, and the workers come over.
func TestCoordinatorTakesOver(t *testing.T) {
	const n = 10
	want := direct(t, n, smooth.Fixed(testTask.N))
	s := embed(t)
	var builds atomic.Int32
	honest := buildLinear(nil)
	join(t, s, Worker{Name: "w", Build: func(ctx context.Context, spec Spec, model []byte) (draw.Sampler, string, error) {
		builds.Add(1)
		return honest(ctx, spec, model)
	}})
	dead := open(t, s, testSpec, quick)
	ctx := context.Background()
	if _, err := dead.Sample(ctx, []draw.Job{{Image: make([]float32, 6), Chunk: draw.Chunk{Count: 50}}}); err != nil {
		t.Fatal(err)
	}
	dead.release() // as a killed process: nothing answers any more, and a chunk is in the queue
	if _, err := dead.publish(ctx, chunkSubject(dead.Spec().Run), []byte(`{"id":9999,"count":7}`), "stale"); err != nil {
		t.Fatal(err)
	}

	c := open(t, s, testSpec, quick)
	got, err := sample(t, c, n, testTask, nil)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%d records, %v", len(got), err)
	}
	if builds.Load() != 1 {
		t.Errorf("the model was built %d times", builds.Load())
	}
	// The dead one was only asleep: it learns that it is not the run any more.
	select {
	case <-dead.desk.failed:
		if !strings.Contains(dead.desk.err.Error(), "taken over") {
			t.Error(dead.desk.err)
		}
	case <-time.After(20 * time.Second):
		t.Error("the old coordinator still thinks that it leads")
	}
	info, err := c.store.chunks.Info(context.Background(), jetstream.WithSubjectFilter(chunkSubject("*")))
	if err != nil || info.State.Subjects[chunkSubject(dead.Spec().Run)] > 0 {
		t.Errorf("chunks of the dead run are left: %+v, %v", info.State.Subjects, err)
	}
}

// A run that is closed leaves nothing on the server.
func TestCloseLeavesNothing(t *testing.T) {
	s := embed(t)
	c := open(t, s, testSpec, quick)
	other := testSpec
	other.Name = "other"
	c2 := open(t, s, other, quick)
	ctx := context.Background()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c2.store.models.GetInfo(ctx, c2.Spec().Model); err != nil {
		t.Errorf("the model of an open run is gone: %v", err)
	}
	runs, workers, err := Status(ctx, c2.nc)
	if err != nil || len(runs) != 1 || runs[0].Spec.Name != "other" || len(workers) != 0 {
		t.Errorf("%+v, %+v, %v", runs, workers, err)
	}
	if err := c2.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c2.store.models.GetInfo(ctx, c2.Spec().Model); !errors.Is(err, jetstream.ErrObjectNotFound) {
		t.Errorf("the model stays: %v", err)
	}
	if info, err := c2.store.chunks.Info(ctx); err != nil || info.State.Msgs != 0 || info.State.Consumers != 0 {
		t.Errorf("the queue has %+v, %v", info.State, err)
	}
}

func TestRefusedWorkerSaysWhy(t *testing.T) {
	s := embed(t)
	c := open(t, s, testSpec, quick)
	_, ended := join(t, s, Worker{Name: "old", Version: "0.1", Strict: true, Build: buildLinear(nil)})
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "0.1") {
		t.Errorf("a worker of another version: %v", err)
	}
	_, ended = join(t, s, Worker{Name: "bad model", Build: func(context.Context, Spec, []byte) (draw.Sampler, string, error) {
		return nil, "", errors.New("operation Foo is not supported")
	}})
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "Foo") {
		t.Errorf("a model that cannot be built: %v", err)
	}
	_, ended = join(t, s, Worker{Name: "broken", Build: buildLinear(func(context.Context, []draw.Job) error { return errors.New("no device") })})
	go sample(t, c, 5, testTask, nil)
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "no device") {
		t.Errorf("an engine that always fails: %v", err)
	}
}

// shifty is a sampler whose engine becomes another after some calls, as one
// does that runs out of memory.
type shifty struct {
	linear
	calls atomic.Int32
}

func (s *shifty) Sample(ctx context.Context, jobs []draw.Job) ([]draw.Tally, error) {
	s.calls.Add(1)
	out, err := s.linear.Sample(ctx, jobs)
	for i := range out { // the other engine counts otherwise
		if s.Identity() != "linear" {
			out[i].Counts[0], out[i].Counts[1] = out[i].Counts[1], out[i].Counts[0]
		}
	}
	return out, err
}

func (s *shifty) Identity() string {
	if s.calls.Load() < 5 {
		return "linear"
	}
	return "linear, smaller"
}

func TestEngineThatChangesIsRefused(t *testing.T) {
	const n = 20
	want := direct(t, n, smooth.Fixed(testTask.N))
	s := embed(t)
	c := open(t, s, testSpec, quick)
	_, ended := join(t, s, Worker{Name: "shifty", Strict: true, Build: func(context.Context, Spec, []byte) (draw.Sampler, string, error) {
		return &shifty{linear: linear{sigma: 0.5, batch: 32}}, "linear", nil
	}})
	go func() {
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "smaller") {
			t.Errorf("an engine that changed: %v", err)
		}
		join(t, s, Worker{Name: "w", Build: buildLinear(nil)})
	}()
	got, err := sample(t, c, n, testTask, nil)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%d records, %v", len(got), err)
	}
}

// The queue loses chunks (here: somebody purges it). The run fails with a
// reason; it does not wait forever.
func TestLostChunksAreNoticed(t *testing.T) {
	s := embed(t)
	c := open(t, s, testSpec, quick)
	failed := make(chan error)
	go func() {
		_, err := sample(t, c, 5, testTask, nil)
		failed <- err
	}()
	for c.Stats().Open == 0 {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(50 * time.Millisecond) // all chunks that may be open are
	if err := c.store.chunks.Purge(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; err == nil || !strings.Contains(err.Error(), "has no more of") {
		t.Errorf("a purged queue gave: %v", err)
	}
}

func TestStatusShowsRunsAndWorkers(t *testing.T) {
	s := embed(t)
	c := open(t, s, testSpec, quick)
	for i := range 2 {
		join(t, s, Worker{Name: fmt.Sprint("w", i), Build: buildLinear(nil)})
	}
	if _, err := sample(t, c, 20, testTask, nil); err != nil {
		t.Fatal(err)
	}
	if engine, err := c.Engine(context.Background()); err != nil || engine != "linear" {
		t.Errorf("engine %q, %v", engine, err)
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		runs, workers, err := Status(context.Background(), c.nc)
		if err != nil {
			t.Fatal(err)
		}
		if len(runs) == 1 && runs[0].Stats.Examples == 20 && len(runs[0].Stats.Workers) == 2 &&
			len(workers) == 2 && workers[0].Name == "w0" && workers[0].Run == "run" && workers[0].Draws+workers[1].Draws >= 20*420 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%+v, %+v", runs, workers)
		}
	}
}

// certificate writes a self-signed certificate for 127.0.0.1 and its key.
func certificate(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "lorica test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, k.Public(), k)
	if err != nil {
		t.Fatal(err)
	}
	kder, err := x509.MarshalECPrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "EC PRIVATE KEY", Bytes: kder}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// A server that others can reach wants credentials; with a certificate it
// speaks TLS only, and with a CA it wants one of its clients too.
func TestEmbeddedServerIsGuarded(t *testing.T) {
	dir := t.TempDir()
	password := filepath.Join(dir, "password")
	if err := os.WriteFile(password, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cert, key := certificate(t, dir)
	if _, err := Embed("0.0.0.0:0", Access{}); err == nil || !strings.Contains(err.Error(), "password") {
		t.Errorf("listening to the world without a password: %v", err)
	}
	guarded := Access{User: "u", PasswordFile: password, CA: cert, Cert: cert, Key: key}
	s, err := Embed("127.0.0.1:0", guarded)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if inside, err := s.Connect("inside"); err != nil {
		t.Errorf("from inside: %v", err)
	} else {
		inside.Close()
	}
	for name, spoil := range map[string]func(*Access){
		"right":          func(a *Access) {},
		"no password":    func(a *Access) { a.User, a.PasswordFile = "", "" },
		"wrong password": func(a *Access) { a.PasswordFile = cert },
		"no certificate": func(a *Access) { a.Cert, a.Key = "", "" },
		"no trust":       func(a *Access) { a.CA = "" },
		"half a pair":    func(a *Access) { a.Key = "" },
		"two identities": func(a *Access) { a.Creds = password },
	} {
		a := guarded
		a.URL = "nats://" + s.Address()
		spoil(&a)
		nc, err := Connect(a, name)
		if (err == nil) != (name == "right") {
			t.Errorf("%s: %v", name, err)
		}
		if nc != nil {
			nc.Close()
		}
	}
	quiet := embed(t)
	if a := quiet.Address(); a != "" {
		t.Errorf("a server that was not told to listen listens at %s", a)
	}
}
