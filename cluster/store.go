package cluster

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// store is what a run keeps on the server.
type store struct {
	chunks jetstream.Stream
	runs   jetstream.KeyValue
	models jetstream.ObjectStore
}

// openStore finds the stream and the buckets, or makes them. They are shared
// by all runs and stay; what is in them is small and belongs to open runs.
func openStore(ctx context.Context, js jetstream.JetStream, opt Options, timing Timing) (*store, error) {
	storage := jetstream.FileStorage
	if opt.Memory {
		storage = jetstream.MemoryStorage
	}
	var st store
	make := func(ctx context.Context, replicas int) (err error) {
		if st.chunks, err = js.Stream(ctx, streamChunks); errors.Is(err, jetstream.ErrStreamNotFound) {
			st.chunks, err = js.CreateStream(ctx, jetstream.StreamConfig{
				Name: streamChunks, Description: "lorica: chunks to be sampled", Subjects: []string{chunkSubject("*")},
				Retention: jetstream.WorkQueuePolicy, Storage: storage, Replicas: replicas,
				MaxMsgSize: maxChunkMsg, Discard: jetstream.DiscardNew, Duplicates: duplicates, MaxAge: 30 * 24 * time.Hour,
			})
		}
		if err != nil {
			return err
		}
		if st.runs, err = js.KeyValue(ctx, bucketRuns); errors.Is(err, jetstream.ErrBucketNotFound) {
			st.runs, err = js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
				Bucket: bucketRuns, Description: "lorica: open runs", Storage: storage, Replicas: replicas,
				TTL: max(30*time.Second, 10*timing.Beat), MaxValueSize: maxRequest,
			})
		}
		if err != nil {
			return err
		}
		if st.models, err = js.ObjectStore(ctx, bucketModels); errors.Is(err, jetstream.ErrBucketNotFound) {
			st.models, err = js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{
				Bucket: bucketModels, Description: "lorica: models of open runs, by sha256", Storage: storage, Replicas: replicas,
			})
		}
		return err
	}
	replicas := opt.Replicas
	if replicas == 0 {
		replicas = 3
	}
	began, told := time.Now(), false
	err := insist(ctx, timing.Patience, answerTime, func(ctx context.Context) error {
		err := make(ctx, replicas)
		switch tooFew(err, opt.Replicas, replicas, time.Since(began)) {
		case later:
			if !told {
				opt.Log(fmt.Sprintf("waiting for servers to join: %d copies were asked for", replicas))
				told = true
			}
			return unsettled{err}
		case fewer:
			replicas = 1
			return make(ctx, replicas)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("preparing the servers' streams and buckets: %w", err)
	}
	return &st, nil
}

// A cluster that is starting answers before all its servers have joined: that
// there are too few of them is believed only after a while.
const settling = 10 * time.Second

// What to do about servers that are too few for the copies.
const (
	nothing = iota // there is no such error, or it stands
	later          // ask again
	fewer          // do with one copy
)

// tooFew judges an error of making streams of so many copies, where asked (0:
// what is possible) were asked for, some time after the first try.
func tooFew(err error, asked, copies int, after time.Duration) int {
	var api *jetstream.APIError
	if !errors.As(err, &api) || copies == 1 {
		return nothing
	}
	switch {
	case api.ErrorCode == codeNoPeers && after < settling:
		return later
	case asked == 0 && (api.ErrorCode == codeNotClustered || api.ErrorCode == codeNoPeers):
		return fewer
	}
	return nothing
}

// unsettled is an answer that may yet change; it is no refusal.
type unsettled struct{ error }

// How long one try of a request may take. A model travels in one request.
const (
	answerTime = 5 * time.Second
	modelTime  = 15 * time.Minute
)

// insist tries a request until it is answered: a cluster that has lost a
// server, or is just starting, is silent until it has chosen its leaders. A
// refusal is an answer.
func insist(ctx context.Context, patience, each time.Duration, request func(context.Context) error) error {
	for give := time.Now().Add(patience); ; {
		try, cancel := context.WithTimeout(ctx, each)
		err := request(try)
		cancel()
		var api *jetstream.APIError
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Now().After(give), errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, jetstream.ErrJetStreamNotEnabled),
			errors.As(err, &api) && api.Code < 500:
			return err
		}
		if !wait(ctx, 200*time.Millisecond) {
			return ctx.Err()
		}
	}
}

// duplicates is how long the server knows a chunk by its id: longer than a try
// to publish it takes. It costs the server memory for every chunk, and a chunk
// that is in the queue twice costs only a second, late answer.
const duplicates = 20 * time.Second

// The server's words for "one server only" and "not so many servers".
const (
	codeNotClustered jetstream.ErrorCode = 10074
	codeNoPeers      jetstream.ErrorCode = 10005
)

// spec is the open run of a name; its zero value, when there is none that can
// be read.
func (st *store) spec(ctx context.Context, name string) (Spec, error) {
	entry, err := st.runs.Get(ctx, specKey(name))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return Spec{}, nil
	} else if err != nil {
		return Spec{}, err
	}
	var s Spec
	if decode(entry.Value(), maxRequest, &s) != nil || s.Validate() != nil {
		return Spec{}, nil
	}
	return s, nil
}

func (st *store) putSpec(ctx context.Context, s Spec) error {
	_, err := st.runs.Put(ctx, specKey(s.Name), encode(s))
	return err
}

func (st *store) putProgress(ctx context.Context, name string, s Stats) error {
	_, err := st.runs.Put(ctx, progressKey(name), encode(s))
	return err
}

// putModel stores a model under its hash, unless it is there.
func (st *store) putModel(ctx context.Context, hash string, model []byte) error {
	if info, err := st.models.GetInfo(ctx, hash); err == nil && info.Size == uint64(len(model)) {
		return nil
	} else if err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
		return err
	}
	_, err := st.models.Put(ctx, jetstream.ObjectMeta{Name: hash}, bytes.NewReader(model))
	return err
}

// getModel fetches a run's model and verifies it.
func getModel(ctx context.Context, models jetstream.ObjectStore, s Spec) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, modelTime)
	defer cancel()
	object, err := models.Get(ctx, s.Model)
	if err != nil {
		return nil, err
	}
	defer object.Close()
	data, err := io.ReadAll(io.LimitReader(object, s.ModelBytes+1))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	if got := hex.EncodeToString(sum[:]); got != s.Model {
		return nil, fmt.Errorf("the stored model has sha256 %.12s and %d bytes, the run's %.12s and %d", got, len(data), s.Model, s.ModelBytes)
	}
	return data, nil
}

// drop removes a run's chunks and their consumer; both may be gone already.
func (st *store) drop(ctx context.Context, run string) {
	_ = st.chunks.DeleteConsumer(ctx, run)
	_ = st.chunks.Purge(ctx, jetstream.WithPurgeSubject(chunkSubject(run)))
}

// close removes what a run left, and its model where no other run needs it.
func (st *store) close(ctx context.Context, s Spec) error {
	st.drop(ctx, s.Run)
	err := errors.Join(st.runs.Delete(ctx, specKey(s.Name)), st.runs.Delete(ctx, progressKey(s.Name)))
	others, listErr := runs(ctx, st.runs)
	if listErr != nil {
		return errors.Join(err, listErr)
	}
	for _, o := range others {
		if o.Spec.Model == s.Model {
			return err
		}
	}
	return errors.Join(err, st.models.Delete(ctx, s.Model))
}
