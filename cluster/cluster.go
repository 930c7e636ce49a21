// Package cluster spreads the chunks of one certification over many machines.
// The machinery is NATS JetStream's; this package has no queue, lease or
// replication of its own.
//
// A Coordinator is a draw.Sampler: the sampling loop (package smooth) calls it
// like an engine. It publishes each chunk on a work-queue stream and waits for
// the tally. Workers pull chunks, keep their leases alive while they compute,
// hand the tally to the coordinator and acknowledge the chunk only when it was
// taken. A chunk whose worker dies, hangs or is cut off is delivered again.
//
// The guarantee: the tallies are those that one machine would count, whatever
// joins, leaves, dies or is delivered twice. A draw depends on its identity
// alone (package draw); workers whose model, engine or version would change a
// draw are refused; the first valid answer to a chunk counts and every later
// one is dropped. What a coordinator loses when it is killed is only the
// examples that were not finished: the counts file resumes the run, and every
// start has its own subjects, so nothing of a dead one can reach it.
//
// The package trusts its workers to count honestly, and nothing more: whatever
// they send is bounded, checked against the chunk that was handed out, and
// never becomes a path or a command.
package cluster

import "time"

// Protocol is the version of the messages below. Coordinator and workers must
// agree on it.
const Protocol = 1

// Names on the server. A run is one start of a coordinator; its id is random.
const (
	streamChunks = "LORICA_CHUNKS" // work queue; subject chunkSubject(run)
	bucketRuns   = "LORICA_RUNS"   // key-value: open runs and their progress
	bucketModels = "LORICA_MODELS" // objects: models by their sha256
	subjectPing  = "lorica.ping"   // every worker answers with its WorkerStatus
)

func chunkSubject(run string) string      { return "lorica.chunk." + run }
func deskSubject(run, verb string) string { return "lorica.run." + run + "." + verb }
func specKey(name string) string          { return "spec." + name }
func progressKey(name string) string      { return "progress." + name }

// Bounds on what travels. A chunk's message is far smaller than maxChunkMsg,
// and images are cut into parts, so that a server's usual limit of 1 MiB fits.
const (
	maxChunkMsg   = 4 << 10
	maxRequest    = 512 << 10
	maxImagePart  = 256 << 10
	maxPixels     = 64 << 20 // values in an image
	maxModelBytes = 8 << 30
	maxResults    = 4096 // in one message
	maxText       = 500  // bytes of a name or a reason
	maxClasses    = 1 << 16
	maxWorkers    = 10_000
	maxInFlight   = 1 << 14
)

// Timing says how patient a run is. The zero value of a field means the default.
type Timing struct {
	// Lease is how long a chunk stays with a worker that is not heard of.
	// Workers renew it every third of it while they compute.
	Lease time.Duration
	// Beat is the interval of life signs and of progress in the store.
	Beat time.Duration
	// Patience is how long an unreachable server is put up with.
	Patience time.Duration
	// Deliveries is how often a chunk is tried before the run fails.
	Deliveries int
}

func (t Timing) orDefault() Timing {
	pick := func(v *time.Duration, d time.Duration) {
		if *v <= 0 {
			*v = d
		}
	}
	pick(&t.Lease, 30*time.Second)
	pick(&t.Beat, 2*time.Second)
	pick(&t.Patience, 2*time.Minute)
	if t.Deliveries <= 0 {
		t.Deliveries = 5
	}
	return t
}
