package cluster

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// watch keeps the list of open runs, until ctx is done.
func (s *serving) watch(ctx context.Context) {
	for first := true; ; first = false {
		if err := s.follow(ctx); ctx.Err() != nil {
			return
		} else if err != nil && first {
			s.Log("waiting for a run to be opened")
		}
		if !wait(ctx, time.Second) {
			return
		}
	}
}

func (s *serving) follow(ctx context.Context) error {
	kv, err := s.js.KeyValue(ctx, bucketRuns)
	if err != nil {
		return err
	}
	watcher, err := kv.Watch(ctx, specKey("*"))
	if err != nil {
		return err
	}
	defer watcher.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case entry, ok := <-watcher.Updates():
			if !ok {
				return errors.New("the watch ended")
			}
			if entry != nil { // nil: all that was there has been seen
				s.note(entry)
			}
		}
	}
}

func (s *serving) note(entry jetstream.KeyValueEntry) {
	name := strings.TrimPrefix(entry.Key(), specKey(""))
	var spec Spec
	known := entry.Operation() == jetstream.KeyValuePut && decode(entry.Value(), maxRequest, &spec) == nil && spec.Validate() == nil && spec.Name == name
	s.mu.Lock()
	if known {
		s.specs[name] = spec
	} else {
		delete(s.specs, name)
	}
	s.mu.Unlock()
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func (s *serving) refuse(run string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused[run] = true
}

// open says whether a run is still the one of its name.
func (s *serving) open(spec Spec) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.specs[spec.Name].Run == spec.Run
}

// forgetRun takes a run whose coordinator is silent off the list, until it
// shows itself again.
func (s *serving) forgetRun(spec Spec) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.specs[spec.Name].Run == spec.Run {
		delete(s.specs, spec.Name)
	}
}

// next waits for a run that this worker may serve. Which one it takes of
// several depends on its name, so that workers spread over them.
func (s *serving) next(ctx context.Context) (Spec, error) {
	for {
		s.mu.Lock()
		var fit []Spec
		for _, spec := range s.specs {
			if !s.refused[spec.Run] {
				fit = append(fit, spec)
			}
		}
		s.mu.Unlock()
		if len(fit) > 0 {
			slices.SortFunc(fit, func(a, b Spec) int { return strings.Compare(Name(s.Name, a.Run), Name(s.Name, b.Run)) })
			return fit[0], nil
		}
		select {
		case <-ctx.Done():
			return Spec{}, ctx.Err()
		case <-s.changed:
		}
	}
}
