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

// Options configures a [Cluster].
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

// Cluster is a number of hubs on one store, behind a balancer that sends every connection to
// the next hub that accepts it.
type Cluster struct {
	Hubs []*Hub
	// Balancer is the balancer.
	Balancer *Proxy
	// IdleTimeout is the time for which [Cluster.Finish] waits for each session.
	IdleTimeout time.Duration

	httpClient *http.Client
}

// Start starts a cluster, which ends with the test. Unless o.Args say otherwise there is no
// authentication, no rate limit and a limit of 1000 agents, and the demo provider answers.
func Start(tb testing.TB, o Options) *Cluster {
	tb.Helper()
	c := &Cluster{IdleTimeout: defaultIdleTimeout, httpClient: &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}}
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
		c.Hubs = append(c.Hubs, h)
	}
	tb.Cleanup(func() {
		for _, h := range c.Hubs {
			if h.cmd != nil && h.Alive() {
				h.Kill(tb)
			}
			if tb.Failed() {
				tb.Logf("hub %s:\n%s", h.Name, h.Log())
			}
		}
	})
	var wg sync.WaitGroup
	failures := make([]error, len(c.Hubs))
	for i, h := range c.Hubs {
		wg.Go(func() { failures[i] = h.start(tb) })
	}
	wg.Wait()
	targets := make([]string, len(c.Hubs))
	for i, h := range c.Hubs {
		if failures[i] != nil {
			tb.Fatalf("start hub %s: %v\n%s", h.Name, failures[i], h.Log())
		}
		targets[i] = h.Addr
	}
	c.Balancer = NewProxy(tb, targets...)
	return c
}

// HubByID returns the hub whose current process has the replica id, or nil.
func (c *Cluster) HubByID(id wire.ReplicaID) *Hub {
	for _, h := range c.Hubs {
		if h.ID() == string(id) {
			return h
		}
	}
	return nil
}

// RunningHubs returns the hubs whose processes are running.
func (c *Cluster) RunningHubs() []*Hub {
	return slices.DeleteFunc(slices.Clone(c.Hubs), func(h *Hub) bool { return !h.Alive() })
}

// Call sends a request to a URL of a hub or of the balancer and decodes the JSON answer
// into out, unless that is nil. A status other than 2xx is an error.
func (c *Cluster) Call(tb testing.TB, method, url, body string, out any) error {
	tb.Helper()
	return c.call(tb.Context(), method, url, body, out)
}

func (c *Cluster) call(ctx context.Context, method, url, body string, out any) error {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	answer, err := c.httpClient.Do(req)
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

// CreateSession creates a session through the balancer.
func (c *Cluster) CreateSession(tb testing.TB) wire.SessionID {
	tb.Helper()
	var created struct {
		SessionID wire.SessionID `json:"sessionId"`
	}
	if err := c.Call(tb, http.MethodPost, c.Balancer.URL()+"/api/sessions", `{"title":"fault test"}`, &created); err != nil {
		tb.Fatalf("create a session: %v", err)
	}
	return created.SessionID
}

// ReadLog reads the whole log of a session from the store, through a hub.
func (c *Cluster) ReadLog(tb testing.TB, base string, session wire.SessionID) ([]Event, error) {
	tb.Helper()
	return c.readLogAfter(tb.Context(), base, session, wire.Position{})
}

// readLogAfter reads the log after a position.
func (c *Cluster) readLogAfter(ctx context.Context, base string, session wire.SessionID, from wire.Position) ([]Event, error) {
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
		if err := c.call(ctx, http.MethodGet, url, "", &page); err != nil {
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

// ReadSnapshot reads the state of a session through a hub and returns its position and hash.
func (c *Cluster) ReadSnapshot(tb testing.TB, base string, session wire.SessionID) (wire.Position, string, error) {
	tb.Helper()
	return c.readSnapshot(tb.Context(), base, session)
}

func (c *Cluster) readSnapshot(ctx context.Context, base string, session wire.SessionID) (wire.Position, string, error) {
	var frame json.RawMessage
	if err := c.call(ctx, http.MethodGet, base+"/api/sessions/"+string(session)+"/snapshot", "", &frame); err != nil {
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
