package cluster

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Too few servers are waited for while a cluster may be starting; then a run
// that asked for copies fails and one that did not does with one.
func TestTooFewServers(t *testing.T) {
	noPeers := fmt.Errorf("wrapped: %w", &jetstream.APIError{Code: 400, ErrorCode: codeNoPeers})
	alone := &jetstream.APIError{Code: 503, ErrorCode: codeNotClustered}
	for _, c := range []struct {
		err           error
		asked, copies int
		after         time.Duration
		want          int
	}{
		{nil, 3, 3, 0, nothing},
		{errors.New("another"), 3, 3, 0, nothing},
		{noPeers, 3, 3, 0, later},
		{noPeers, 3, 3, settling, nothing},
		{noPeers, 0, 3, 0, later},
		{noPeers, 0, 3, settling, fewer},
		{noPeers, 0, 1, 0, nothing},
		{alone, 3, 3, 0, nothing},
		{alone, 0, 3, 0, fewer},
	} {
		if got := tooFew(c.err, c.asked, c.copies, c.after); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
	// An unsettled answer is asked for again, a refusal is not.
	for _, settles := range []bool{true, false} {
		tries := 0
		err := insist(context.Background(), time.Minute, time.Second, func(context.Context) error {
			if tries++; tries == 1 && settles {
				return unsettled{noPeers}
			}
			return noPeers
		})
		if !errors.Is(err, noPeers) || settles != (tries == 2) {
			t.Errorf("settles %v: %d tries, %v", settles, tries, err)
		}
	}
}
