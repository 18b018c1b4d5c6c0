package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/modes"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/demo"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/redisstore"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// agentStore is the store that a hub with agents needs.
type agentStore interface {
	testStore
	agentpool.Semaphores
	session.Documents
}

// deployment is a store and a file store that several hubs share.
type deployment struct {
	agentStore // for reading in tests
	fileStore  *files.Store
	// filesFolder is the folder of fileStore.
	filesFolder string
	// openStore opens the store for a further replica.
	openStore func(t *testing.T) agentStore
	// waitLimit bounds every wait of a test.
	waitLimit time.Duration
}

func newDeployment(t *testing.T, open func(t *testing.T) agentStore) *deployment {
	t.Helper()
	folder := t.TempDir()
	fileStore, err := files.Open(folder, files.Config{})
	requireNoError(t, err)
	t.Cleanup(func() { requireNoError(t, fileStore.Close()) })
	return &deployment{agentStore: open(t), fileStore: fileStore, filesFolder: folder, openStore: open, waitLimit: 2 * time.Minute}
}

// newFileDeployment is a deployment on the embedded store.
func newFileDeployment(t *testing.T) *deployment {
	t.Helper()
	s := openStore(t)
	return newDeployment(t, func(*testing.T) agentStore { return s })
}

// newRedisDeployment is a deployment on its own Redis server.
func newRedisDeployment(t *testing.T) *deployment {
	t.Helper()
	server := redistest.Standalone(t)
	return newDeployment(t, func(t *testing.T) agentStore {
		t.Helper()
		s, err := redisstore.Open(t.Context(), server.Client(t), redisstore.Config{})
		requireNoError(t, err)
		t.Cleanup(func() { requireNoError(t, s.Close()) })
		return joinRedis(s)
	})
}

// deployments are those that most tests run on.
func deployments() map[string]func(*testing.T) *deployment {
	return map[string]func(*testing.T) *deployment{"file": newFileDeployment, "redis": newRedisDeployment}
}

// newSyncDeployment is a deployment on the embedded store for a synctest bubble.
func newSyncDeployment(t *testing.T) *deployment {
	t.Helper()
	s := newFileDeployment(t)
	s.waitLimit = 24 * time.Hour
	return s
}

// hubConfig configures a hub with agents. The zero value has the demo provider, ten slots and the
// default budgets.
type hubConfig struct {
	replica wire.ReplicaID
	session session.Config
	limits  agentpool.Limits
	demo    demo.Config
	// otherProviders are added to the demo provider.
	otherProviders []providers.Provider
	logger         *slog.Logger
	// servers has tools of MCP servers.
	servers tools.Servers
	// notebooks gives agents the tools for notebooks.
	notebooks bool
	// onRunner, if set, is called with the sessions that get a runner.
	onRunner func(agentpool.SessionRef)
	// wrapRunner, if set, wraps every session runner.
	wrapRunner func(contextpool.Runner) contextpool.Runner
}

// agentHub is a hub with agents.
type agentHub struct {
	*session.Hub
	deployment *deployment
	store      agentStore
	limiter    *agentpool.Limiter
	// stop ends the hub as a crash would: nothing is handed over.
	stop func()
}

// startAgentHub runs a hub with everything that agents need, until the test ends or it is stopped.
func startAgentHub(t *testing.T, s *deployment, cfg hubConfig) *agentHub {
	t.Helper()
	if cfg.replica == "" {
		cfg.replica = "a"
	}
	log := cfg.logger
	if log == nil {
		log = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	o := &agentHub{deployment: s, store: s.openStore(t)}
	backends, err := providers.NewTable(providers.TableConfig{Default: demo.Name, Logger: log},
		append([]providers.Provider{demo.New(cfg.demo)}, cfg.otherProviders...)...)
	requireNoError(t, err)
	executor := tools.New(tools.Config{Files: s.fileStore, Documents: o.store, Servers: cfg.servers, Notebooks: cfg.notebooks, Version: "test", Logger: log})
	finder := modes.NewFinder(modes.New(o.store, nil), log)
	o.limiter = agentpool.NewLimiter(o.store, cfg.limits, log)
	runner := agentpool.NewRunner(agentpool.Config{Limiter: o.limiter, Providers: backends, Tools: executor, Logger: log})
	cfg.session.Provider, cfg.session.Logger, cfg.session.Documents = demo.Name, log, o.store
	cfg.session.NewRunner = func(ctx context.Context, e agentpool.SessionRef) session.Runner {
		if cfg.onRunner != nil {
			cfg.onRunner(e)
		}
		runs := runner.Session(ctx, e)
		r := session.Runner{Runs: runs, Providers: runs, Views: executor, Modes: finder.Of(e.User), AwaitDisposed: runs.AwaitDisposed, Close: runs.Close}
		if cfg.wrapRunner != nil {
			r.Runs = cfg.wrapRunner(runs)
		}
		return r
	}
	hub, stopHub := startHub(t, o.store, cfg.replica, cfg.session)
	o.Hub = hub
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var wg sync.WaitGroup
	wg.Go(func() { o.limiter.Run(ctx) })
	o.stop = sync.OnceFunc(func() {
		stopHub()
		runner.Close()
		cancel()
		wg.Wait()
		o.limiter.Wait()
		requireNoError(t, backends.Close())
	})
	t.Cleanup(o.stop)
	return o
}

// discardLogger is a logger for hubs that are expected to log errors.
func discardLogger() *slog.Logger { return slog.New(slog.DiscardHandler) }

// testDesktop is a session with an open handle and its log.
type testDesktop struct {
	t      *testing.T
	id     wire.SessionID
	handle *session.Handle
	*eventLog
}

// newDesktop creates a session and opens it.
func (o *agentHub) newDesktop(t *testing.T, id wire.SessionID) *testDesktop {
	t.Helper()
	createSession(t, o.Hub, id)
	return o.openDesktop(t, id)
}

// openDesktop opens an existing session.
func (o *agentHub) openDesktop(t *testing.T, id wire.SessionID) *testDesktop {
	t.Helper()
	return &testDesktop{t: t, id: id, handle: openHandle(t, o.Hub, id), eventLog: tailLog(t, o.deployment, id)}
}

// sendText sends a message to the main agent of a monitor.
func (d *testDesktop) sendText(monitor wire.MonitorID, id wire.MessageID, lines ...string) {
	d.t.Helper()
	d.send(id, wire.UserMessage{MonitorID: monitor, Content: strings.Join(lines, "\n")})
}

func (d *testDesktop) send(id wire.MessageID, data wire.ClientPayload) {
	d.t.Helper()
	deliver(d.t, d.handle, command("conn", id, data))
}

// sendAndWait sends a message and waits for its first answer.
func (d *testDesktop) sendAndWait(id wire.MessageID, data wire.ClientPayload) wire.ServerPayload {
	d.t.Helper()
	return d.sendAndWaitAs("conn", id, data)
}

// sendAndWaitAs is sendAndWait for another connection.
func (d *testDesktop) sendAndWaitAs(conn wire.ConnectionID, id wire.MessageID, data wire.ClientPayload) wire.ServerPayload {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), d.waitLimit)
	defer cancel()
	a, err := d.handle.DeliverAndWait(ctx, command(conn, id, data))
	if err != nil {
		d.t.Fatalf("%s is not answered: %v\n%s", id, err, d.dump())
	}
	return a.Data
}

// waitTurnEnd waits for the end of the turn of a message.
func (d *testDesktop) waitTurnEnd(id wire.MessageID) wire.AgentResponse {
	d.t.Helper()
	return waitEvent(d.t, d.eventLog, func(r wire.AgentResponse) bool { return r.IsComplete && r.MessageID == id })
}

// waitTurnOutput waits until a turn has produced text.
func (d *testDesktop) waitTurnOutput(id wire.MessageID) {
	d.t.Helper()
	waitEvent(d.t, d.eventLog, func(r wire.AgentResponse) bool { return !r.IsComplete && r.MessageID == id && r.Delta != "" })
}

// snapshot returns the state that a tab would get.
func (d *testDesktop) snapshot() wire.SessionState {
	d.t.Helper()
	for tries := 0; ; tries++ {
		s, err := d.handle.Snapshot(d.t.Context(), nil)
		requireNoError(d.t, err)
		// The event log reads the store directly; the session may be a step behind, or more without
		// a connection.
		events := d.all()
		if len(events) == 0 || s.LastMessageID.Compare(events[len(events)-1].At) >= 0 || tries == 1000 {
			return s
		}
		<-time.After(time.Millisecond)
	}
}

// turnText is the text that a turn has produced.
func (d *testDesktop) turnText(id wire.MessageID) string {
	var b []byte
	for _, r := range payloads[wire.AgentResponse](d.all()) {
		if r.MessageID == id && !r.IsComplete {
			b = append(b[:min(r.Offset, len(b))], r.Delta...) // the texts of tests are ASCII
		}
	}
	return string(b)
}

// windows returns the ids of the open windows of a monitor.
func (d *testDesktop) windows(monitor wire.MonitorID) []wire.WindowID {
	d.t.Helper()
	var ids []wire.WindowID
	for _, w := range d.snapshot().Windows {
		if w.MonitorID == monitor {
			ids = append(ids, w.WindowID)
		}
	}
	slices.Sort(ids)
	return ids
}

// eventLog is the growing log of a session.
type eventLog struct {
	waitLimit time.Duration

	mu     sync.Mutex // guards the following
	events []wire.Event
	more   chan struct{} // closed when there are more events
}

// tailLog reads the log of a session until the test ends.
func tailLog(t *testing.T, s *deployment, id wire.SessionID) *eventLog {
	t.Helper()
	d := &eventLog{waitLimit: s.waitLimit, more: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var wg sync.WaitGroup
	wg.Go(func() {
		for news, err := range s.Tail(ctx, id, wire.Position{}) {
			if err != nil {
				return
			}
			step := make([]wire.Event, len(news.Events))
			for i, e := range news.Events {
				if step[i], err = (wire.Native{}).DecodeEvent(e.Frame); err != nil {
					t.Errorf("the log has %s: %v", e.Frame, err)
					return
				}
			}
			d.add(step)
		}
	})
	t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
	return d
}

func (d *eventLog) add(step []wire.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events = append(d.events, step...)
	close(d.more)
	d.more = make(chan struct{})
}

// all returns the events so far.
func (d *eventLog) all() []wire.Event {
	events, _ := d.from(0)
	return events
}

// from returns the events from index n on, and a channel that is closed when there are more.
func (d *eventLog) from(n int) ([]wire.Event, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.events[n:len(d.events):len(d.events)], d.more
}

// dump returns the log as text for failure messages.
func (d *eventLog) dump() string {
	var b strings.Builder
	for _, e := range d.all() {
		if _, row := e.Data.(wire.MessageUpdated); row {
			continue
		}
		entry, _ := wire.Events().Of(e.Data)
		fmt.Fprintf(&b, "%v %s %.200s\n", e.At, entry.Type, fmt.Sprintf("%+v", e.Data))
	}
	return b.String()
}

// waitEvent waits for an event.
func waitEvent[T wire.ServerPayload](t *testing.T, d *eventLog, is func(T) bool) T {
	t.Helper()
	late := time.NewTimer(d.waitLimit)
	defer late.Stop()
	for n := 0; ; {
		events, more := d.from(n)
		for _, e := range events {
			if p, right := e.Data.(T); right && is(p) {
				return p
			}
		}
		n += len(events)
		select {
		case <-more:
		case <-late.C:
			t.Fatalf("there is no such %T, want one in\n%s", *new(T), d.dump())
		}
	}
}

// isAbout returns a predicate for events that name a message.
func isAbout[T wire.ServerPayload](id wire.MessageID) func(T) bool {
	return func(p T) bool { return wire.MessageOf(p) == id }
}

// openWindowDirective is the directive of the demo provider that opens a window.
func openWindowDirective(id wire.WindowID) string {
	return fmt.Sprintf("/window %s %s | hello", id, id)
}

// messageOutcome counts the answers and ends of a message.
type messageOutcome struct {
	accepted, queued, rejected, ends int
	agent                            wire.AgentID
}

// messageOutcomes returns the outcomes of all messages in a log.
func messageOutcomes(events []wire.Event) map[wire.MessageID]*messageOutcome {
	all := map[wire.MessageID]*messageOutcome{}
	countOutcomes(all, events)
	return all
}

// countOutcomes adds further events of a log to the outcomes of all messages.
func countOutcomes(all map[wire.MessageID]*messageOutcome, events []wire.Event) {
	of := func(id wire.MessageID) *messageOutcome {
		if all[id] == nil {
			all[id] = &messageOutcome{}
		}
		return all[id]
	}
	for _, e := range events {
		switch p := e.Data.(type) {
		case wire.MessageAccepted:
			if !p.Duplicate { // answers to plans have a duplicate only
				f := of(p.MessageID)
				f.accepted++
				f.agent = p.AgentID
			}
		case wire.MessageQueued:
			if f := of(p.MessageID); !p.Duplicate {
				f.queued += 1 + f.accepted + f.rejected // more than 1 if it is queued after an answer
			}
		case wire.MessageRejected:
			if p.To == "" {
				of(p.MessageID).rejected++
			}
		case wire.AgentResponse:
			if p.IsComplete && p.MessageID != "" {
				of(p.MessageID).ends++
			}
		}
	}
}

// checkOutcomes checks an invariant of every log: each message is answered once, perhaps after it
// was queued, and each accepted message has one end.
func checkOutcomes(t *testing.T, events []wire.Event) {
	t.Helper()
	for id, f := range messageOutcomes(events) {
		if f.accepted+f.rejected != 1 || f.queued > 1 || f.ends != f.accepted {
			t.Errorf("%s was accepted %d times, by %s, queued %d times, rejected %d times, and has %d ends, want it accepted or rejected once, queued at most once, and as many ends as it was accepted", id, f.accepted, f.agent, f.queued, f.rejected, f.ends)
		}
	}
}

// waitIdle waits until no message is running or queued, and checks the outcomes.
func (d *testDesktop) waitIdle() {
	d.t.Helper()
	at := deliverBarrier(d.t, d.handle)
	late := time.NewTimer(d.waitLimit)
	defer late.Stop()
	all, seen, last := map[wire.MessageID]*messageOutcome{}, 0, wire.Position{}
	for {
		events, more := d.from(seen)
		countOutcomes(all, events)
		if seen += len(events); len(events) > 0 {
			last = events[len(events)-1].At
		}
		done := seen > 0 && last.Compare(at) >= 0
		for _, f := range all {
			done = done && f.accepted+f.rejected > 0 && f.ends >= f.accepted
		}
		if done {
			break
		}
		select {
		case <-more:
		case <-late.C:
			d.t.Fatalf("messages are still running or queued, want none:\n%s", d.dump())
		}
	}
	checkOutcomes(d.t, d.all())
}

// conversation is the stored model history of an agent, as text.
func (d *testDesktop) conversation(s *deployment, agent string) string {
	d.t.Helper()
	kept, err := s.Load(d.t.Context(), d.id)
	requireNoError(d.t, err)
	var b strings.Builder
	for _, item := range kept.Lists["api:"+agent] {
		var e providers.Entry
		requireNoError(d.t, json.Unmarshal(item, &e))
		for _, block := range e.Blocks {
			fmt.Fprintln(&b, block.Text)
		}
	}
	return b.String()
}

// renamedDemo is the demo provider under another name.
type renamedDemo struct {
	*demo.Provider
	name string
}

func (n renamedDemo) Name() string { return n.name }

// tapeOf returns the stored context tape as text.
func tapeOf(kept store.State) string {
	var b strings.Builder
	for name, items := range kept.Lists {
		if strings.HasPrefix(name, "tape") {
			fmt.Fprintf(&b, "%s: %s\n", name, items)
		}
	}
	return b.String()
}
