package session_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/store/redisstore"
	"github.com/everdesk/everdesk/wire"
)

// withoutSweeps keeps a hub from claiming sessions by itself.
func withoutSweeps(cfg session.Config) session.Config {
	if cfg.SweepEvery == 0 {
		cfg.SweepEvery = time.Hour
	}
	return cfg
}

// testStore is a store that fills all roles.
type testStore interface {
	session.Leases
	session.Writer
	session.Log
	session.Inbox
	session.Directory
}

// joinedStore joins the parts of a store that a hub with agents uses.
type joinedStore struct {
	testStore
	agentpool.Semaphores
	session.Documents
}

// joinFile joins the parts of a file store.
func joinFile(s *filestore.Store) joinedStore {
	return joinedStore{s.Sessions, s.Semaphores, s.Documents}
}

// joinRedis joins the parts of a Redis store.
func joinRedis(s *redisstore.Store) joinedStore {
	return joinedStore{s.Sessions, s.Semaphores, s.Documents}
}

func openStore(t *testing.T) joinedStore {
	t.Helper()
	s, err := filestore.Open(t.TempDir(), filestore.Config{Sync: filestore.SyncOff})
	requireNoError(t, err)
	t.Cleanup(func() { requireNoError(t, s.Close()) })
	return joinFile(s)
}

// startHub runs a hub until the test ends or stop is called.
func startHub(t *testing.T, s testStore, replica wire.ReplicaID, cfg session.Config) (h *session.Hub, stop func()) {
	t.Helper()
	cfg.Replica = replica
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	h = session.NewHub(withoutSweeps(cfg), session.StoreOf(s))
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var wg sync.WaitGroup
	wg.Go(func() { h.Run(ctx) })
	stop = func() {
		cancel()
		wg.Wait()
	}
	t.Cleanup(stop)
	return h, stop
}

// onePixel is a picture.
const onePixel = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func createSession(t *testing.T, h *session.Hub, id wire.SessionID) {
	t.Helper()
	_, err := h.Create(t.Context(), session.NewSession{ID: id, User: "ada", Title: "Desk"})
	requireNoError(t, err)
}

func openHandle(t *testing.T, h *session.Hub, id wire.SessionID) *session.Handle {
	t.Helper()
	r, err := h.Open(t.Context(), id)
	requireNoError(t, err)
	t.Cleanup(r.Close)
	return r
}

func requireNoError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("unexpected error: %v", err)
	}
}

// command is a command of a connection.
func command(conn wire.ConnectionID, id wire.MessageID, data wire.ClientPayload) session.Command {
	return session.Command{
		From:    session.Sender{Connection: conn, User: "ada"},
		Message: wire.Message{ID: id, Data: data},
	}
}

func deliver(t *testing.T, r *session.Handle, c session.Command) {
	t.Helper()
	requireNoError(t, r.Deliver(t.Context(), c))
}

func deliverAndWait(t *testing.T, r *session.Handle, c session.Command) session.Answer {
	t.Helper()
	a, err := r.DeliverAndWait(t.Context(), c)
	requireNoError(t, err)
	return a
}

// window is an action that opens a window.
func window(id wire.WindowID) wire.WindowCreate {
	return wire.WindowCreate{
		WindowID: id, Title: string(id), Bounds: wire.Bounds{X: 1, Y: 2, W: 300, H: 200},
		Content: wire.TextContent{Data: "hello"},
	}
}

func emit(actions ...wire.Action) wire.Emit { return wire.Emit{Actions: actions} }

// deliverBarrier delivers a message and waits for its answer, after which everything before it is
// executed.
func deliverBarrier(t *testing.T, r *session.Handle) wire.Position {
	t.Helper()
	id := wire.MessageID(fmt.Sprintf("settled-%d", counter.Add(1)))
	return deliverAndWait(t, r, command("settler", id, emit(wire.RefreshApps{}))).At
}

var counter atomic.Int64

// readLog reads the whole log of ses-1.
func readLog(t *testing.T, s testStore) []wire.Event {
	t.Helper()
	return readLogAfter(t, s, wire.Position{})
}

// readLogAfter reads the log of ses-1 after a position.
func readLogAfter(t *testing.T, s testStore, after wire.Position) []wire.Event {
	t.Helper()
	var all []wire.Event
	for {
		page, err := s.Read(t.Context(), "ses-1", after, 1000)
		requireNoError(t, err)
		if len(page) == 0 {
			return all
		}
		for _, e := range page {
			all = append(all, decode(t, e))
			after = e.At
		}
	}
}

func decode(t *testing.T, e store.Event) wire.Event {
	t.Helper()
	d, err := wire.Native{}.DecodeEvent(e.Frame)
	requireNoError(t, err)
	if d.At != e.At {
		t.Fatalf("the frame of the event at %v has the position %v, want the same", e.At, d.At)
	}
	return d
}

// payloads returns the payloads of a type.
func payloads[T wire.ServerPayload](events []wire.Event) []T {
	var found []T
	for _, e := range events {
		if p, ok := e.Data.(T); ok {
			found = append(found, p)
		}
	}
	return found
}

// waitLogged tails the log until it has a matching event.
func waitLogged[T wire.ServerPayload](t *testing.T, s testStore, id wire.SessionID, is func(T) bool) T {
	t.Helper()
	for news, err := range s.Tail(t.Context(), id, wire.Position{}) {
		requireNoError(t, err)
		for _, e := range news.Events {
			if p, right := decode(t, e).Data.(T); right && is(p) {
				return p
			}
		}
	}
	panic("a tail ends with an error")
}

func anyOf[T any](T) bool { return true }

// waitRejection waits for the rejection of a message in ses-1.
func waitRejection(t *testing.T, s testStore, id wire.MessageID) wire.MessageRejected {
	t.Helper()
	return waitLogged(t, s, "ses-1", func(p wire.MessageRejected) bool { return p.MessageID == id })
}

// snapshotBytes is a snapshot in the form in which tabs get it.
func snapshotBytes(t *testing.T, r *session.Handle, monitors ...wire.MonitorID) []byte {
	t.Helper()
	s, err := r.Snapshot(t.Context(), monitors)
	requireNoError(t, err)
	s.HeartbeatMS = 1
	return wire.AppendEvent(nil, wire.Event{Session: r.Session(), Time: time.UnixMilli(0), Data: s})
}

// tab is an attached connection.
type tab struct {
	*broadcast.Tab
	events chan wire.Event
	seen   []wire.Event // received and not returned by nextEvent yet
	closed chan wire.CloseCode
	detach func()
}

// wholeLines is bufio.ScanLines without the incomplete last line of a closed connection.
func wholeLines(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if atEOF && bytes.IndexByte(data, '\n') < 0 {
		return len(data), nil, nil
	}
	return bufio.ScanLines(data, atEOF)
}

func attachTab(t *testing.T, r *session.Handle, conn wire.ConnectionID) *tab {
	t.Helper()
	server, client := net.Pipe()
	w := &tab{events: make(chan wire.Event, 10_000), closed: make(chan wire.CloseCode, 1)}
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(w.events)
		lines := bufio.NewScanner(client)
		lines.Buffer(nil, 16<<20)
		lines.Split(wholeLines)
		for lines.Scan() {
			data, found := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
			if !found {
				if data, found = bytes.CutPrefix(lines.Bytes(), []byte("data:")); !found {
					continue
				}
			}
			e, err := wire.Native{}.DecodeEvent(bytes.Clone(data))
			if err != nil {
				t.Errorf("tab %s got %s: %v", conn, data, err)
				continue
			}
			w.events <- e
		}
	})
	var err error
	w.Tab, err = r.Attach(t.Context(), broadcast.TabConfig{
		Conn: &broadcast.Socket{Conn: server}, Form: broadcast.FormSSE,
		Who:    wire.Connection{ConnectionID: conn, ClientID: wire.ClientID(conn), User: "ada"},
		Closed: func(code wire.CloseCode, _ string) { w.closed <- code },
	})
	requireNoError(t, err)
	w.detach = sync.OnceFunc(func() {
		r.Leave(w.Tab)
		_ = server.Close()
		_ = client.Close()
		wg.Wait()
	})
	t.Cleanup(w.detach)
	return w
}

// nextEvent waits for an event that the tab receives. Events for this tab only may come before or
// after those for all.
func nextEvent[T wire.ServerPayload](t *testing.T, w *tab, is func(T) bool) T {
	t.Helper()
	for i := 0; ; i++ {
		if i == len(w.seen) {
			select {
			case e, open := <-w.events:
				if !open {
					t.Fatalf("the tab was closed before it saw %T; it saw %s", *new(T), eventTypes(w.seen))
				}
				w.seen = append(w.seen, e)
			case <-time.After(2 * time.Minute):
				t.Fatalf("the tab never saw %T; it saw %s", *new(T), eventTypes(w.seen))
			}
		}
		if p, right := w.seen[i].Data.(T); right && is(p) {
			w.seen = slices.Delete(w.seen, i, i+1)
			return p
		}
	}
}

// errorCode is the code of a refusal.
func errorCode(err error) wire.Code {
	if e, is := errors.AsType[*session.Error](err); is {
		return e.Code
	}
	return 0
}

// eventTypes returns the types of events as text.
func eventTypes(events []wire.Event) string {
	var words []string
	for _, e := range events {
		entry, _ := wire.Events().Of(e.Data)
		words = append(words, entry.Type)
	}
	return strings.Join(words, " ")
}
