package kernels_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everdesk/everdesk/kernels"
)

// A user who needs room on a full server loses an own idle kernel, also if that of another user is idle for longer.
func TestRoomIsMadeAmongOwnKernelsFirst(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	c := newClient(t, kernels.Config{URL: server.URL, Token: server.Token, PerUser: 2, All: 3})
	began := map[string]string{}
	begin := func(user, name string) {
		t.Helper()
		n := kernels.Notebook{User: user, Session: "ses-" + user, Name: name}
		waitFor(t, func() bool { // a kernel is idle a moment after its start
			k, err := c.Open(t.Context(), n)
			began[name] = k.ID
			return err == nil
		})
		// The server learns that a kernel is idle from an answer of it, and may miss the first ones.
		waitFor(t, func() bool {
			k, err := c.Kernel(t.Context(), began[name])
			if err != nil || k.Connections > 0 {
				return false
			}
			if k.State == "idle" {
				return true
			}
			conn, err := c.Connect(t.Context(), began[name], "test", func(kernels.Message) {})
			if err != nil {
				t.Fatal(err)
			}
			_ = conn.Await(t.Context())
			conn.Close()
			return false
		})
	}
	want := func(what string, gone ...string) {
		t.Helper()
		for name, id := range began {
			_, err := c.Kernel(t.Context(), id)
			if is := errors.Is(err, kernels.ErrGone); is != slices.Contains(gone, name) {
				t.Errorf("%s: kernel %s gone: %t (%v), want %t", what, name, is, err, !is)
			}
		}
	}
	begin("other", "theirs")
	begin("u", "first")
	begin("u", "second")
	begin("u", "third") // beyond the budget of the user and of the server
	want("a kernel beyond both budgets", "first")
	begin("new", "last")
	want("a kernel of a user who has none", "first", "theirs")
}

// listServer is a Jupyter server without kernels: it has a list of them, in which new ones get a state.
type listServer struct {
	mu       sync.Mutex
	state    string
	sessions []map[string]any
}

func (s *listServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var answer any = s.sessions
	switch {
	case r.URL.Path == "/api/kernelspecs":
		answer = map[string]any{"default": "python3", "kernelspecs": map[string]any{"python3": map[string]any{"name": "python3", "spec": map[string]string{"language": "python"}}}}
	case r.Method == http.MethodPost:
		var asked map[string]any
		_ = json.NewDecoder(r.Body).Decode(&asked) // of the client under test
		id := fmt.Sprint("id-", len(s.sessions), "-", asked["name"])
		answer = map[string]any{"id": id, "path": asked["path"], "kernel": map[string]any{"id": id, "execution_state": s.state, "connections": 0, "last_activity": time.Now().Format(time.RFC3339Nano)}}
		s.sessions = append(s.sessions, answer.(map[string]any)) //nolint:forcetypeassert // it is one
		w.WriteHeader(http.StatusCreated)
	case r.Method == http.MethodDelete:
		s.sessions = slices.DeleteFunc(s.sessions, func(have map[string]any) bool { return strings.HasSuffix(r.URL.Path, "/"+fmt.Sprint(have["id"])) })
		w.WriteHeader(http.StatusNoContent)
		return
	}
	_ = json.NewEncoder(w).Encode(answer) // the client says what is wrong
}

// A kernel that died too often makes room for others, before those that are idle, and is culled at once.
func TestDeadKernelsAreRemoved(t *testing.T) {
	t.Parallel()
	list := &listServer{sessions: []map[string]any{}}
	server := httptest.NewServer(list)
	t.Cleanup(server.Close)
	c := newClient(t, kernels.Config{URL: server.URL, PerUser: 2, All: 8, IdleAfter: time.Hour})
	begin := func(name, state string) {
		t.Helper()
		list.state = state
		if _, err := c.Open(t.Context(), kernels.Notebook{User: "u", Session: "ses-1", Name: name}); err != nil {
			t.Fatalf("kernel %s: %v", name, err)
		}
	}
	want := func(what string, names ...string) {
		t.Helper()
		var got []string
		for _, s := range list.sessions {
			got = append(got, fmt.Sprint(s["id"])[len("id-0-"):])
		}
		if !slices.Equal(got, names) {
			t.Errorf("%s: got %q, want %q", what, got, names)
		}
	}
	begin("idle", "idle")
	begin("dead", "dead")
	begin("next", "dead")
	want("a third kernel of a user", "idle", "next")
	if n, err := c.Cull(t.Context(), time.Now()); n != 1 || err != nil {
		t.Errorf("culling: got %d and %v, want the dead kernel", n, err)
	}
	want("after culling", "idle")
}
