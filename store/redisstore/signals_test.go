package redisstore_test

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/store/redisstore"
	"github.com/everdesk/everdesk/wire"
)

// signalUntil sends a signal until its text was received: before the subscription it is lost.
func signalUntil(t *testing.T, s *redisstore.Store, session wire.SessionID, text string, got <-chan string, want string) {
	t.Helper()
	timeout := time.After(time.Minute)
	for {
		if err := s.Signals.Signal(t.Context(), session, text); err != nil {
			t.Fatalf("signal: got %v, want no error", err)
		}
		select {
		case had := <-got:
			if had == want {
				return
			}
		case <-time.After(10 * time.Millisecond):
		case <-timeout:
			t.Fatalf("received no %q", want)
		}
	}
}

// Signals reach the listeners of their session in all stores, but none after stop. Redis keeps nothing of them.
func TestSignals(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]func(*testing.T) string{
		"standalone": func(t *testing.T) string { t.Helper(); return redistest.Standalone(t).URL() },
		"cluster":    func(t *testing.T) string { t.Helper(); return redistest.Cluster(t, 0).URL() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := deploy(t, url(t))
			prefix := d.prefix()
			a, b := open(t, d.client, config(prefix)), open(t, d.client, config(prefix))
			before := d.keys(t, prefix)
			const id, another = wire.SessionID("ses-one"), wire.SessionID("ses-two")
			got := make(chan string, 1000)
			var late atomic.Int32
			stop := b.Signals.Listen(id, func(text string) {
				if text == "late" {
					late.Add(1)
				}
				got <- "one " + text
			})
			defer b.Signals.Listen(another, func(text string) { got <- "two " + text })()
			receive := func(session wire.SessionID, text, want string) {
				t.Helper()
				signalUntil(t, a, session, text, got, want)
			}
			receive(id, "hi", "one hi")
			receive(another, "hi", "two hi")
			stop()
			if err := a.Signals.Signal(t.Context(), id, "late"); err != nil {
				t.Fatal(err)
			}
			receive(another, "later", "two later") // in Redis, and in the one connection of a standalone server, it follows
			if n := late.Load(); n != 0 {
				t.Errorf("after stop: got %d signals, want none", n)
			}
			if err := a.Signals.Signal(t.Context(), "a b", "hi"); err == nil {
				t.Error("signal of an invalid session: got no error")
			}
			if after := d.keys(t, prefix); !slices.Equal(after, before) {
				t.Errorf("keys: got %q, want %q as before the signals", after, before)
			}
		})
	}
}
