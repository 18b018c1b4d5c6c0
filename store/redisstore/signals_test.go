package redisstore_test

import (
	"slices"
	"testing"
	"time"

	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/wire"
)

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
			stop := b.Signals.Listen(id, func(text string) { got <- "one " + text })
			defer b.Signals.Listen(another, func(text string) { got <- "two " + text })()
			// A signal before the subscription is lost, so they are sent until each was heard.
			hear := func(session wire.SessionID, want string) {
				t.Helper()
				timeout := time.After(time.Minute)
				for {
					if err := a.Signals.Signal(t.Context(), session, "hi"); err != nil {
						t.Fatalf("signal: got %v, want no error", err)
					}
					select {
					case text := <-got:
						if text == want {
							return
						}
					case <-time.After(10 * time.Millisecond):
					case <-timeout:
						t.Fatalf("heard no %q", want)
					}
				}
			}
			hear(id, "one hi")
			hear(another, "two hi")
			stop()
			for len(got) > 0 {
				<-got
			}
			if err := a.Signals.Signal(t.Context(), id, "late"); err != nil {
				t.Fatal(err)
			}
			hear(another, "two hi")
			for len(got) > 0 {
				if text := <-got; text == "one late" {
					t.Errorf("after stop: got %q, want no signal of that session", text)
				}
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
