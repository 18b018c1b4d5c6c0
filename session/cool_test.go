package session_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// coldList is a cold store with sessions in pages, which records what is cooled and when.
type coldList struct {
	pages [][]wire.SessionID

	mu      sync.Mutex
	failing bool
	cooling func(id wire.SessionID) (bool, error) // nil for true, or an error while failing
	calls   []wire.SessionID
	times   []time.Time
	listed  []time.Time
	since   time.Time
	sweeps  []time.Duration
}

func (c *coldList) Unused(_ context.Context, cursor string, since time.Time) ([]wire.SessionID, string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	if cursor != "" {
		if _, err := fmt.Sscan(cursor, &n); err != nil {
			return nil, "", err
		}
	}
	c.since, c.listed = since, append(c.listed, time.Now())
	if n+1 < len(c.pages) {
		return c.pages[n], strconv.Itoa(n + 1), nil
	}
	return c.pages[n], "", nil
}

func (c *coldList) Cool(_ context.Context, id wire.SessionID, _ time.Time) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls, c.times = append(c.calls, id), append(c.times, time.Now())
	if c.cooling != nil {
		return c.cooling(id)
	}
	if c.failing {
		return false, errors.New("no storage")
	}
	return true, nil
}

func (c *coldList) RemoveUnneeded(_ context.Context, noted time.Duration) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sweeps = append(c.sweeps, noted)
	return 0, nil
}

// A hub moves the sessions of all pages one after the other, and leaves those that are loaded. What is not needed any
// more is kept for a day.
func TestUnusedSessionsAreCooledOneAfterTheOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cold := &coldList{pages: [][]wire.SessionID{{"ses-a", "ses-loaded"}, {}, {"ses-b", "ses-c"}}}
		h, _ := startHub(t, openStore(t), "a", session.Config{Cold: cold, ColdAfter: 720 * time.Hour})
		createSession(t, h, "ses-loaded")
		defer openHandle(t, h, "ses-loaded").Close()
		time.Sleep(95 * time.Minute) // at least one search and at most three
		cold.mu.Lock()
		defer cold.mu.Unlock()
		if len(cold.calls) < 3 || fmt.Sprint(cold.calls[:3]) != "[ses-a ses-b ses-c]" {
			t.Fatalf("moved %v, want ses-a, ses-b and ses-c", cold.calls)
		}
		if gap := cold.times[2].Sub(cold.times[1]); gap < 10*time.Millisecond {
			t.Errorf("two sessions were moved within %v, want a pause", gap)
		}
		if gap := cold.listed[2].Sub(cold.listed[1]); gap < 10*time.Millisecond {
			t.Errorf("the page after an empty one was listed within %v, want a pause", gap)
		}
		if age := time.Since(cold.since); age < 720*time.Hour || age > 722*time.Hour {
			t.Errorf("searched for sessions that are unused for %v, want 720h", age)
		}
		if cold.sweeps[0] != 24*time.Hour {
			t.Errorf("removed what is not needed for %v, want 24h", cold.sweeps[0])
		}
	})
}

// A storage that fails ends a search after a few sessions, and the next search tries again.
func TestCoolingStopsWhileTheStorageFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ids := make([]wire.SessionID, 100)
		for i := range ids {
			ids[i] = wire.SessionID(fmt.Sprint("ses-", i))
		}
		cold := &coldList{pages: [][]wire.SessionID{ids}, failing: true}
		startHub(t, openStore(t), "a", session.Config{Cold: cold, ColdAfter: time.Hour})
		time.Sleep(5 * time.Hour)
		cold.mu.Lock()
		failed, searches := len(cold.calls), len(cold.sweeps)
		cold.failing = false
		cold.mu.Unlock()
		if searches < 3 || failed != 3*searches {
			t.Errorf("%d searches tried %d sessions, want 3 each", searches, failed)
		}
		time.Sleep(2 * time.Hour)
		cold.mu.Lock()
		defer cold.mu.Unlock()
		if n := len(cold.calls) - failed; n < len(ids) {
			t.Errorf("after the outage %d sessions were moved, want all %d", n, len(ids))
		}
	})
}

// No session moves while a replica could not open it, or without the setting.
func TestSessionsStayWarm(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]session.Config{
		"off":                   {},
		"with an older replica": {ColdAfter: time.Hour, MayCool: func() bool { return false }},
	} {
		synctest.Test(t, func(t *testing.T) {
			cold := &coldList{pages: [][]wire.SessionID{{"ses-a"}}}
			cfg.Cold = cold
			startHub(t, openStore(t), "a", cfg)
			time.Sleep(5 * time.Hour)
			cold.mu.Lock()
			defer cold.mu.Unlock()
			if len(cold.calls) > 0 || len(cold.sweeps) == 0 {
				t.Errorf("%s: moved %v and swept %d times, want no session and a sweep", name, cold.calls, len(cold.sweeps))
			}
		})
	}
}

// Failures with sessions between them that stay as they are do not end a search.
func TestSingleFailuresDoNotEndASearch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ids := make([]wire.SessionID, 12)
		for i := range ids {
			ids[i] = wire.SessionID(fmt.Sprint("ses-", i))
		}
		cold, n := &coldList{pages: [][]wire.SessionID{ids}}, 0
		cold.cooling = func(wire.SessionID) (bool, error) {
			if n++; n%2 == 0 {
				return false, errors.New("damaged")
			}
			return false, nil
		}
		startHub(t, openStore(t), "a", session.Config{Cold: cold, ColdAfter: 720 * time.Hour})
		time.Sleep(95 * time.Minute) // at least one search and at most three
		cold.mu.Lock()
		defer cold.mu.Unlock()
		if got := cold.calls[:min(len(ids), len(cold.calls))]; !slices.Equal(got, ids) {
			t.Errorf("a search tried %v, want all of %v", got, ids)
		}
	})
}

// A replica that cannot open cold sessions may start during a search: the next session stays.
func TestSearchEndsWhenAnOlderReplicaStarts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cold := &coldList{pages: [][]wire.SessionID{{"ses-a", "ses-b"}, {"ses-c"}}}
		var older atomic.Bool
		cold.cooling = func(wire.SessionID) (bool, error) {
			older.Store(true)
			return true, nil
		}
		startHub(t, openStore(t), "a", session.Config{
			Cold: cold, ColdAfter: 720 * time.Hour, MayCool: func() bool { return !older.Load() },
		})
		time.Sleep(5 * time.Hour)
		cold.mu.Lock()
		defer cold.mu.Unlock()
		if fmt.Sprint(cold.calls) != "[ses-a]" {
			t.Errorf("moved %v, want only ses-a, before the older replica", cold.calls)
		}
	})
}
