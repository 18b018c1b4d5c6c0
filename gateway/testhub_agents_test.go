package gateway_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/modes"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/demo"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/store/redisstore"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// agentStore is a store on which agents can run.
type agentStore interface {
	engine
	agentpool.Semaphores
}

// newAgentHub starts a hub with agents, on Redis or on files.
func newAgentHub(t *testing.T, redis bool, tune ...func(*hubOptions)) *testHub {
	t.Helper()
	open := func(log *slog.Logger) (agentStore, error) {
		return joinFile(filestore.Open(t.TempDir(), filestore.Config{Sync: filestore.SyncOff, Logger: log}))
	}
	if redis {
		client := redistest.Standalone(t).Client(t)
		open = func(log *slog.Logger) (agentStore, error) {
			return joinRedis(redisstore.Open(t.Context(), client, redisstore.Config{Logger: log}))
		}
	}
	return newTestHub(t, append(tune, func(p *hubOptions) { addAgents(t, p, open) })...)
}

// addAgents adds agents to the options, with limits if given.
func addAgents(t *testing.T, p *hubOptions, open func(*slog.Logger) (agentStore, error), limits ...agentpool.Limits) {
	t.Helper()
	limits = append(limits, agentpool.Limits{})
	fileStore, err := files.Open(t.TempDir(), files.Config{})
	if err != nil {
		t.Fatal(err)
	}
	backends, err := providers.NewTable(providers.TableConfig{Default: demo.Name}, demo.New(demo.Config{}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	var runner *agentpool.Runner
	var finder *modes.Finder
	p.store = func(log *slog.Logger) (engine, error) {
		s, err := open(log)
		if err != nil {
			return nil, err
		}
		limiter := agentpool.NewLimiter(s, limits[0], log)
		wg.Go(func() { limiter.Run(ctx) })
		runner = agentpool.NewRunner(agentpool.Config{
			Limiter: limiter, Providers: backends, Logger: log,
			Tools: tools.New(tools.Config{Files: fileStore, Documents: s, Version: "test", Logger: log}),
		})
		finder = modes.NewFinder(modes.New(s, nil), log)
		return s, nil
	}
	p.session.Provider = demo.Name
	p.session.NewRunner = func(ctx context.Context, e agentpool.SessionRef) session.Runner {
		r := runner.Session(ctx, e)
		return session.Runner{Runs: r, Providers: r, Modes: finder.Of(e.User), AwaitDisposed: r.AwaitDisposed, Close: r.Close}
	}
	t.Cleanup(func() { // after the hub has stopped
		cancel()
		wg.Wait()
		if err := backends.Close(); err != nil {
			t.Error(err)
		}
		if err := fileStore.Close(); err != nil {
			t.Error(err)
		}
	})
}

// agentHubs are the constructors of hubs with agents, one per store.
func agentHubs() map[string]func(*testing.T) *testHub {
	return map[string]func(*testing.T) *testHub{
		"file":  func(t *testing.T) *testHub { t.Helper(); return newAgentHub(t, false) },
		"redis": func(t *testing.T) *testHub { t.Helper(); return newAgentHub(t, true) },
	}
}

// sendToAgent sends a message to the main agent of a monitor.
func (x *tab) sendToAgent(monitor wire.MonitorID, id wire.MessageID, lines ...string) {
	x.t.Helper()
	m := wire.UserMessage{MessageID: id, MonitorID: monitor, Content: strings.Join(lines, "\n")}
	if x.desktop {
		x.writeText(string(wire.Desktop{}.AppendMessage(nil, wire.Message{ID: id, Data: m})))
		return
	}
	x.sendWithID(id, m)
}

// untilTurnEnd reads up to the end of the turn of a message and returns all events, including that.
func (x *tab) untilTurnEnd(id wire.MessageID) []wire.Event {
	x.t.Helper()
	var all []wire.Event
	for {
		e, ok := x.read()
		if !ok {
			x.t.Fatalf("closed with %d %q before the end of %s", x.code, x.reason, id)
		}
		all = append(all, e)
		if r, is := e.Data.(wire.AgentResponse); is && r.IsComplete && r.MessageID == id {
			return all
		}
	}
}
