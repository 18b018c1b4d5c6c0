package gateway_test

import (
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// called is a session in a response.
type called struct {
	SessionID wire.SessionID `json:"sessionId"`
	Name      wire.SessionID `json:"name"`
	User      string         `json:"user"`
}

// sessions returns the sessions of a user.
func (h *testHub) sessions(user string) []session.Info {
	h.t.Helper()
	page, err := h.hub.List(h.t.Context(), store.Query{User: user})
	if err != nil {
		h.t.Fatal(err)
	}
	return page.Items
}

// A client that connects under a name gets that session of its user, with the name in every frame,
// in every dialect.
func TestNamesOfClientsOwn(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	v := as(h.userToken("ann"))
	var first wire.SessionID
	for _, protos := range [][]string{nil, {"everdesk.v2"}, {"everdesk.v2.batch"}} {
		v.protos = protos
		x := h.mustDial("/ws/test_session", v)
		if e, ok := x.read(); !ok || e.Session != "test_session" || e.Data.(wire.SessionState).Mode != wire.StateSnapshot {
			t.Fatalf("%v: first event %+v, want a state of test_session", protos, e)
		}
		x.writeText(`{"type":"EMIT","session_id":"test_session","data":{"messageId":"m-` + string(rune('0'+len(protos))) +
			`","actions":[{"type":"app.badge","appId":"a","count":1}]}}`)
		for {
			e, ok := x.read()
			if !ok || e.Session != "test_session" {
				t.Fatalf("%v: %+v, want an event of test_session", protos, e)
			}
			if _, is := e.Data.(wire.Emitted); is {
				break
			}
		}
		all := h.sessions("ann")
		if len(all) != 1 || all[0].Name != "test_session" || first != "" && all[0].ID != first {
			t.Fatalf("ann has %+v, want one session named test_session", all)
		}
		first = all[0].ID
		// A client that connects by the id gets the id, and other names are refused.
		y := h.mustDial("/ws/"+string(first), as(v.token))
		if e, ok := y.read(); !ok || e.Session != first {
			t.Errorf("by id: %+v, want session %s", e, first)
		}
		y.writeText(`{"type":"EMIT","session_id":"other","data":{"actions":[{"type":"app.badge","appId":"a","count":1}]}}`)
		if n := y.wantError(wire.CodeInvalidMessage); n.Field != "session_id" {
			t.Errorf("error %+v, want one about session_id", n)
		}
	}
	f := h.openEventStream("test_session", "")
	if e, _ := f.next(); e.Session != "test_session" {
		t.Errorf("stream of events: %+v, want session test_session", e)
	}
}

// Names belong to a user: other users neither reach the session nor learn that it exists.
func TestNamesArePerUser(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ann, bob := h.userToken("ann"), h.userToken("bob")
	next[wire.SessionState](h.mustDial("/ws/work", as(ann)))
	h.get("/api/sessions/work", bob).wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
	next[wire.SessionState](h.mustDial("/ws/work", as(bob)))
	a, b := h.sessions("ann"), h.sessions("bob")
	if len(a) != 1 || len(b) != 1 || a[0].ID == b[0].ID || a[0].Name != "work" || b[0].Name != "work" {
		t.Fatalf("ann has %+v and bob %+v, want one each", a, b)
	}
	// Viewers create nothing, and neither do event streams and GET requests.
	eve := h.userToken("eve", "viewer")
	h.wantRefused("/ws/work", as(eve), http.StatusNotFound, wire.CodeSessionNotFound)
	for _, path := range []string{"/api/sessions/play", "/api/sessions/play/events", "/api/sessions/play/rows"} {
		h.get(path, ann).wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
	}
	h.wantRefused("/ws/ses-none", as(ann), http.StatusNotFound, wire.CodeSessionNotFound)
	if got := len(h.sessions("ann")) + len(h.sessions("eve")); got != 1 {
		t.Errorf("there are %d sessions of ann and eve, want 1", got)
	}
}

func TestNamesOverREST(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ann := h.userToken("ann")
	var made, again, got called
	h.post("/api/sessions", ann, `{"sessionId":"sess_abc123","title":"Reviews"}`).wantStatus(http.StatusCreated).decode(&made)
	h.post("/api/sessions", ann, `{"sessionId":"sess_abc123","title":"Other"}`).wantStatus(http.StatusOK).decode(&again)
	h.get("/api/sessions/sess_abc123", ann).wantStatus(http.StatusOK).decode(&got)
	want := called{"sess_abc123", "sess_abc123", "ann"}
	if made != want || again != want || got != want {
		t.Errorf("made %+v, then %+v, then %+v, want %+v", made, again, got, want)
	}
	var ticket struct{ Ticket string }
	h.post("/api/ws-ticket", ann, `{"session":"sess_abc123"}`).wantStatus(http.StatusOK).decode(&ticket)
	x := h.mustDial("/ws/sess_abc123", dialOptions{protos: []string{"everdesk.v2"}})
	x.send(wire.Auth{Ticket: ticket.Ticket})
	next[wire.SessionState](x)
	var list struct{ Sessions []called }
	h.get("/api/sessions", ann).wantStatus(http.StatusOK).decode(&list)
	all := h.sessions("ann")
	if len(all) != 1 || len(list.Sessions) != 1 || list.Sessions[0] != (called{all[0].ID, "sess_abc123", "ann"}) {
		t.Fatalf("listed %+v, want the id and the name", list)
	}
	if got := next[wire.ConnectionStatus](h.dialDesktop("?sessionId=sess_abc123", as(ann))).SessionID; got != all[0].ID {
		t.Errorf("the desktop is in %q, want %s", got, all[0].ID)
	}
	for _, bad := range []string{"ses-mine", "a b", "a/b", "라네즈", string(make([]byte, 65))} {
		if r := h.post("/api/sessions", ann, `{"sessionId":"`+bad+`"}`); r.status != http.StatusBadRequest {
			t.Errorf("%q: %d %s, want 400", bad, r.status, r.body)
		}
	}
	// Deleting a session frees its name, and the next one has another id.
	h.rest(http.MethodDelete, "/api/sessions/sess_abc123", request{token: ann}).wantStatus(http.StatusNoContent)
	h.get("/api/sessions/sess_abc123", ann).wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
	next[wire.SessionState](h.mustDial("/ws/sess_abc123", as(ann)))
	if now := h.sessions("ann"); len(now) != 1 || now[0].ID == all[0].ID {
		t.Errorf("there are %+v, want one other than %s", now, all[0].ID)
	}
}

// A name whose document is lost leads to the session with that name in its record, and a name whose
// session is deleted to a new session.
func TestNamesAreRepaired(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ann := h.userToken("ann")
	next[wire.SessionState](h.mustDial("/ws/work", as(ann)))
	first := h.sessions("ann")[0].ID
	docs, err := h.store.Documents(t.Context(), "names", "", 10)
	if err != nil || len(docs.Items) != 1 || string(docs.Items[0].Data) != string(first) {
		t.Fatalf("documents %+v, %v, want one with %s", docs, err, first)
	}
	d := docs.Items[0]
	if err := h.store.Remove(t.Context(), "names", d.Name, d.Version); err != nil {
		t.Fatal(err)
	}
	next[wire.SessionState](h.mustDial("/ws/work", as(ann)))
	if all := h.sessions("ann"); len(all) != 1 || all[0].ID != first {
		t.Errorf("there are %+v, want %s", all, first)
	}
	if err := h.hub.Delete(t.Context(), first); err != nil { // not through the API, so the name stays
		t.Fatal(err)
	}
	next[wire.SessionState](h.mustDial("/ws/work", as(ann)))
	if all := h.sessions("ann"); len(all) != 1 || all[0].ID == first || all[0].Name != "work" {
		t.Errorf("there are %+v, want a new session", all)
	}
}

// Concurrent connections to two replicas get one session.
func TestNamesOfTwoReplicas(t *testing.T) {
	t.Parallel()
	a, b := twoHubs(t)
	names := []string{"one", "two", "three", "four"}
	var wg sync.WaitGroup
	for _, name := range names {
		for _, h := range []*testHub{a, b, a, b} {
			wg.Go(func() {
				x, answer := h.tryDial("/ws/"+name, as(h.userToken("ann")))
				if x == nil {
					t.Errorf("%s: got %d %s, want a connection", name, answer.status, answer.body)
					return
				}
				if e, err := x.receive(); err != nil || string(e.Session) != name {
					t.Errorf("%s: got %+v, error %v, want an event of this session", name, e, err)
				}
			})
		}
	}
	wg.Wait()
	var got []string
	for _, s := range a.sessions("ann") {
		got = append(got, string(s.Name))
	}
	slices.Sort(got)
	slices.Sort(names)
	if !slices.Equal(got, names) {
		t.Errorf("ann has sessions %v, want %v", got, names)
	}
}
