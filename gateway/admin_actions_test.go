package gateway_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/store/redisstore"
	"github.com/everdesk/everdesk/wire"
)

// gatedStore is a store whose commits can be blocked.
type gatedStore struct {
	engine
	gate atomic.Pointer[chan struct{}]
}

func (s *gatedStore) Commit(ctx context.Context, l store.Lease, b store.Batch) (store.Receipt, error) {
	if g := s.gate.Load(); g != nil {
		select {
		case <-*g:
		case <-ctx.Done():
			return store.Receipt{}, store.ErrUnavailable
		}
	}
	return s.engine.Commit(ctx, l, b)
}

// closeGate blocks commits until let is called.
func (s *gatedStore) closeGate() (let func()) {
	gate := make(chan struct{})
	s.gate.Store(&gate)
	return sync.OnceFunc(func() {
		s.gate.Store(nil)
		close(gate)
	})
}

// forgetfulStore is a store in which one write to the audit log fails.
type forgetfulStore struct {
	engine
	puts, bad atomic.Int64
}

func (s *forgetfulStore) Put(ctx context.Context, d store.Document) (uint64, error) {
	if d.Collection == "audit-chain" && s.puts.Add(1) == s.bad.Load() {
		return 0, store.ErrUnavailable
	}
	return s.engine.Put(ctx, d)
}

// waitForAudit waits until the audit log has the wanted result of an action.
func (h *testHub) waitForAudit(action, want string) {
	h.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(h.wait)
	for {
		var results []string
		for _, r := range h.auditRecords() {
			if r.Action == action {
				results = append([]string{r.Result}, results...)
			}
		}
		if strings.Join(results, " ") == want {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			h.t.Fatalf("%s: %v, want %s", action, results, want)
		}
	}
}

// requestAndLeave sends a request and disconnects when leave is closed.
func (h *testHub) requestAndLeave(path, key, body string, leave <-chan struct{}) (gone <-chan struct{}) {
	h.t.Helper()
	ctx, cancel := context.WithCancel(h.t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+h.addr+"/api/admin/"+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+h.userToken("root", "admin"))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", key)
	done := make(chan struct{})
	go func() { // ends when leave is closed
		<-leave
		cancel()
	}()
	client := &http.Client{Transport: h.transport()}
	go func() { // ends with the request
		defer close(done)
		if res, err := client.Do(req); err == nil {
			_ = res.Body.Close()
			h.t.Errorf("got status %d, want no answer", res.StatusCode)
		}
	}()
	return done
}

// If the store fails while the outcome of an action is recorded, the outcome is recorded later,
// before the response.
func TestAdminOutcomeIsRecordedLater(t *testing.T) {
	t.Parallel()
	s := &forgetfulStore{}
	h := newTestHub(t, func(p *hubOptions) {
		p.members = true
		p.store = func(log *slog.Logger) (engine, error) {
			f, err := joinFile(filestore.Open(t.TempDir(), filestore.Config{Sync: filestore.SyncOff, Logger: log}))
			s.engine = f
			return s, err
		}
	})
	id := h.newSession("ann")
	s.bad.Store(2) // the first write is the beginning
	for range 3 {
		if r := h.adminDone("sessions/"+string(id)+"/reset", "k-1", `{"reason":"x"}`); r.Seq != 2 {
			t.Errorf("got %+v, want seq 2", r)
		}
	}
	h.waitForAudit("session.reset", "begun done")
}

// An admin resets a session that is blocked in a commit, and disconnects. The reset is executed
// later, and recorded with that outcome only.
func TestAdminLeavesAStuckSession(t *testing.T) {
	t.Parallel()
	slow := &gatedStore{}
	h := newTestHub(t, func(p *hubOptions) {
		p.members = true
		p.store = func(log *slog.Logger) (engine, error) {
			s, err := joinFile(filestore.Open(t.TempDir(), filestore.Config{Sync: filestore.SyncOff, Logger: log}))
			slow.engine = s
			return slow, err
		}
	})
	id := h.newSession("ann")
	x := h.mustDial("/ws/"+string(id), as(h.userToken("ann")))
	x.emit("w1")
	let := slow.closeGate()
	defer let()
	leave := make(chan struct{})
	gone := h.requestAndLeave("sessions/"+string(id)+"/reset", "r-1", `{"reason":"stuck"}`, leave)
	h.waitForAudit("session.reset", "begun")
	close(leave)
	<-gone
	answered := make(chan auditRecord, 1)
	go func() { answered <- h.adminDone("sessions/"+string(id)+"/reset", "r-1", `{"reason":"stuck"}`) }()
	h.waitForAudit("session.reset", "begun")
	let()
	h.waitForAudit("session.reset", "begun done")
	if r := <-answered; r.Seq != 2 {
		t.Errorf("repeated request: got %+v, want record 2", r)
	}
}

// A session whose owner is blocked in a commit is handed over when the commit ends, and that is
// recorded although no client waits for it.
func TestAdminLeavesAHandover(t *testing.T) {
	t.Parallel()
	server := redistest.Standalone(t)
	slow := &gatedStore{}
	build := func(id wire.ReplicaID) *testHub {
		return newTestHub(t, func(p *hubOptions) {
			p.session.Replica, p.members = id, true
			p.store = func(log *slog.Logger) (engine, error) {
				s, err := joinRedis(redisstore.Open(t.Context(), server.Client(t), redisstore.Config{Logger: log}))
				if id == "one" {
					slow.engine = s
					return slow, err
				}
				return s, err
			}
		})
	}
	a, b := build("one"), build("two")
	a.waitForReplica(b)
	id := a.newSession("ann")
	x := a.mustDial("/ws/"+string(id), as(a.userToken("ann")))
	x.emit("w1")
	let := slow.closeGate()
	defer let()
	x.sendToAgent("monitor-0", "m1", "hello")
	leave := make(chan struct{})
	gone := b.requestAndLeave("sessions/"+string(id)+"/handover", "h-1", `{"reason":"stuck","to":"two"}`, leave)
	b.waitForAudit("session.handover", "begun")
	close(leave)
	<-gone
	let()
	b.waitForAudit("session.handover", "begun done")
	if r := b.adminDone("sessions/"+string(id)+"/handover", "h-1", `{"reason":"stuck","to":"two"}`); !strings.HasPrefix(r.Detail, "owner: one, then two") {
		t.Errorf("got %+v, want a detail that begins with owner: one, then two", r)
	}
}
