package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everdesk/everdesk/internal/hubtest"
	"github.com/everdesk/everdesk/wire"
)

// runShards does something in several fleets at once, since most of it is waiting,
// and then, when all are done, what is to be done after it.
func runShards(t *testing.T, shards int, do func(t *testing.T, shard uint64), after func()) {
	t.Helper()
	t.Cleanup(after)
	for shard := range shards {
		t.Run(strconv.Itoa(shard), func(t *testing.T) {
			t.Parallel()
			do(t, uint64(shard))
		})
	}
}

// sample is what was measured, by several goroutines.
type sample struct {
	mu         sync.Mutex
	spans      []time.Duration
	violations int
}

func (s *sample) add(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spans = append(s.spans, d)
}

// addViolations counts broken promises.
func (s *sample) addViolations(violations int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.violations += violations
}

func (s *sample) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.spans)
}

func (s *sample) quantile(q float64) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Sort(s.spans)
	return hubtest.Quantile(s.spans, q)
}

// requireSamples fails a full run in which nothing was measured: of nothing everything
// can be said.
func requireSamples(t *testing.T, what string, s *sample) {
	t.Helper()
	if plan.Full && s.count() == 0 {
		t.Errorf("%s: nothing was measured", what)
	}
}

// requireQuantile fails a full run in which a part of what was measured is above a limit, or
// nothing was measured at all. It returns where that part ends.
func requireQuantile(t *testing.T, what string, s *sample, q float64, limit time.Duration) time.Duration {
	t.Helper()
	requireSamples(t, what, s)
	got := s.quantile(q)
	if plan.Full && got > limit {
		t.Errorf("%s: %v, want at most %v", what, got, limit)
	}
	return got
}

// wait waits for a while, in which others act.
func waitFor(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// roundDuration is a duration for people.
func roundDuration(d time.Duration) string { return d.Round(10 * time.Millisecond).String() }

// streamWords is what the demo says to /stream.
func streamWords(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("w%d", i+1)
	}
	return strings.Join(all, " ")
}

// ownerOf asks the store, through the door, who owns a session.
func ownerOf(t *testing.T, f *hubtest.Fleet, session wire.SessionID) wire.ReplicaID {
	t.Helper()
	var state struct {
		Owner wire.ReplicaID `json:"owner"`
	}
	mustGet(t, f, f.Door.URL()+"/api/sessions/"+string(session)+"/snapshot", &state)
	return state.Owner
}

// mustGet reads something that a fleet must have, and fails the test if it has not.
func mustGet(t *testing.T, f *hubtest.Fleet, url string, out any) {
	t.Helper()
	if err := tryGet(t, f, url, out); err != nil {
		t.Fatalf("read %s: %v", url, err)
	}
}

// tryGet reads something and returns why that was refused, if it was. A hub that does
// not answer, or says that it cannot now, is asked again: how long that takes is up to the
// machine.
func tryGet(t *testing.T, f *hubtest.Fleet, url string, out any) error {
	t.Helper()
	for {
		err := f.Call(t, http.MethodGet, url, "", out)
		status, ok := errors.AsType[*hubtest.StatusError](err)
		if err == nil || ok && status.Status < 500 || t.Context().Err() != nil {
			return err
		}
		waitFor(t.Context(), 100*time.Millisecond)
	}
}
