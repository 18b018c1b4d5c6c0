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
	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/demo"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/redisstore"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// engine is all that a hub with agents asks of a store.
type engine interface {
	session.Store
	agentpool.Semaphores
	tools.Documents
}

// site is where hubs run that share their sessions and their files.
type site struct {
	engine    // for whoever only looks
	fileStore *files.Store
	// open is the store as a further replica sees it.
	open func(t *testing.T) engine
	// patience is how long something may take.
	patience time.Duration
}

func newSite(t *testing.T, open func(t *testing.T) engine) *site {
	t.Helper()
	fileStore, err := files.Open(t.TempDir(), files.Config{})
	ok(t, err)
	t.Cleanup(func() { ok(t, fileStore.Close()) })
	return &site{engine: open(t), fileStore: fileStore, open: open, patience: 2 * time.Minute}
}

// onFiles is a site on the embedded store.
func onFiles(t *testing.T) *site {
	t.Helper()
	s := openStore(t)
	return newSite(t, func(*testing.T) engine { return s })
}

// onRedis is a site on a Redis of its own.
func onRedis(t *testing.T) *site {
	t.Helper()
	server := redistest.Standalone(t)
	return newSite(t, func(t *testing.T) engine {
		t.Helper()
		s, err := redisstore.Open(t.Context(), server.Client(t), redisstore.Config{})
		ok(t, err)
		t.Cleanup(func() { ok(t, s.Close()) })
		return s
	})
}

// stores are the sites that every test runs on.
func stores() map[string]func(*testing.T) *site {
	return map[string]func(*testing.T) *site{"file": onFiles, "redis": onRedis}
}

// inBubble is a site on the embedded store, in time of its own.
func inBubble(t *testing.T) *site {
	t.Helper()
	s := onFiles(t)
	s.patience = 24 * time.Hour
	return s
}

// hubConfig is what a hub with agents is made with. The zero value has the demo,
// ten agents at once and the usual budgets.
type hubConfig struct {
	replica wire.ReplicaID
	session session.Config
	limits  agentpool.Limits
	demo    demo.Config
	// others are providers besides the demo.
	others []providers.Provider
	logger *slog.Logger
	// hired, if set, is told of the sessions that have agents.
	hired func(agentpool.SessionRef)
	// session runner, if set, is put before every session runner.
	runner func(session.Runner) session.Runner
}

// office is a hub with agents.
type office struct {
	*session.Hub
	site    *site
	store   engine
	limiter *agentpool.Limiter
	// stop ends it as a crash would: nothing is handed over.
	stop func()
}

// agentHub runs a hub with everything that agents need, until the test ends or
// it is stopped.
func agentHub(t *testing.T, s *site, cfg hubConfig) *office {
	t.Helper()
	if cfg.replica == "" {
		cfg.replica = "a"
	}
	log := cfg.logger
	if log == nil {
		log = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	o := &office{site: s, store: s.open(t)}
	backends, err := providers.NewTable(providers.TableConfig{Default: demo.Name, Logger: log},
		append([]providers.Provider{demo.New(cfg.demo)}, cfg.others...)...)
	ok(t, err)
	hands := tools.New(tools.Config{Files: s.fileStore, Documents: o.store, Version: "test", Logger: log})
	o.limiter = agentpool.NewLimiter(o.store, cfg.limits, log)
	runner := agentpool.NewRunner(agentpool.Config{Limiter: o.limiter, Providers: backends, Tools: hands, Logger: log})
	cfg.session.Provider, cfg.session.Logger = demo.Name, log
	cfg.session.NewRunner = func(ctx context.Context, e agentpool.SessionRef) session.Runner {
		if cfg.hired != nil {
			cfg.hired(e)
		}
		if cfg.runner != nil {
			return cfg.runner(runner.Session(ctx, e))
		}
		return runner.Session(ctx, e)
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
		ok(t, backends.Close())
	})
	t.Cleanup(o.stop)
	return o
}

// silence is a logger for hubs that are expected to complain.
func silence() *slog.Logger { return slog.New(slog.DiscardHandler) }

// testDesktop is a session that somebody uses.
type testDesktop struct {
	t      *testing.T
	id     wire.SessionID
	handle *session.Handle
	*diary
}

// newDesktop makes a session and enters it.
func (o *office) newDesktop(t *testing.T, id wire.SessionID) *testDesktop {
	t.Helper()
	create(t, o.Hub, id)
	return o.enter(t, id)
}

// enter is a session that is there.
func (o *office) enter(t *testing.T, id wire.SessionID) *testDesktop {
	t.Helper()
	return &testDesktop{t: t, id: id, handle: enter(t, o.Hub, id), diary: keepDiary(t, o.site, id)}
}

// say sends a message to the main agent of a monitor.
func (d *testDesktop) say(monitor wire.MonitorID, id wire.MessageID, lines ...string) {
	d.t.Helper()
	d.send(id, wire.UserMessage{MonitorID: monitor, Content: strings.Join(lines, "\n")})
}

// send sends a command.
func (d *testDesktop) send(id wire.MessageID, data wire.ClientPayload) {
	d.t.Helper()
	deliver(d.t, d.handle, says("conn", id, data))
}

// ask sends a message and waits for its first answer.
func (d *testDesktop) ask(id wire.MessageID, data wire.ClientPayload) wire.ServerPayload {
	d.t.Helper()
	return d.askAs("conn", id, data)
}

// askAs is ask of another connection.
func (d *testDesktop) askAs(conn wire.ConnectionID, id wire.MessageID, data wire.ClientPayload) wire.ServerPayload {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), d.patience)
	defer cancel()
	a, err := d.handle.DeliverAndWait(ctx, says(conn, id, data))
	if err != nil {
		d.t.Fatalf("%s is not answered: %v\n%s", id, err, d.tell())
	}
	return a.Data
}

// ends waits for the end of the turn of a message.
func (d *testDesktop) ends(id wire.MessageID) wire.AgentResponse {
	d.t.Helper()
	return when(d.t, d.diary, func(r wire.AgentResponse) bool { return r.IsComplete && r.MessageID == id })
}

// begins waits until a turn says something.
func (d *testDesktop) begins(id wire.MessageID) {
	d.t.Helper()
	when(d.t, d.diary, func(r wire.AgentResponse) bool { return !r.IsComplete && r.MessageID == id && r.Delta != "" })
}

// snapshot is the state that a tab would get.
func (d *testDesktop) snapshot() wire.SessionState {
	d.t.Helper()
	for tries := 0; ; tries++ {
		s, err := d.handle.Snapshot(d.t.Context(), nil)
		ok(d.t, err)
		// The diary reads the log itself, which the room may be a step behind, or
		// more if it is cut off.
		events := d.all()
		if len(events) == 0 || s.LastMessageID.Compare(events[len(events)-1].At) >= 0 || tries == 1000 {
			return s
		}
		<-time.After(time.Millisecond)
	}
}

// said is everything an agent has said in a turn.
func (d *testDesktop) said(id wire.MessageID) string {
	var b []byte
	for _, r := range find[wire.AgentResponse](d.all()) {
		if r.MessageID == id && !r.IsComplete {
			b = append(b[:min(r.Offset, len(b))], r.Delta...) // they say ASCII here
		}
	}
	return string(b)
}

// windows are the ids of those that are open on a monitor.
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

// diary is the log of a session as it grows.
type diary struct {
	patience time.Duration

	mu     sync.Mutex // guards the following
	events []wire.Event
	more   chan struct{} // closed when there are more
}

// keepDiary reads the log of a session until the test ends.
func keepDiary(t *testing.T, s *site, id wire.SessionID) *diary {
	t.Helper()
	d := &diary{patience: s.patience, more: make(chan struct{})}
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

func (d *diary) add(step []wire.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events = append(d.events, step...)
	close(d.more)
	d.more = make(chan struct{})
}

// all is everything so far.
func (d *diary) all() []wire.Event {
	events, _ := d.from(0)
	return events
}

// from is what there is from a place on, and what is closed when there is more.
func (d *diary) from(n int) ([]wire.Event, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.events[n:len(d.events):len(d.events)], d.more
}

// tell is the log for people.
func (d *diary) tell() string {
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

// when waits for an event.
func when[T wire.ServerPayload](t *testing.T, d *diary, is func(T) bool) T {
	t.Helper()
	late := time.NewTimer(d.patience)
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
			t.Fatalf("there is no such %T in\n%s", *new(T), d.tell())
		}
	}
}

// about returns whether an event is about a message.
func about[T wire.ServerPayload](id wire.MessageID) func(T) bool {
	return func(p T) bool { return wire.MessageOf(p) == id }
}

// opening is the directive that opens a window.
func opening(id wire.WindowID) string { return fmt.Sprintf("/window %s %s | hello", id, id) }

// fate is what became of a message.
type fate struct {
	accepted, queued, rejected, ends int
	agent                            wire.AgentID
}

// fates are those of all messages in a log.
func fates(events []wire.Event) map[wire.MessageID]*fate {
	all := map[wire.MessageID]*fate{}
	of := func(id wire.MessageID) *fate {
		if all[id] == nil {
			all[id] = &fate{}
		}
		return all[id]
	}
	for _, e := range events {
		switch p := e.Data.(type) {
		case wire.MessageAccepted:
			if !p.Duplicate { // of answers to plans there is nothing but that
				f := of(p.MessageID)
				f.accepted++
				f.agent = p.AgentID
			}
		case wire.MessageQueued:
			if f := of(p.MessageID); !p.Duplicate {
				f.queued += 1 + f.accepted + f.rejected // which is too much after an answer
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
	return all
}

// lawful checks what is true of every log: each message is answered once, perhaps
// after it was queued, and each one that was accepted has one end.
func lawful(t *testing.T, events []wire.Event) {
	t.Helper()
	for id, f := range fates(events) {
		if f.accepted+f.rejected != 1 || f.queued > 1 || f.ends != f.accepted {
			t.Errorf("%s was accepted %d times, by %s, queued %d times, rejected %d times, and has %d ends",
				id, f.accepted, f.agent, f.queued, f.rejected, f.ends)
		}
	}
}

// rest waits until nothing runs and waits any more, and checks that everything
// went as it should.
func (d *testDesktop) rest() {
	d.t.Helper()
	at := settled(d.t, d.handle)
	late := time.NewTimer(d.patience)
	defer late.Stop()
	for {
		events, more := d.from(0)
		done := len(events) > 0 && events[len(events)-1].At.Compare(at) >= 0
		for _, f := range fates(events) {
			done = done && f.accepted+f.rejected > 0 && f.ends >= f.accepted
		}
		if done {
			break
		}
		select {
		case <-more:
		case <-late.C:
			d.t.Fatalf("it does not come to rest:\n%s", d.tell())
		}
	}
	lawful(d.t, d.all())
}

// conversation is all that the agent was told and said, as it is kept.
func (d *testDesktop) conversation(s *site, agent string) string {
	d.t.Helper()
	kept, err := s.Load(d.t.Context(), d.id)
	ok(d.t, err)
	var b strings.Builder
	for _, item := range kept.Lists["api:"+agent] {
		var e providers.Entry
		ok(d.t, json.Unmarshal(item, &e))
		for _, block := range e.Blocks {
			fmt.Fprintln(&b, block.Text)
		}
	}
	return b.String()
}

// namesake is the demo under another name.
type namesake struct {
	*demo.Provider
	name string
}

func (n namesake) Name() string { return n.name }

// tapeOf is what is kept of what was said.
func tapeOf(kept store.State) string {
	var b strings.Builder
	for name, items := range kept.Lists {
		if strings.HasPrefix(name, "tape") {
			fmt.Fprintf(&b, "%s: %s\n", name, items)
		}
	}
	return b.String()
}
