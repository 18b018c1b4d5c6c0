package hubtest_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/everdesk/everdesk/internal/hubtest"
	"github.com/everdesk/everdesk/internal/redistest"
)

// small is a fleet of two hubs with a tab at each.
type small struct {
	*hubtest.Fleet
	verdict *verdict
	history *hubtest.History
	tabs    []*hubtest.Tab
}

func start(t *testing.T) *small {
	t.Helper()
	s := &small{verdict: &verdict{TB: t}}
	s.Fleet = hubtest.Start(t, hubtest.Options{Program: program, Hubs: 2, Store: redistest.Standalone(t).URL()})
	plan := &hubtest.Plan{Folder: t.TempDir(), Seed: 1}
	s.history = plan.NewHistory(t, "small")
	session := s.Create(t)
	for _, h := range s.Hubs {
		s.tabs = append(s.tabs, s.history.Open(t, hubtest.TabConfig{Name: "tab at " + h.Name, URL: h.URL, Session: session}))
	}
	return s
}

func (s *small) say(t *testing.T, text, expect string) {
	t.Helper()
	if err := s.tabs[0].Say(t.Context(), "m1", text, expect); err != nil {
		t.Fatal(err)
	}
}

// finish calls Finish and returns the number of violations and the messages of the test.
func (s *small) finish() (violations int, said string) {
	n := s.Finish(s.verdict, s.history, s.tabs, hubtest.Rules{})
	return n, s.verdict.said.String()
}

func TestFinish(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.say(t, "/say hello", "hello")
	// A duplicate: its answer is for the sender alone, and has a position too.
	if err := s.tabs[1].Say(t.Context(), "m1", "/say hello", "hello"); err != nil {
		t.Fatal(err)
	}
	if n, said := s.finish(); n != 0 || s.verdict.failed {
		t.Fatalf("%d violations: %s", n, said)
	}
	kinds := map[hubtest.Kind]int{}
	for _, e := range s.history.Entries() {
		kinds[e.Kind]++
	}
	if kinds[hubtest.KindAck] != 2 || kinds[hubtest.KindLog] < 3 || kinds[hubtest.KindFinal] != 2 || kinds[hubtest.KindServer] != 2 || kinds[hubtest.KindRules] != 1 {
		t.Errorf("written down are %v", kinds)
	}
}

func TestFinishFails(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, text, expect, says string
		spoil                    func(t *testing.T, s *small)
	}{
		{
			"a hub that is frozen", "/say hello", "hello", "does not come to rest",
			func(t *testing.T, s *small) {
				t.Helper()
				s.Hubs[1].Stop(t)
				t.Cleanup(func() { s.Hubs[1].Continue(t) })
			},
		},
		{"a message without an end", "/hang", "", "does not come to rest", func(*testing.T, *small) {}},
		{"a tab that was closed", "/say hello", "hello", "does not come to rest", func(t *testing.T, s *small) {
			t.Helper()
			s.tabs[1].Close()
			if err := s.tabs[0].Say(t.Context(), "m2", "/say more", "more"); err != nil {
				t.Fatal(err)
			}
		}},
		{"an answer that is another", "/say hello", "bye", "", func(*testing.T, *small) {}},
		{"a hub that dies by itself", "/say hello", "hello", "hub b has ended by itself", func(t *testing.T, s *small) {
			t.Helper()
			// Not with Hub.Kill, which would count as an exit that the test caused.
			if err := syscall.Kill(s.Hubs[1].Pid(), syscall.SIGABRT); err != nil {
				t.Fatal(err)
			}
			s.Hubs[1].Wait(t)
		}},
		{"no tabs", "/say hello", "hello", "", func(_ *testing.T, s *small) { s.tabs = nil }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			s.say(t, test.text, test.expect)
			if test.text != "/hang" {
				if _, err := s.tabs[0].Ended(t.Context(), "m1"); err != nil {
					t.Fatal(err)
				}
			}
			test.spoil(t, s)
			if test.says != "" {
				s.Patience = time.Second
			}
			if n, said := s.finish(); n == 0 || !s.verdict.failed || !strings.Contains(said, test.says) {
				t.Errorf("%d violations: %s", n, said)
			}
		})
	}
}
