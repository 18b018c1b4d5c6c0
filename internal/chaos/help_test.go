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

// runShards runs do for several clusters concurrently, because most of it is waiting, and then after.
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

// sample is a set of measurements of several goroutines.
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

// addViolations counts violations.
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

// requireSamples fails a full run without measurements.
func requireSamples(t *testing.T, what string, s *sample) {
	t.Helper()
	if plan.Full && s.count() == 0 {
		t.Errorf("%s: nothing was measured", what)
	}
}

// requireQuantile fails a full run in which a quantile is above a limit, or without measurements.
// It returns the quantile.
func requireQuantile(t *testing.T, what string, s *sample, q float64, limit time.Duration) time.Duration {
	t.Helper()
	requireSamples(t, what, s)
	got := s.quantile(q)
	if plan.Full && got > limit {
		t.Errorf("%s: %v, want at most %v", what, got, limit)
	}
	return got
}

// waitFor waits for a while.
func waitFor(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// roundDuration formats a duration for results.
func roundDuration(d time.Duration) string { return d.Round(10 * time.Millisecond).String() }

// streamWords is the text of the demo provider for /stream.
func streamWords(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("w%d", i+1)
	}
	return strings.Join(all, " ")
}

// ownerOf returns the owner of a session in the directory, through the load balancer.
func ownerOf(t *testing.T, f *hubtest.Cluster, session wire.SessionID) wire.ReplicaID {
	t.Helper()
	var state struct {
		Owner wire.ReplicaID `json:"owner"`
	}
	mustGet(t, f, f.Balancer.URL()+"/api/sessions/"+string(session)+"/snapshot", &state)
	return state.Owner
}

// mustGet reads a URL and fails the test on an error.
func mustGet(t *testing.T, f *hubtest.Cluster, url string, out any) {
	t.Helper()
	if err := tryGet(t, f, url, out); err != nil {
		t.Fatalf("read %s: %v", url, err)
	}
}

// tryGet reads a URL and returns the refusal, if there is one. It retries while a hub does not
// answer or is temporarily unavailable.
func tryGet(t *testing.T, f *hubtest.Cluster, url string, out any) error {
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
