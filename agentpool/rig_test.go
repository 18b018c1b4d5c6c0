package agentpool_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// A session hands its agents to a session runner through this interface.
var (
	_ contextpool.Runner    = (*agentpool.SessionRunner)(nil)
	_ contextpool.Providers = (*agentpool.SessionRunner)(nil)
)

var errLost = errors.New("the session is lost")

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("unexpected error: %v", err)
	}
}

func logger(t *testing.T) *slog.Logger {
	t.Helper()
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func openStore(t *testing.T) *filestore.Semaphores {
	t.Helper()
	s, err := filestore.Open(t.TempDir(), filestore.Config{Sync: filestore.SyncOff})
	ok(t, err)
	t.Cleanup(func() { ok(t, s.Close()) })
	return s.Semaphores
}

// newLimiter makes a limiter whose slots are renewed until the test ends.
func newLimiter(t *testing.T, s agentpool.Semaphores, limits agentpool.Limits) *agentpool.Limiter {
	t.Helper()
	l := agentpool.NewLimiter(s, limits, logger(t))
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { l.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		wg.Wait()
		l.Wait()
	})
	return l
}

// backends are the providers of a test.
type backends map[string]providers.Provider

func (b backends) Get(name string) (providers.Provider, bool) {
	p, found := b[name]
	return p, found
}

// fakeTools is a ToolExecutor controlled by a test.
type fakeTools struct {
	brief  func() (string, error)
	memory string // a section of the briefing
	tools  func() []providers.Tool
	tool   func(ctx context.Context, c tools.Caller, call providers.ToolCall) providers.ToolResult
	launch func(ctx context.Context, c tools.Caller)
}

func (f *fakeTools) Tools(c tools.Caller) []providers.Tool {
	if f.tools != nil {
		return f.tools()
	}
	return []providers.Tool{{Name: "tool_of_" + c.Profile}}
}

func (f *fakeTools) Call(ctx context.Context, c tools.Caller, call providers.ToolCall) providers.ToolResult {
	if f.tool != nil {
		return f.tool(ctx, c, call)
	}
	return providers.ToolResult{Text: "done"}
}

func (f *fakeTools) AllTools(c tools.Caller) []providers.Tool {
	return append(f.Tools(c), providers.Tool{Name: "tool_of_others"})
}

func (f *fakeTools) Brief(_ context.Context, c tools.Caller) (tools.Briefing, error) {
	system := "you are " + string(c.Agent)
	if f.brief != nil {
		var err error
		if system, err = f.brief(); err != nil {
			return tools.Briefing{}, err
		}
	}
	return tools.Briefing{System: system, Sections: []tools.Section{{Tag: "memory", Text: f.memory}}}, nil
}

func (f *fakeTools) Launch(ctx context.Context, c tools.Caller) {
	if f.launch != nil {
		f.launch(ctx, c)
	}
}

// reportRecorder is a Sink that records reports.
type reportRecorder struct {
	mu      sync.Mutex // guards the following
	reports []agentpool.Report
	at      []time.Time
	on      func(agentpool.Report) error
}

func (e *reportRecorder) Report(ctx context.Context, r agentpool.Report) error {
	e.mu.Lock()
	on := e.on
	e.mu.Unlock()
	if on != nil {
		if err := on(r); err != nil {
			return err
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.reports, e.at = append(e.reports, r), append(e.at, time.Now())
	return ctx.Err()
}

func (e *reportRecorder) recorded() []agentpool.Report {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.reports)
}

// lines returns the reports as text.
func (e *reportRecorder) lines() []string {
	var lines []string
	for _, r := range e.recorded() {
		lines = append(lines, formatReport(r))
	}
	return lines
}

func formatReport(r agentpool.Report) string {
	id := r.RunID() + " "
	switch r := r.(type) {
	case agentpool.Began:
		return id + "began"
	case agentpool.Output:
		return fmt.Sprintf("%soutput %q %q", id, r.Text, r.Thinking)
	case agentpool.SteerAccepted:
		return id + "accepted " + string(r.Message)
	case agentpool.SteerRefused:
		return id + "refused " + string(r.Message)
	case agentpool.NewEntries:
		return fmt.Sprintf("%sentries %s %d", id, r.Thread, len(r.Entries))
	case agentpool.ModelUsage:
		return fmt.Sprintf("%susage %d", id, r.Usage.Output)
	case agentpool.InputTruncated:
		return fmt.Sprintf("%struncated %d %d %d", id, r.Left, r.Before, r.After)
	case agentpool.Retrying:
		return fmt.Sprintf("%sretrying %s %v", id, r.Why, r.Wait)
	case agentpool.FilesFull:
		return id + "files " + r.Why
	case agentpool.Ended:
		text := id + string(r.Outcome)
		if r.Failure != nil {
			text += " " + string(r.Failure.Class)
		}
		return strings.TrimSpace(text + " " + r.Reason)
	}
	return id + "?"
}

// expect compares all reports so far.
func (e *reportRecorder) expect(t *testing.T, want ...string) {
	t.Helper()
	if got := e.lines(); !slices.Equal(got, want) {
		t.Fatalf("reports are\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// rig is a session runner with its environment.
type rig struct {
	*agentpool.SessionRunner
	*reportRecorder
	t        *testing.T
	store    *filestore.Semaphores
	meddler  *interceptedStore
	limiter  *agentpool.Limiter
	pool     *agentpool.Runner
	provider *fakeProvider
	tools    *fakeTools
	workDir  agentpool.WorkDir // of providers that are processes
	publish  func() error      // publishes changed files; nil for those that never change
	watched  error             // of the begin of a watch
}

// newRig returns a rig; tests configure provider and tools before they use it.
func newRig(t *testing.T, limits agentpool.Limits) *rig {
	t.Helper()
	r := &rig{t: t, reportRecorder: &reportRecorder{}, store: openStore(t), provider: &fakeProvider{caps: providers.Caps{Steer: true}}, tools: &fakeTools{}}
	r.meddler = &interceptedStore{Semaphores: r.store}
	r.limiter = newLimiter(t, r.meddler, limits)
	r.pool = agentpool.NewRunner(agentpool.Config{
		Limiter: r.limiter, Tools: r.tools, Logger: logger(t), Models: map[string]string{"fake": "model-1"},
		Providers: backends{"fake": r.provider, "other": r.provider},
		WorkDir:   func(context.Context, wire.SessionID, string) (agentpool.WorkDir, error) { return r.workDir, nil },
		WatchFiles: func(context.Context, wire.SessionID) (agentpool.FileWatch, error) {
			if r.watched != nil {
				return nil, r.watched
			}
			return watchFunc(func() error { return r.publish() }), nil
		},
	})
	r.SessionRunner = r.runner("ses-1", r.reportRecorder)
	t.Cleanup(func() {
		r.pool.Close()
		synctest.Wait()
		r.expectFree()
		if _, _, open := r.provider.received(); open != 0 {
			t.Errorf("%d provider sessions are open after the end, want none", open)
		}
	})
	return r
}

func (r *rig) runner(session wire.SessionID, e *reportRecorder) *agentpool.SessionRunner {
	return r.pool.Session(context.Background(), agentpool.SessionRef{Session: session, User: "ada", Sink: e})
}

// held returns the number of held slots.
func (r *rig) held() int {
	r.t.Helper()
	u, err := r.store.Slots(context.Background(), "agents")
	ok(r.t, err)
	return u.Held
}

// expectFree fails the test when a slot is held or has a waiter.
func (r *rig) expectFree() {
	r.t.Helper()
	for _, name := range []string{"agents", "agents:session:ses-1", "agents:user:ada"} {
		u, err := r.store.Slots(context.Background(), name)
		if err != nil || u != (store.SlotUse{}) {
			r.t.Errorf("semaphore %s is %+v, error %v, want it unused", name, u, err)
		}
	}
}

// takeSlots gives every slot of the global semaphore to another holder, like a store that lost
// data.
func (r *rig) takeSlots() {
	r.t.Helper()
	r.meddler.mu.Lock()
	asked := r.meddler.asked
	r.meddler.mu.Unlock()
	for _, q := range asked {
		ok(r.t, r.store.ReleaseSlot(context.Background(), store.Slot{Semaphore: q.Semaphore, Holder: q.Holder}))
	}
	for i := range r.limiter.Limits().Agents {
		_, err := r.store.Acquire(context.Background(), store.SlotRequest{
			Semaphore: "agents", Limit: r.limiter.Limits().Agents, Holder: fmt.Sprint("thief-", i), Key: "thief", TTL: time.Hour,
		})
		ok(r.t, err)
	}
}

// releaseTaken releases the stolen slots.
func (r *rig) releaseTaken() {
	r.t.Helper()
	for i := range r.limiter.Limits().Agents {
		ok(r.t, r.store.ReleaseSlot(context.Background(), store.Slot{Semaphore: "agents", Holder: fmt.Sprint("thief-", i)}))
	}
}

// mainRun returns a run of the main agent.
func mainRun(id string) agentpool.Run {
	return agentpool.Run{
		ID: id, Agent: "main-monitor-0", Role: "main-monitor-0-m", Kind: wire.AgentMain, Turn: wire.MessageID("m-" + id),
		Monitor: "monitor-0", Profile: "main", Provider: "fake", Prompt: "do " + id, Lasting: true,
	}
}

// ephemeralRun returns a run of an agent that exists for one turn.
func ephemeralRun(id string) agentpool.Run {
	r := mainRun(id)
	r.Agent, r.Role, r.Kind, r.Lasting = "ephemeral-"+id, wire.AgentID("ephemeral-"+id), wire.AgentEphemeral, false
	return r
}

// interceptedStore is a store whose calls tests can intercept.
type interceptedStore struct {
	agentpool.Semaphores
	mu      sync.Mutex // guards the following
	acquire func(r store.SlotRequest, do func() error) error
	renew   func(s store.Slot, do func() error) error
	release func(s store.Slot, do func() error) error
	asked   []store.SlotRequest
}

func (m *interceptedStore) change(fn func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	fn()
}

func (m *interceptedStore) Acquire(ctx context.Context, r store.SlotRequest) (s store.Slot, err error) {
	m.mu.Lock()
	hook := m.acquire
	m.asked = append(m.asked, r)
	m.mu.Unlock()
	if hook == nil {
		return m.Semaphores.Acquire(ctx, r)
	}
	err = hook(r, func() error {
		s, err = m.Semaphores.Acquire(ctx, r)
		return err
	})
	return s, err
}

func (m *interceptedStore) RenewSlot(ctx context.Context, s store.Slot) error {
	m.mu.Lock()
	hook := m.renew
	m.mu.Unlock()
	if hook == nil {
		return m.Semaphores.RenewSlot(ctx, s)
	}
	return hook(s, func() error { return m.Semaphores.RenewSlot(ctx, s) })
}

func (m *interceptedStore) ReleaseSlot(ctx context.Context, s store.Slot) error {
	m.mu.Lock()
	hook := m.release
	m.mu.Unlock()
	if hook == nil {
		return m.Semaphores.ReleaseSlot(ctx, s)
	}
	return hook(s, func() error { return m.Semaphores.ReleaseSlot(ctx, s) })
}
