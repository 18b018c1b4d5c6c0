package gateway_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/wire"
)

// errorLines counts the errors in the log.
func (h *testHub) errorLines() int { return strings.Count(h.log.String(), "level=ERROR") }

// rawRequest sends bytes that no HTTP client would send and returns the whole response.
func (h *testHub) rawRequest(request string, hangUp bool) string {
	h.t.Helper()
	c, err := h.dial()
	if err != nil {
		h.t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, strings.ReplaceAll(request, "HOST", h.addr)); err != nil {
		h.t.Fatal(err)
	}
	if half, ok := c.(*net.TCPConn); ok && hangUp {
		if err := half.CloseWrite(); err != nil {
			h.t.Fatal(err)
		}
	}
	answer, err := io.ReadAll(c)
	if err != nil {
		h.t.Fatal(err)
	}
	return string(answer)
}

// An incomplete body is an error of the client, and is not logged as an error.
func TestBrokenBodies(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id := h.newSession("ada")
	bearer := "Authorization: Bearer " + h.userToken("ada") + "\r\n"
	for name, tt := range map[string]string{
		"broken chunk": "POST /api/login HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
		"too short":    "POST /api/login HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{}",
		"broken file":  "PUT " + sessionPath(id, "/files/a") + " HTTP/1.1\r\nHost: HOST\r\n" + bearer + "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
		"short file":   "PUT " + sessionPath(id, "/files/a") + " HTTP/1.1\r\nHost: HOST\r\n" + bearer + "Content-Length: 100\r\n\r\nx",
	} {
		if got := h.rawRequest(tt, true); !strings.HasPrefix(got, "HTTP/1.1 400 ") || !strings.Contains(got, `"code":1003`) {
			t.Errorf("%s: got %s, want status 400 with code 1003", name, got)
		}
	}
	if n := h.errorLines(); n != 0 {
		t.Errorf("errors in the log: got %d, want 0", n)
	}
}

func TestBodiesThatNeverEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newBubbleHub(t)
		id := h.newSession("ada")
		bearer := "Authorization: Bearer " + h.userToken("ada") + "\r\n"
		for name, tt := range map[string]string{
			"login": "POST /api/login HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
			"file":  "PUT " + sessionPath(id, "/files/a") + " HTTP/1.1\r\nHost: HOST\r\n" + bearer + "Content-Length: 100\r\n\r\nx",
		} {
			if got := h.rawRequest(tt, false); !strings.HasPrefix(got, "HTTP/1.1 408 ") || !strings.Contains(got, `"code":1002`) {
				t.Errorf("%s: got %s, want status 408 with code 1002", name, got)
			}
		}
		if n := h.errorLines(); n != 0 {
			t.Errorf("errors in the log: got %d, want 0", n)
		}
	})
}

// A client that disconnects during a response causes no error in the log.
func TestUnreadResponses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newBubbleHub(t)
		id := h.sessionWithWindows(3)
		c, err := h.dial()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", sessionPath(id, "/snapshot"), h.addr, h.userToken("ada"))
		if _, err := io.ReadFull(c, make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := h.errorLines(); n != 0 {
			t.Errorf("errors in the log: got %d, want 0", n)
		}
	})
}

// A path below a file does not exist.
func TestFilesTakenForFolders(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada := h.userToken("ada")
	id := h.newSession("ada")
	h.rest(http.MethodPut, sessionPath(id, "/files/x"), request{token: ada, body: "x"}).wantStatus(http.StatusCreated)
	h.get(sessionPath(id, "/files/x/y"), ada).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	h.rest(http.MethodDelete, sessionPath(id, "/files/x/y"), request{token: ada}).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	h.get(sessionPath(id, "/files?folder=x"), ada).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	h.get("/api/storage/x?list=true&sessionId="+string(id), ada).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	h.rest(http.MethodPut, sessionPath(id, "/files/x/y"), request{token: ada, body: "x"}).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	if n := h.errorLines(); n != 0 {
		t.Errorf("errors in the log: got %d, want 0", n)
	}
}

// unavailableStore fails to read documents, or only those of users.
type unavailableStore struct {
	engine
	all, settings *atomic.Bool
}

func (s unavailableStore) Get(ctx context.Context, collection, name string) (store.Document, error) {
	if s.all.Load() || s.settings.Load() && collection == "settings" {
		return store.Document{}, fmt.Errorf("get a document: %w", store.ErrUnavailable)
	}
	return s.engine.Get(ctx, collection, name)
}

// Unauthenticated requests cannot fill the log while the store is unavailable, nor hide the errors
// of users.
func TestUnauthenticatedErrorsAreBoundedInTheLog(t *testing.T) {
	t.Parallel()
	var all, settings atomic.Bool
	h := newTestHub(t, func(p *hubOptions) {
		p.store = func(log *slog.Logger) (engine, error) {
			s, err := joinFile(filestore.Open(t.TempDir(), filestore.Config{Sync: filestore.SyncOff, Logger: log}))
			return unavailableStore{s, &all, &settings}, err
		}
	})
	key, err := h.auth.NewKey(t.Context(), auth.Identity{User: "ada"}, "")
	if err != nil {
		t.Fatal(err)
	}
	all.Store(true)
	for range 60 {
		h.rest(http.MethodGet, "/api/me", request{header: header("X-API-Key", key)}).wantProblem(http.StatusServiceUnavailable, wire.CodeStoreUnavailable)
	}
	if n := h.errorLines(); n == 0 || n > 30 {
		t.Errorf("errors in the log for 60 unauthenticated requests: got %d, want 1 to 30", n)
	}
	all.Store(false)
	settings.Store(true)
	before := h.errorLines()
	h.get("/api/settings", h.userToken("ada")).wantProblem(http.StatusServiceUnavailable, wire.CodeStoreUnavailable)
	if h.errorLines() != before+1 {
		t.Errorf("got %d error lines in the log, want %d", h.errorLines(), before+1)
	}
}

// unlistableStore is a store that cannot list all sessions.
type unlistableStore struct{ engine }

func (u unlistableStore) Sessions(ctx context.Context, q store.Query) (store.Page[store.Info], error) {
	if q.Limit == 0 {
		return store.Page[store.Info]{}, store.ErrUnavailable
	}
	return u.engine.Sessions(ctx, q)
}

// A created session is returned to its creator, even if the check of the limit failed.
func TestSessionThatCannotBeCountedStays(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, func(p *hubOptions) {
		p.gateway.UserSessions = 5
		p.store = func(log *slog.Logger) (engine, error) {
			s, err := joinFile(filestore.Open(t.TempDir(), filestore.Config{Sync: filestore.SyncOff, Logger: log}))
			return unlistableStore{s}, err
		}
	})
	h.post("/api/sessions", h.userToken("ann"), "").wantStatus(http.StatusCreated)
}

// unknowingStore is a store that cannot look sessions up.
type unknowingStore struct {
	engine
	away *atomic.Bool
}

func (u unknowingStore) Session(ctx context.Context, id wire.SessionID) (store.Info, error) {
	if u.away.Load() {
		return store.Info{}, store.ErrUnavailable
	}
	return u.engine.Session(ctx, id)
}

// While the store is unavailable, a loaded session is available to its owner. Other users, whose
// shares may have ended meanwhile, have to wait; they do not get 404.
func TestLoadedSessionWithoutAStore(t *testing.T) {
	t.Parallel()
	var away atomic.Bool
	h := newTestHub(t, func(p *hubOptions) {
		p.store = func(log *slog.Logger) (engine, error) {
			s, err := joinFile(filestore.Open(t.TempDir(), filestore.Config{Sync: filestore.SyncOff, Logger: log}))
			return unknowingStore{s, &away}, err
		}
	})
	id := h.newSession("ada")
	h.rest(http.MethodPut, sessionPath(id, "/shares/bob"), request{token: h.userToken("ada"), body: `{"access":"viewer"}`}).wantStatus(http.StatusOK)
	h.mustDial("/ws/"+string(id), as(h.userToken("ada"))).wantAlive()
	h.get(sessionPath(id, "/snapshot"), h.userToken("bob")).wantStatus(http.StatusOK)
	away.Store(true)
	h.get(sessionPath(id, "/snapshot"), h.userToken("ada")).wantStatus(http.StatusOK)
	h.get(sessionPath(id, "/snapshot"), h.userToken("bob")).wantProblem(http.StatusServiceUnavailable, wire.CodeStoreUnavailable)
	h.get(sessionPath("ses-none", "/snapshot"), h.userToken("ada")).wantProblem(http.StatusServiceUnavailable, wire.CodeStoreUnavailable)
}
