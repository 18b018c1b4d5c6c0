package hubtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/wire"
)

// Options configures a [Fleet].
type Options struct {
	// Program is the path of the hub, see [Build]; Programs, if set, has one per hub.
	Program  string
	Programs []string
	Hubs     int
	// Store is the URL of the store; StoreOf, if set, returns that of each hub.
	Store   string
	StoreOf func(hub int) string
	// Args are further arguments and Env the variables of all hubs.
	Args, Env []string
}

// Fleet is a number of hubs on one store, behind a balancer that sends every connection to
// the next hub that accepts it.
type Fleet struct {
	Hubs []*Hub
	// Door is the balancer.
	Door *Proxy
	// Patience is the time for which [Fleet.Finish] waits for each session.
	Patience time.Duration

	web *http.Client
}

// Start starts a fleet, which ends with the test. Unless o.Args say otherwise there is no
// authentication, no rate limit and a limit of 1000 agents, and the demo provider answers.
func Start(tb testing.TB, o Options) *Fleet {
	tb.Helper()
	f := &Fleet{Patience: quietTimeout, web: &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}}
	folder, files := tb.TempDir(), tb.TempDir()
	for i := range o.Hubs {
		h := &Hub{Name: string(rune('a' + i)), program: o.Program, folder: folder, env: o.Env}
		if o.Programs != nil {
			h.program = o.Programs[i]
		}
		where := o.Store
		if o.StoreOf != nil {
			where = o.StoreOf(i)
		}
		h.args = slices.Concat([]string{"--store", where, "--files-dir", files}, o.Args)
		for name, usual := range map[string]string{"--auth": "none", "--rate-limits": "off", "--provider": "demo", "--max-agents": "1000"} {
			if !slices.Contains(o.Args, name) {
				h.args = append(h.args, name, usual)
			}
		}
		f.Hubs = append(f.Hubs, h)
	}
	tb.Cleanup(func() {
		for _, h := range f.Hubs {
			if h.cmd != nil && h.Alive() {
				h.Kill(tb)
			}
			if tb.Failed() {
				tb.Logf("hub %s:\n%s", h.Name, h.Log())
			}
		}
	})
	var wg sync.WaitGroup
	failures := make([]error, len(f.Hubs))
	for i, h := range f.Hubs {
		wg.Go(func() { failures[i] = h.start(tb) })
	}
	wg.Wait()
	targets := make([]string, len(f.Hubs))
	for i, h := range f.Hubs {
		if failures[i] != nil {
			tb.Fatalf("start hub %s: %v\n%s", h.Name, failures[i], h.Log())
		}
		targets[i] = h.Addr
	}
	f.Door = NewProxy(tb, targets...)
	return f
}

// By returns the hub whose current process has the replica id, or nil.
func (f *Fleet) By(id wire.ReplicaID) *Hub {
	for _, h := range f.Hubs {
		if h.ID() == string(id) {
			return h
		}
	}
	return nil
}

// Up returns the hubs whose processes are running.
func (f *Fleet) Up() []*Hub {
	return slices.DeleteFunc(slices.Clone(f.Hubs), func(h *Hub) bool { return !h.Alive() })
}

// Call sends a request to a URL of a hub or of the balancer and decodes the JSON answer
// into out, unless that is nil. A status other than 2xx is an error.
func (f *Fleet) Call(tb testing.TB, method, url, body string, out any) error {
	tb.Helper()
	return f.call(tb.Context(), method, url, body, out)
}

func (f *Fleet) call(ctx context.Context, method, url, body string, out any) error {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	answer, err := f.web.Do(req)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode/100 != 2 {
		return &StatusError{Status: answer.StatusCode, Body: string(bytes.TrimSpace(b))}
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(b, out)
}

// StatusError is an answer with a status other than 2xx.
type StatusError struct {
	Status int
	Body   string
}

// Error implements error.
func (e *StatusError) Error() string { return fmt.Sprintf("status %d: %s", e.Status, e.Body) }

// Create creates a session through the balancer.
func (f *Fleet) Create(tb testing.TB) wire.SessionID {
	tb.Helper()
	var made struct {
		SessionID wire.SessionID `json:"sessionId"`
	}
	if err := f.Call(tb, http.MethodPost, f.Door.URL()+"/api/sessions", `{"title":"broken"}`, &made); err != nil {
		tb.Fatalf("make a session: %v", err)
	}
	return made.SessionID
}

// Log reads the whole log of a session from the store, through a hub.
func (f *Fleet) Log(tb testing.TB, base string, session wire.SessionID) ([]Event, error) {
	tb.Helper()
	return f.after(tb.Context(), base, session, wire.Position{})
}

// after reads the log after a position.
func (f *Fleet) after(ctx context.Context, base string, session wire.SessionID, from wire.Position) ([]Event, error) {
	var all []Event
	after := ""
	if !from.IsZero() {
		after = from.String()
	}
	for {
		var page struct {
			Events []json.RawMessage `json:"events"`
			Next   string            `json:"next"`
		}
		url := base + "/api/sessions/" + string(session) + "/events?limit=1000"
		if after != "" {
			url += "&after=" + after
		}
		if err := f.call(ctx, http.MethodGet, url, "", &page); err != nil {
			return nil, err
		}
		for _, frame := range page.Events {
			e, err := wire.Native{}.DecodeEvent(frame)
			if err != nil && !isNewer(frame) {
				return nil, err
			}
			all = append(all, eventOf(e, frame))
		}
		if page.Next == after {
			return all, nil
		}
		after = page.Next
	}
}

// Snapshot reads the state of a session through a hub and returns its position and hash.
func (f *Fleet) Snapshot(tb testing.TB, base string, session wire.SessionID) (wire.Position, string, error) {
	tb.Helper()
	return f.snapshot(tb.Context(), base, session)
}

func (f *Fleet) snapshot(ctx context.Context, base string, session wire.SessionID) (wire.Position, string, error) {
	var frame json.RawMessage
	if err := f.call(ctx, http.MethodGet, base+"/api/sessions/"+string(session)+"/snapshot", "", &frame); err != nil {
		return wire.Position{}, "", err
	}
	// Wrap the state in an event: clients get it that way, and desktop.State applies events.
	event, err := wire.Native{}.DecodeEvent(fmt.Appendf(nil,
		`{"type":"session_state","session_id":%q,"timestamp":%q,"data":%s}`, session, time.Now().UTC().Format(time.RFC3339Nano), frame))
	if err != nil {
		return wire.Position{}, "", fmt.Errorf("read snapshot: %w", err)
	}
	s, _ := event.Data.(wire.SessionState)
	state := desktop.New(session)
	state.Apply(event)
	return s.LastMessageID, state.Hash(), nil
}
