package gateway_test

import (
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/store/redisstore"
	"github.com/everdesk/everdesk/wire"
)

// A session with unreadable data or keys of a wrong type is quarantined; requests get 3003, and other
// sessions work.

// corruptSession checks that a session of ann is quarantined and that other sessions work.
func (h *testHub) corruptSession(bad wire.SessionID) {
	h.t.Helper()
	ann := h.token("ann", time.Minute)
	h.wantInvalid(bad, ann)
	info, err := h.store.Session(h.t.Context(), bad)
	if err != nil || info.Quarantined == "" {
		h.t.Errorf("session in the store: got %+v, error %v, want it quarantined", info, err)
	}
	h.wantRefused("/ws/"+string(bad), as(ann), http.StatusConflict, wire.CodeSessionInvalidState)
	h.wantRefused("/ws?sessionId="+string(bad), as(ann), http.StatusConflict, wire.CodeSessionInvalidState)
	h.get(sessionPath(bad, "/files"), ann).wantProblem(http.StatusConflict, wire.CodeSessionInvalidState)
	if got := h.get("/api/sessions", ann).wantStatus(http.StatusOK); !contains(got.body, string(bad)) {
		h.t.Errorf("sessions: got %s, want %s among them", got.body, bad)
	}
}

// wantInvalid checks that a session is refused to its users and that other sessions work.
func (h *testHub) wantInvalid(bad wire.SessionID, token string) {
	h.t.Helper()
	// The first connection may be accepted before the data is read.
	if x, a := h.tryDial("/ws/"+string(bad), as(token)); x != nil {
		x.wantError(wire.CodeSessionInvalidState)
		x.wantClosed(wire.CloseInternal)
	} else if a.status != http.StatusConflict {
		h.t.Errorf("corrupt session: got %d %s, want %d", a.status, a.body, http.StatusConflict)
	}
	for _, path := range []string{"/snapshot", "/events"} {
		h.get(sessionPath(bad, path), token).wantProblem(http.StatusConflict, wire.CodeSessionInvalidState)
	}
	h.post(sessionPath(bad, "/messages"), token, `{"content":"hi"}`).wantProblem(http.StatusConflict, wire.CodeSessionInvalidState)
	h.get(sessionPath(bad), h.token("bob", time.Minute)).wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
	_, x := h.sessionWithTab()
	x.wantAlive()
}

// wantDeletable deletes an unreadable session as an admin, after an attempt to release it.
func (h *testHub) wantDeletable(bad wire.SessionID) {
	h.t.Helper()
	h.adminRequest(http.MethodPost, "sessions/"+string(bad)+"/release", "", `{"reason":"try again"}`).wantStatus(http.StatusOK)
	h.adminRequest(http.MethodDelete, "sessions/"+string(bad), "", `{"reason":"it cannot be read"}`).wantStatus(http.StatusOK)
	if info, err := h.store.Session(h.t.Context(), bad); !errors.Is(err, store.ErrNotFound) {
		h.t.Errorf("deleted session in the store: got %+v, error %v, want %v", info, err, store.ErrNotFound)
	}
	_, x := h.sessionWithTab()
	x.wantAlive()
}

// newUsedSession creates a session with some events and unloads it.
func (h *testHub) newUsedSession() wire.SessionID {
	h.t.Helper()
	id, x := h.sessionWithTab()
	x.emit("m-1")
	x.ws.CloseNow()
	h.hub.Drain(h.t.Context())
	return id
}

// A table contains data that the store can read and the session cannot.
func TestAttackTableThatCannotBeRead(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	for name, op := range map[string]store.Op{
		"windows": store.Set("windows", "monitor-0/w", []byte("not a window")),
		"ledger":  store.Set("ledger", "m-1", []byte("\x00\xff")),
		"closed":  store.Set("closed", "d.x", []byte(`{"t":`)),
	} {
		id := h.newSession("ann")
		lease, err := h.store.Claim(t.Context(), id, "replica-0", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.store.Commit(t.Context(), lease, store.Batch{Number: 1, Prev: lease.Top(), Ops: []store.Op{op}}); err != nil {
			t.Fatal(err)
		}
		if err := h.store.Release(t.Context(), lease); err != nil {
			t.Fatal(err)
		}
		t.Log(name)
		h.wantInvalid(id, h.token("ann", time.Minute))
		h.wantDeletable(id)
	}
}

// A file of the store was modified on disk.
func TestAttackFileThatIsDamaged(t *testing.T) { //nolint:tparallel // the first hub has to be gone
	t.Parallel()
	dir := t.TempDir()
	open := func(log *slog.Logger) (engine, error) {
		return joinFile(filestore.Open(dir, filestore.Config{Sync: filestore.SyncOff, Logger: log}))
	}
	var bad wire.SessionID
	// The first hub has stopped before the second one starts.
	t.Run("before", func(t *testing.T) {
		h := newTestHub(t, func(p *hubOptions) { p.store = open })
		id, x := h.sessionWithTab()
		for range 20 {
			x.wantAlive()
		}
		bad = id
	})
	// Only that session is affected.
	changed := 0
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(data), `"alive-`) {
			return err
		}
		changed++
		damaged := strings.ReplaceAll(string(data), `"alive-`, `"dead!-`)
		return os.WriteFile(path, []byte(damaged), 0o600)
	})
	if err != nil || changed == 0 {
		t.Fatalf("damaged files: got %d, error %v, want at least one", changed, err)
	}
	h := newTestHub(t, func(p *hubOptions) { p.store = open })
	h.corruptSession(bad)
	h.wantDeletable(bad)
}

// A Redis key has another type than the store wrote.
func TestAttackWrongRedisType(t *testing.T) {
	t.Parallel()
	server := redistest.Standalone(t)
	client := server.Client(t)
	open := func(log *slog.Logger) (engine, error) {
		return joinRedis(redisstore.Open(t.Context(), client, redisstore.Config{Logger: log}))
	}
	for _, name := range []string{"meta", "log"} {
		h := newTestHub(t, func(p *hubOptions) { p.store = open })
		bad := h.newUsedSession()
		keys, err := client.Keys(t.Context(), "*:s:"+string(bad)+":"+name).Result()
		if err != nil || len(keys) != 1 {
			t.Fatalf("keys %s of %s: got %q, error %v, want one", name, bad, keys, err)
		}
		if err := errors.Join(
			client.Del(t.Context(), keys[0]).Err(), client.Set(t.Context(), keys[0], "not ours", 0).Err(),
		); err != nil {
			t.Fatal(err)
		}
		other := newTestHub(t, func(p *hubOptions) { p.store, p.session.Replica = open, "replica-2" })
		t.Log(name)
		if name == "log" {
			other.corruptSession(bad)
			other.wantDeletable(bad)
			continue
		}
		// The owner is unknown now, so only an admin can delete it.
		other.wantInvalid(bad, other.token("root", time.Minute, "admin"))
		other.wantRefused("/ws/"+string(bad), as(other.token("ann", time.Minute)), http.StatusNotFound, wire.CodeSessionNotFound)
		other.wantDeletable(bad)
	}
}
