package hubtest_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/everdesk/everdesk/internal/hubtest"
	"github.com/everdesk/everdesk/internal/redistest"
)

// pair is a cluster of two hubs with a tab at each.
type pair struct {
	*hubtest.Cluster
	recorder *recordingTB
	history  *hubtest.History
	tabs     []*hubtest.Tab
}

func startPair(t *testing.T) *pair {
	t.Helper()
	s := &pair{recorder: &recordingTB{TB: t}}
	s.Cluster = hubtest.Start(t, hubtest.Options{Program: program, Hubs: 2, Store: redistest.Standalone(t).URL()})
	plan := &hubtest.Plan{Folder: t.TempDir(), Seed: 1}
	s.history = plan.NewHistory(t, "small")
	session := s.CreateSession(t)
	for _, h := range s.Hubs {
		s.tabs = append(s.tabs, s.history.OpenTab(t, hubtest.TabConfig{Name: "tab at " + h.Name, URL: h.URL, Session: session}))
	}
	return s
}

func (s *pair) send(t *testing.T, text, expect string) {
	t.Helper()
	if err := s.tabs[0].Send(t.Context(), "m1", text, expect); err != nil {
		t.Fatal(err)
	}
}

// finish calls Finish and returns the number of violations and the messages of the test.
func (s *pair) finish() (violations int, messages string) {
	n := s.Finish(s.recorder, s.history, s.tabs, hubtest.Rules{})
	return n, s.recorder.messages.String()
}

func TestFinish(t *testing.T) {
	t.Parallel()
	s := startPair(t)
	s.send(t, "/say hello", "hello")
	// A duplicate: its answer is for the sender alone, and has a position too.
	if err := s.tabs[1].Send(t.Context(), "m1", "/say hello", "hello"); err != nil {
		t.Fatal(err)
	}
	if n, messages := s.finish(); n != 0 || s.recorder.failed {
		t.Fatalf("got %d violations, failed %v, want none: %s", n, s.recorder.failed, messages)
	}
	kinds := map[hubtest.Kind]int{}
	for _, e := range s.history.Entries() {
		kinds[e.Kind]++
	}
	if kinds[hubtest.KindAck] != 2 || kinds[hubtest.KindLog] < 3 || kinds[hubtest.KindFinal] != 2 || kinds[hubtest.KindServer] != 2 || kinds[hubtest.KindRules] != 1 {
		t.Errorf("recorded %v, want 2 acks, 3 or more log entries, 2 final states of tabs and of hubs, 1 rules", kinds)
	}
}

func TestFinishFails(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, text, expect, want string
		inject                   func(t *testing.T, s *pair)
	}{
		{
			"a hub that is frozen", "/say hello", "hello", "does not become idle",
			func(t *testing.T, s *pair) {
				t.Helper()
				s.Hubs[1].Stop(t)
				t.Cleanup(func() { s.Hubs[1].Continue(t) })
			},
		},
		{"a message without an end", "/hang", "", "does not become idle", func(*testing.T, *pair) {}},
		{"a tab that was closed", "/say hello", "hello", "does not become idle", func(t *testing.T, s *pair) {
			t.Helper()
			s.tabs[1].Close()
			if err := s.tabs[0].Send(t.Context(), "m2", "/say more", "more"); err != nil {
				t.Fatal(err)
			}
		}},
		{"a different answer", "/say hello", "bye", "", func(*testing.T, *pair) {}},
		{"a hub that exits on its own", "/say hello", "hello", "hub b exited without a signal of the test", func(t *testing.T, s *pair) {
			t.Helper()
			// Not with Hub.Kill, which would count as an exit that the test caused.
			if err := syscall.Kill(s.Hubs[1].Pid(), syscall.SIGABRT); err != nil {
				t.Fatal(err)
			}
			s.Hubs[1].Wait(t)
		}},
		{"no tabs", "/say hello", "hello", "", func(_ *testing.T, s *pair) { s.tabs = nil }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := startPair(t)
			s.send(t, test.text, test.expect)
			if test.text != "/hang" {
				if _, err := s.tabs[0].AwaitEnd(t.Context(), "m1"); err != nil {
					t.Fatal(err)
				}
			}
			test.inject(t, s)
			if test.want != "" {
				s.IdleTimeout = time.Second
			}
			if n, messages := s.finish(); n == 0 || !s.recorder.failed || !strings.Contains(messages, test.want) {
				t.Errorf("got %d violations, failed %v, want one that says %q: %s", n, s.recorder.failed, test.want, messages)
			}
		})
	}
}
