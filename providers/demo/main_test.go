package demo_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/demo"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// demoSession is a session of the demo with all tools of a desktop.
type demoSession struct {
	*testing.T
	providers.Session

	mu      sync.Mutex
	events  []providers.Event
	times   []time.Duration
	began   time.Time
	calls   []providers.ToolCall
	entries []providers.Entry
	results map[string]providers.ToolResult
	// decision, unless nil, answers approvals.
	decision *bool
	ended    chan providers.Event
}

// everyTool lists the tools of a desktop.
var everyTool = []string{
	"window_create", "window_create_component", "window_update", "window_update_component", "window_move", "window_list", "window_close",
	"window_show_notification", "window_show_toast", "user_ask", "user_request", "task_run", "notebook_open", "notebook_run_cell",
}

// newDemoSession opens a session. Without names it has all tools.
func newDemoSession(t *testing.T, from []providers.Entry, tools ...string) *demoSession {
	t.Helper()
	return openDemoSession(t, from, "", tools...)
}

// newScreenSession opens a session of a user who looks at a screen.
func newScreenSession(t *testing.T) *demoSession {
	t.Helper()
	return openDemoSession(t, nil, "<environment>\nscreen: 1280×800 pixels\n</environment>")
}

func openDemoSession(t *testing.T, from []providers.Entry, system string, tools ...string) *demoSession {
	t.Helper()
	d := &demoSession{T: t, began: time.Now(), results: map[string]providers.ToolResult{}, ended: make(chan providers.Event, 10)}
	spec := providers.Spec{OnEvent: d.hear, Call: d.call, System: system, From: providers.Thread{Entries: from}}
	if len(tools) == 0 {
		tools = everyTool
	}
	for _, name := range tools {
		spec.Tools = append(spec.Tools, providers.Tool{Name: name, Parallel: name == "task_run", Schema: json.RawMessage(`{"type":"object"}`)})
	}
	s, err := demo.New(demo.Config{}).Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	d.Session = s
	return d
}

func (d *demoSession) hear(e providers.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events = append(d.events, e)
	d.times = append(d.times, time.Since(d.began))
	d.entries = append(d.entries, e.Entries...)
	if e.Kind == providers.EventApproval && d.decision != nil {
		if err := d.Answer(context.Background(), e.Approval, providers.Decision{Allow: *d.decision}); err != nil {
			d.Error(err)
		}
	}
	if e.Kind == providers.EventTurnEnd {
		d.ended <- e
	}
}

// heard returns the events of a kind.
func (d *demoSession) heard(kind providers.EventKind) (events []providers.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.events {
		if e.Kind == kind {
			events = append(events, e)
		}
	}
	return events
}

func (d *demoSession) call(_ context.Context, c providers.ToolCall) providers.ToolResult {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls = append(d.calls, c)
	return d.results[c.Name]
}

// turn runs a turn and returns its end.
func (d *demoSession) turn(id, text string) providers.Event {
	d.Helper()
	if err := d.Send(d.Context(), providers.Message{ID: id, Mode: providers.Start, Text: text}); err != nil {
		d.Fatal(err)
	}
	return <-d.ended
}

// says runs a turn that must complete and returns its text.
func (d *demoSession) says(id, text string) string {
	d.Helper()
	if e := d.turn(id, text); e.Outcome != providers.Completed {
		d.Fatalf("turn %s is %s: %v, want %s", id, e.Outcome, e.Err, providers.Completed)
	}
	return d.said(id)
}

func (d *demoSession) said(id string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var b strings.Builder
	for _, e := range d.events {
		if e.Kind == providers.EventText && e.Message == id {
			b.WriteString(e.Text)
		}
	}
	return b.String()
}

// used returns the calls so far, each as its name and its input with sorted keys.
func (d *demoSession) used() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []string
	for _, c := range d.calls {
		out = append(out, c.Name+" "+sorted(d.T, c.Input))
	}
	return out
}

func sorted(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

// uses fails the test if there were other calls.
func (d *demoSession) uses(want ...string) {
	d.Helper()
	if got := d.used(); !slices.Equal(got, want) {
		d.Errorf("calls are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// has fails the test if a text lacks one of the wanted parts.
func (d *demoSession) has(text string, want ...string) {
	d.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			d.Errorf("output is %q, want %q in it", text, w)
		}
	}
}

// windows returns the ids of the windows in calls, in order.
func (d *demoSession) windows() (ids []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.calls {
		var in struct {
			WindowID string `json:"windowId"`
		}
		if json.Unmarshal(c.Input, &in) == nil && in.WindowID != "" {
			ids = append(ids, in.WindowID)
		}
	}
	return ids
}
