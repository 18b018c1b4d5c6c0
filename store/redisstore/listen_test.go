package redisstore_test

import (
	"regexp"
	"runtime"
	"slices"
	"testing"

	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/wire"
)

// subscribed reports whether a channel has a subscriber.
func subscribed(t *testing.T, d *deployment, channel string) bool {
	t.Helper()
	n, err := d.client.PubSubShardNumSub(t.Context(), channel).Result()
	if err != nil {
		t.Fatal(err)
	}
	return n[channel] > 0
}

var clientID = regexp.MustCompile(`(?m)^id=\d+`)

// A listener that comes back before Redis has confirmed the end of its subscription must not cost the connection, which
// all other sessions use.
func TestListenersComeAndGoOnOneConnection(t *testing.T) {
	t.Parallel()
	d := deploy(t, redistest.Standalone(t).URL())
	s := open(t, d.client, config(d.prefix()))
	connections := func() []string {
		t.Helper()
		list, err := d.client.Do(t.Context(), "CLIENT", "LIST", "TYPE", "pubsub").Text()
		if err != nil {
			t.Fatal(err)
		}
		return clientID.FindAllString(list, -1)
	}
	got := make(chan string, 1000)
	receive := func(id wire.SessionID, text string) {
		t.Helper()
		signalUntil(t, s, id, text, got, text)
	}
	const stays, returns = wire.SessionID("ses-stays"), wire.SessionID("ses-returns")
	defer s.Signals.Listen(stays, func(text string) { got <- text })()
	receive(stays, "hi")
	// A busy machine may not answer the health check of the connection in time, which also replaces it. The defect of
	// which this is the test did so in every attempt.
	var before, after []string
	for range 3 {
		before = connections()
		for range 300 {
			stop := s.Signals.Listen(returns, func(text string) { got <- text })
			receive(returns, "hi")
			stop()
			// Redis has ended the subscription, and its answer is on the way or was just received.
			for subscribed(t, d, s.SignalsChannel(returns)) {
				runtime.Gosched()
			}
		}
		receive(stays, "again")
		if after = connections(); slices.Equal(after, before) {
			break
		}
	}
	if !slices.Equal(after, before) {
		t.Errorf("connections of subscribers: got %q, want the same as before, %q", after, before)
	}
	defer s.Signals.Listen(returns, func(text string) { got <- text })()
	receive(returns, "again")
	receive(stays, "again")
}
