package hubtest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/wire"
)

// Tab is a client that records the messages of [Tab.Send] and [Tab.SendMessage] and every event it
// receives in its [History].
type Tab struct {
	Name    string
	Session wire.SessionID
	Client  *client.Client

	history *History
	cancel  context.CancelFunc
	done    chan struct{}
	err     error // read after done

	mu      sync.Mutex // guards the following
	ended   map[wire.MessageID]wire.Outcome
	pieces  map[wire.MessageID]int // number of received pieces of the answer
	changed chan struct{}          // closed and replaced with every event
}

// TabConfig configures a tab.
type TabConfig struct {
	Name    string
	URL     string
	Session wire.SessionID
	// Backoff is the client's reconnect delay; 50 ms by default, so that tests measure the
	// hub and not the delay.
	Backoff func(failed int) time.Duration
	// Dial, if set, opens the connections.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// defaultBackoff is the default reconnect delay.
func defaultBackoff(int) time.Duration { return 50 * time.Millisecond }

// OpenTab opens a tab and waits for the session's state. The tab ends with the test.
func (h *History) OpenTab(tb testing.TB, cfg TabConfig) *Tab {
	tb.Helper()
	t := h.openTab(tb, cfg)
	select {
	case <-t.Client.Ready():
	case <-t.done:
		tb.Fatalf("tab %s: %v", t.Name, t.err)
	case <-tb.Context().Done():
		tb.Fatalf("tab %s did not open: %v", t.Name, t.Client.Link().Err)
	}
	return t
}

func (h *History) openTab(tb testing.TB, cfg TabConfig) *Tab {
	tb.Helper()
	t := &Tab{
		Name: cfg.Name, Session: cfg.Session, history: h, done: make(chan struct{}),
		ended: map[wire.MessageID]wire.Outcome{}, pieces: map[wire.MessageID]int{}, changed: make(chan struct{}),
	}
	if cfg.Backoff == nil {
		cfg.Backoff = defaultBackoff
	}
	settings := client.Config{
		URL: cfg.URL, Session: cfg.Session, OnEvent: t.onEvent, OnLink: t.onLink, Backoff: cfg.Backoff, Unanswered: 1024,
	}
	if cfg.Dial != nil {
		settings.HTTPClient = &http.Client{Transport: &http.Transport{DialContext: cfg.Dial}}
	}
	c, err := client.New(settings)
	if err != nil {
		tb.Fatal(err)
	}
	t.Client = c
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	t.cancel = cancel
	go func() {
		defer close(t.done)
		t.err = c.Run(ctx)
	}()
	tb.Cleanup(t.Close)
	return t
}

// Close ends the tab.
func (t *Tab) Close() {
	t.cancel()
	<-t.done
}

// Done is closed when the tab has ended, also because a hub refused it.
func (t *Tab) Done() <-chan struct{} { return t.done }

func (t *Tab) onLink(_ context.Context, l client.Link) {
	note := string(l.State)
	if l.Err != nil && !errors.Is(l.Err, context.Canceled) {
		note += ": " + l.Err.Error()
	}
	t.history.Add(Entry{Kind: KindLink, Source: t.Name, Session: t.Session, Note: note})
}

func (t *Tab) onEvent(_ context.Context, e client.Event) {
	seen := eventOf(e.Event, e.Raw)
	entry := Entry{Kind: KindEvent, Source: t.Name, Session: t.Session, Event: &seen}
	if s, ok := e.Data.(wire.SessionState); ok && e.At.IsZero() {
		entry.Note = string(s.Mode)
		if s.Mode == wire.StateSnapshot {
			entry.Kind, seen.At = KindSnapshot, s.LastMessageID
			entry.Note = string(s.Reason)
		} else {
			entry.Kind = KindNotice
		}
	} else if e.At.IsZero() {
		entry.Kind = KindNotice
		if s, ok := e.Data.(wire.StoreStatus); ok && !s.Available {
			entry.Note = "away"
		}
	}
	t.history.Add(entry)
	if e.Data == nil && !isNewer(e.Raw) {
		t.history.Add(Entry{Kind: KindBadEvents, Source: t.Name, Session: t.Session, Count: 1, Note: string(e.Raw)})
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if entry.Kind == KindEvent {
		switch {
		case seen.IsEnd():
			t.ended[seen.Message] = seen.Outcome
		case seen.Type == typeResponse:
			t.pieces[seen.Message]++
		}
	}
	close(t.changed)
	t.changed = make(chan struct{})
}

// Send sends a message to the session's agents, waits for its acknowledgement, across reconnects,
// and records it. expect is the expected text of the turn; empty means unknown.
func (t *Tab) Send(ctx context.Context, id wire.MessageID, text, expect string) error {
	return t.SendMessage(ctx, wire.UserMessage{MessageID: id, Content: text}, expect)
}

// SendMessage is [Tab.Send] with the whole message.
func (t *Tab) SendMessage(ctx context.Context, m wire.UserMessage, expect string) error {
	t.history.Add(Entry{Kind: KindSend, Source: t.Name, Session: t.Session, Message: m.MessageID, Expect: expect})
	answer, err := t.Client.Send(ctx, m)
	entry := Entry{Kind: KindAck, Source: t.Name, Session: t.Session, Message: m.MessageID}
	if refused, ok := errors.AsType[*client.RefusedError](err); ok {
		entry.Kind, entry.Note = KindRefused, refused.Error()
	} else if err != nil {
		entry.Kind, entry.Note = KindUnanswered, err.Error()
	} else {
		entry.Event = &Event{At: answer.At}
		switch d := answer.Data.(type) {
		case wire.MessageAccepted:
			entry.Event.Type, entry.Event.Agent, entry.Event.How = typeAccepted, d.AgentID, d.How
		case wire.MessageQueued:
			entry.Event.Type = typeQueued
		}
	}
	t.history.Add(entry)
	return err
}

// WaitUntil waits until cond is true. It evaluates cond at once and after every event. It returns an
// error if the tab or ctx ends first.
func (t *Tab) WaitUntil(ctx context.Context, cond func() bool) error {
	for {
		t.mu.Lock()
		changed := t.changed
		t.mu.Unlock()
		if cond() {
			return nil
		}
		select {
		case <-changed:
		case <-t.done:
			return t.err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// AwaitEnd waits until the tab has received the end of a message.
func (t *Tab) AwaitEnd(ctx context.Context, id wire.MessageID) (wire.Outcome, error) {
	var outcome wire.Outcome
	err := t.WaitUntil(ctx, func() bool {
		t.mu.Lock()
		defer t.mu.Unlock()
		o, ok := t.ended[id]
		outcome = o
		return ok
	})
	return outcome, err
}

// HasEnded reports whether the tab has received the end of a message.
func (t *Tab) HasEnded(id wire.MessageID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.ended[id]
	return ok
}

// AwaitPieces waits until the tab has received at least the given number of pieces of an answer,
// or its end.
func (t *Tab) AwaitPieces(ctx context.Context, id wire.MessageID, pieces int) error {
	return t.WaitUntil(ctx, func() bool {
		t.mu.Lock()
		defer t.mu.Unlock()
		_, over := t.ended[id]
		return over || t.pieces[id] >= pieces
	})
}
