package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// card is the part of a session that tests read.
type card struct {
	SessionID wire.SessionID
	Directory string
	Metadata  struct {
		CreatedAt, LastActivity time.Time
		Provider                string
		Agents                  map[string]any
	}
	User, Title, Access string
	Shares              []struct{ User, Access string }
	SetAside            bool
	Top                 wire.Position
}

func TestLifeOfASession(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada := h.userToken("ada")
	made := h.post("/api/sessions", ada, `{"title":"Notes"}`).wantStatus(http.StatusCreated)
	var c card
	made.decode(&c)
	if got := made.header.Get("Location"); got != sessionPath(c.SessionID) {
		t.Errorf("Location: got %q, want %q", got, sessionPath(c.SessionID))
	}
	if c.Title != "Notes" || c.User != "ada" || c.Access != "owner" || c.Directory != string(c.SessionID) {
		t.Errorf("session: got %s, want Notes, owned by ada, with its directory", made.body)
	}
	h.post("/api/sessions", ada, "").wantStatus(http.StatusCreated) // the body is optional

	patched := h.rest(http.MethodPatch, sessionPath(c.SessionID), request{token: ada, body: `{"title":"Plans"}`}).wantStatus(http.StatusOK)
	patched.decode(&c)
	if c.Title != "Plans" {
		t.Errorf("renamed session: got %s, want Plans", patched.body)
	}
	h.get(sessionPath(c.SessionID), ada).wantStatus(http.StatusOK).decode(&c)
	if c.Title != "Plans" {
		t.Errorf("session: got %+v, want Plans", c)
	}
	h.rest(http.MethodPut, sessionPath(c.SessionID, "/files/a.txt"), request{token: ada, body: "x"}).wantStatus(http.StatusCreated)

	h.rest(http.MethodDelete, sessionPath(c.SessionID), request{token: ada}).wantStatus(http.StatusNoContent)
	for _, path := range []string{"", "/snapshot", "/events", "/files", "/files/a.txt"} {
		h.get(sessionPath(c.SessionID, path), ada).wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
	}
	h.rest(http.MethodDelete, sessionPath(c.SessionID), request{token: ada}).wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
	if all, err := h.fileStore.List(t.Context(), c.SessionID, ""); err != nil || len(all) != 0 {
		t.Errorf("files of the deleted session: got %v, error %v, want none", all, err)
	}
}

func TestListOfSessions(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada, root := h.userToken("ada"), h.userToken("root", "admin")
	if got := h.get("/api/sessions", ada).wantStatus(http.StatusOK); string(got.body) != `{"sessions":[]}` {
		t.Errorf("sessions: got %s, want an empty list", got.body)
	}
	want := map[wire.SessionID]bool{}
	for range 5 {
		want[h.newSession("ada")] = true
	}
	h.newSession("bob")
	type list struct {
		Sessions []card
		Next     string
	}
	var all []card
	for next := ""; ; {
		var page list
		path := "/api/sessions?limit=2"
		if next != "" {
			path += "&after=" + next
		}
		h.get(path, ada).wantStatus(http.StatusOK).decode(&page)
		all = append(all, page.Sessions...)
		if next = page.Next; next == "" {
			break
		}
	}
	got := map[wire.SessionID]bool{}
	for i, c := range all {
		got[c.SessionID] = true
		// Pages are cut by the second of the last change.
		if i > 0 && c.Metadata.LastActivity.Truncate(time.Second).After(all[i-1].Metadata.LastActivity.Truncate(time.Second)) {
			t.Errorf("sessions: got %s after one used earlier, want the latest first", c.SessionID)
		}
		if c.Directory != string(c.SessionID) || c.Metadata.CreatedAt.IsZero() || c.Metadata.Provider == "" || c.Metadata.Agents == nil {
			t.Errorf("session: got %+v, want its directory, times, provider and agents", c)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || len(all) != 5 {
		t.Errorf("sessions: got %d, want 5 (-want +got):\n%s", len(all), diff)
	}
	var page list
	h.get("/api/sessions", root).wantStatus(http.StatusOK).decode(&page)
	if len(page.Sessions) != 0 {
		t.Errorf("sessions of an admin: got %+v, want none", page)
	}
	h.get("/api/sessions?user=ada", root).wantStatus(http.StatusOK).decode(&page)
	if len(page.Sessions) != 5 {
		t.Errorf("sessions of ada: got %+v, want 5", page)
	}
	h.get("/api/sessions?all=true", root).wantStatus(http.StatusOK).decode(&page)
	if len(page.Sessions) != 6 {
		t.Errorf("sessions of all users: got %+v, want 6", page)
	}
	h.get("/api/sessions?user=bob", ada).wantProblem(http.StatusForbidden, wire.CodeForbidden)
	h.get("/api/sessions?all=true", ada).wantProblem(http.StatusForbidden, wire.CodeForbidden)
	for _, query := range []string{"limit=0", "limit=x", "limit=-1", "after=x", "after=.x", "after=%00"} {
		h.get("/api/sessions?"+query, ada).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	}
	h.get("/api/sessions?limit=100000", ada).wantStatus(http.StatusOK)
}

const emptyNotebook = `{"nbformat":4,"nbformat_minor":5,"metadata":{},"cells":[]}`

// The access rights of every route about a session.
func TestAccessOfAllRoutes(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	tokens := map[string]string{
		"owner": h.userToken("ada"), "operator": h.userToken("bob"), "viewer": h.userToken("eve"), "stranger": h.userToken("mallory"),
		"admin": h.userToken("root", "admin"), "onlooker": h.userToken("olaf", "viewer"), "operating onlooker": h.userToken("otto", "viewer"),
	}
	id := h.newSession("ada")
	for user, share := range map[string]session.Share{"bob": session.ShareOperator, "eve": session.ShareViewer, "otto": session.ShareOperator} {
		if err := h.hub.Share(t.Context(), id, user, share); err != nil {
			t.Fatal(err)
		}
	}
	looks := []string{"owner", "operator", "viewer", "admin", "operating onlooker"}
	acts := []string{"owner", "operator", "admin"}
	owns := []string{"owner", "admin"}
	for _, r := range []struct {
		method, path, body string
		allowed            []string
	}{
		{http.MethodGet, "", "", looks},
		{http.MethodGet, "/snapshot", "", looks},
		{http.MethodGet, "/events", "", looks},
		{http.MethodGet, "/files", "", looks},
		{http.MethodGet, "/files/nope", "", looks},
		{http.MethodPost, "/messages", `{"content":"hi"}`, acts},
		{http.MethodPost, "/actions", badgeRequest("mail"), acts},
		{http.MethodPut, "/files/f", "x", acts},
		{http.MethodPost, "/files/f", "x", acts},
		{http.MethodDelete, "/files/nope", "", acts},
		{http.MethodPut, "/notebooks/n", emptyNotebook, acts},
		{http.MethodPut, "/notebooks/n?run=true", emptyNotebook, acts},
		{http.MethodGet, "/notebooks/n", "", looks},
		{http.MethodPatch, "", `{"title":"t"}`, owns},
		{http.MethodPut, "/shares/zoe", `{"access":"viewer"}`, owns},
		{http.MethodDelete, "/shares/zoe", "", owns},
	} {
		for who, token := range tokens {
			got := h.rest(r.method, sessionPath(id, r.path), request{token: token, body: r.body})
			switch {
			case slices.Contains(r.allowed, who):
				if got.status == http.StatusForbidden || got.status == http.StatusNotFound && r.path != "/files/nope" {
					t.Errorf("%s %s by %s: got %d %s, want it allowed", r.method, r.path, who, got.status, got.body)
				}
			case slices.Contains(looks, who): // they may know that it exists
				got.wantProblem(http.StatusForbidden, wire.CodeForbidden)
			default:
				got.wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
			}
		}
	}
	h.post("/api/sessions", tokens["onlooker"], "").wantProblem(http.StatusForbidden, wire.CodeForbidden)

	var seen card
	h.get(sessionPath(id), tokens["owner"]).decode(&seen)
	if len(seen.Shares) != 3 {
		t.Errorf("shares for the owner: got %+v, want three", seen.Shares)
	}
	seen = card{}
	h.get(sessionPath(id), tokens["viewer"]).decode(&seen)
	if seen.Shares != nil || seen.Access != "viewer" {
		t.Errorf("session for a viewer: got %+v, want the access viewer and no shares", seen)
	}
}

func TestShares(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada, bob := h.userToken("ada"), h.userToken("bob/desk é")
	id := h.newSession("ada")
	path := sessionPath(id, "/shares/bob%2Fdesk%20%C3%A9")
	h.get(sessionPath(id), bob).wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
	h.rest(http.MethodPut, path, request{token: ada, body: `{"access":"operator"}`}).wantStatus(http.StatusOK)
	h.post(sessionPath(id, "/actions"), bob, badgeRequest("mail")).wantStatus(http.StatusOK)
	h.rest(http.MethodPut, path, request{token: ada, body: `{"access":"viewer"}`}).wantStatus(http.StatusOK)
	h.post(sessionPath(id, "/actions"), bob, badgeRequest("mail")).wantProblem(http.StatusForbidden, wire.CodeForbidden)
	h.get(sessionPath(id), bob).wantStatus(http.StatusOK)
	for _, body := range []string{`{"access":"owner"}`, `{"access":""}`, `{}`, `{"access":7}`} {
		p := h.rest(http.MethodPut, path, request{token: ada, body: body}).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
		if p.Field != "access" {
			t.Errorf("%s: got field %q, want access", body, p.Field)
		}
	}
	h.rest(http.MethodDelete, path, request{token: ada}).wantStatus(http.StatusNoContent)
	h.get(sessionPath(id), bob).wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
}

// A search finds words of titles and conversations, looks at 20 sessions per request, and only at those of the caller.
func TestSessionsAreSearched(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada, bob := h.userToken("ada"), h.userToken("bob")
	titled := h.newSession("ada")
	h.rest(http.MethodPatch, sessionPath(titled), request{token: ada, body: `{"title":"Trip to Busan"}`}).wantStatus(http.StatusOK)
	for range 24 {
		h.newSession("ada")
	}
	search := func(token, text string) (found []wire.SessionID, requests int) {
		t.Helper()
		for after := ""; ; {
			var list struct {
				Sessions []card
				Next     string
			}
			h.get("/api/sessions?limit=100&q="+url.QueryEscape(text)+"&after="+url.QueryEscape(after), token).wantStatus(http.StatusOK).decode(&list)
			requests++
			for _, one := range list.Sessions {
				found = append(found, one.SessionID)
			}
			if after = list.Next; after == "" {
				return found, requests
			}
		}
	}
	if found, n := search(ada, "busan TRIP"); !slices.Equal(found, []wire.SessionID{titled}) || n != 2 {
		t.Errorf("the search finds %v in %d requests, want %s in 2", found, n, titled)
	}
	if found, _ := search(ada, "busan tomorrow"); len(found) != 0 {
		t.Errorf("a word that is nowhere finds %v, want nothing", found)
	}
	if found, _ := search(bob, "busan"); len(found) != 0 {
		t.Errorf("another user finds %v, want nothing", found)
	}
	if p := h.get("/api/sessions?q="+strings.Repeat("x", 201), ada).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage); p.Field != "q" {
		t.Errorf("a long text: got field %q, want q", p.Field)
	}
	h.get("/api/sessions?q=busan&user=ada", h.userToken("root", "admin")).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
}

// The owner gives a session to a user with whom it is shared, and stays an operator. It counts for the new owner.
func TestOwnerGivesASession(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, func(p *hubOptions) { p.members, p.gateway.UserSessions = true, 2 })
	ada, bob := h.userToken("ada"), h.userToken("bob")
	id := h.newSession("ada")
	owner := func(token, body string) reply {
		return h.rest(http.MethodPut, sessionPath(id, "/owner"), request{token: token, body: body})
	}
	for _, body := range []string{`{"user":"bob"}`, `{"user":""}`, `{}`, `{"user":7}`, `{"user":"a\u0000"}`} {
		if p := owner(ada, body).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage); p.Field != "user" {
			t.Errorf("%s: got field %q, want user", body, p.Field)
		}
	}
	owner(bob, `{"user":"bob"}`).wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
	h.rest(http.MethodPut, sessionPath(id, "/shares/bob"), request{token: ada, body: `{"access":"operator"}`}).wantStatus(http.StatusOK)
	owner(bob, `{"user":"bob"}`).wantProblem(http.StatusForbidden, wire.CodeForbidden)
	var shared struct {
		Shares []struct {
			User     string
			Newcomer bool
		}
	}
	h.get(sessionPath(id), ada).wantStatus(http.StatusOK).decode(&shared)
	if got, want := fmt.Sprint(shared.Shares), "[{bob true}]"; got != want {
		t.Errorf("before bob has a session the shares are %s, want %s", got, want)
	}

	// The limit is that of the new owner.
	other := h.newSession("bob")
	h.newSession("bob")
	shared.Shares = nil
	h.get(sessionPath(id), ada).wantStatus(http.StatusOK).decode(&shared)
	if got, want := fmt.Sprint(shared.Shares), "[{bob false}]"; got != want {
		t.Errorf("when bob has sessions the shares are %s, want %s", got, want)
	}
	owner(ada, `{"user":"bob"}`).wantProblem(http.StatusConflict, wire.CodeSessionInvalidState)
	h.rest(http.MethodDelete, sessionPath(other), request{token: bob}).wantStatus(http.StatusNoContent)

	var program mcpToken
	h.post(sessionPath(id, "/mcp-tokens"), ada, `{"name":"Editor"}`).wantStatus(http.StatusCreated).decode(&program)
	var got struct{ User, Access string }
	owner(ada, `{"user":"bob"}`).wantStatus(http.StatusOK).decode(&got)
	if got.User != "bob" || got.Access != "operator" {
		t.Errorf("the owner before gets %+v, want the user bob and the access operator", got)
	}
	if t2, err := h.auth.MCPTokens.Authenticate(t.Context(), program.Token); err == nil {
		t.Errorf("the program of the owner before has the token %+v, want it revoked", t2)
	}
	h.get(sessionPath(id), bob).wantStatus(http.StatusOK).decode(&got)
	if got.Access != "owner" {
		t.Errorf("the new owner has the access %q, want owner", got.Access)
	}
	h.rest(http.MethodPatch, sessionPath(id), request{token: ada, body: `{"title":"mine"}`}).wantProblem(http.StatusForbidden, wire.CodeForbidden)
	h.post(sessionPath(id, "/actions"), ada, badgeRequest("mail")).wantStatus(http.StatusOK)
	owner(ada, `{"user":"ada"}`).wantProblem(http.StatusForbidden, wire.CodeForbidden)
	h.post("/api/sessions", bob, `{}`).wantProblem(http.StatusConflict, wire.CodeSessionInvalidState) // it counts for bob
	h.newSession("ada")
	h.newSession("ada")
	var results []string
	for _, r := range slices.Backward(h.auditRecords()) {
		results = append(results, fmt.Sprint(r.Action, " ", r.Result))
	}
	results = slices.DeleteFunc(results, func(r string) bool { return !strings.HasPrefix(r, "session.give ") })
	want := []string{"session.give begun", "session.give failed", "session.give begun", "session.give done"}
	if !slices.Equal(results, want) {
		t.Errorf("the audit log has %q, want %q", results, want)
	}
}

// A credential for one session opens only that one.
func TestCredentialForOneSession(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	one, other := h.newSession("ada"), h.newSession("ada")
	var got struct {
		Ticket    string
		ExpiresIn int `json:"expires_in"`
	}
	h.post("/api/ws-ticket", h.userToken("ada"), fmt.Sprintf(`{"session":%q}`, one)).wantStatus(http.StatusOK).decode(&got)
	if got.ExpiresIn != 30 {
		t.Errorf("ticket: got %+v, want it for 30 s", got)
	}
	who, err := h.auth.Ticket(t.Context(), got.Ticket)
	if err != nil || who.User != "ada" || who.Session != one {
		t.Fatalf("identity of the ticket: got %+v, error %v, want ada in %s", who, err, one)
	}
	x := h.mustDial("/ws/"+string(one), dialOptions{})
	h.post("/api/ws-ticket", h.userToken("ada"), fmt.Sprintf(`{"session":%q}`, one)).decode(&got)
	x.send(wire.Auth{Ticket: got.Ticket})
	next[wire.SessionState](x)
	x = h.mustDial("/ws/"+string(other), dialOptions{})
	h.post("/api/ws-ticket", h.userToken("ada"), fmt.Sprintf(`{"session":%q}`, one)).decode(&got)
	x.send(wire.Auth{Ticket: got.Ticket})
	x.wantError(wire.CodeSessionNotFound)

	h.post("/api/ws-ticket", h.userToken("bob"), fmt.Sprintf(`{"session":%q}`, one)).wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
	h.post("/api/ws-ticket", h.userToken("bob"), `{"session":"no such"}`).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	h.post("/api/ws-ticket", h.userToken("bob"), "").wantStatus(http.StatusOK)
}

// A session whose data cannot be read is listed as quarantined and cannot be used.
func TestQuarantinedSession(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada := h.userToken("ada")
	bad, good := h.newSession("ada"), h.newSession("ada")
	if err := h.store.Quarantine(t.Context(), bad, "a test"); err != nil {
		t.Fatal(err)
	}
	var c card
	h.get(sessionPath(bad), ada).wantStatus(http.StatusOK).decode(&c)
	if !c.SetAside {
		t.Errorf("got %+v, want a session that is set aside", c)
	}
	h.get(sessionPath(bad), h.userToken("bob")).wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
	for _, path := range []string{"/snapshot", "/events", "/files"} {
		h.get(sessionPath(bad, path), ada).wantProblem(http.StatusConflict, wire.CodeSessionInvalidState)
	}
	h.post(sessionPath(bad, "/messages"), ada, `{"content":"hi"}`).wantProblem(http.StatusConflict, wire.CodeSessionInvalidState)
	h.rest(http.MethodDelete, sessionPath(bad), request{token: ada}).wantProblem(http.StatusConflict, wire.CodeSessionInvalidState)
	h.get(sessionPath(good, "/snapshot"), ada).wantStatus(http.StatusOK)
}

// The JSON fields of a session must not change by accident.
func TestNamesOfASessionsFields(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	var c map[string]json.RawMessage
	h.get(sessionPath(h.newSession("ada")), h.userToken("ada")).wantStatus(http.StatusOK).decode(&c)
	for _, name := range []string{"sessionId", "directory", "metadata", "user", "access", "working"} {
		if c[name] == nil {
			t.Errorf("session: got %v, want the field %s", c, name)
		}
	}
}

// Files are deleted before the session: after a crash there may be a session without files, never
// files that a later session with the same id would see.
func TestDeleteBeginsWithTheFiles(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada := h.userToken("ada")
	id := h.newSession("ada")
	h.rest(http.MethodPut, sessionPath(id, "/files/secret"), request{token: ada, body: "x"}).wantStatus(http.StatusCreated)
	if err := h.fileStore.Close(); err != nil { // as if the disk had failed
		t.Fatal(err)
	}
	h.rest(http.MethodDelete, sessionPath(id), request{token: ada}).wantProblem(http.StatusInternalServerError, wire.CodeExecutionFailed)
	h.get(sessionPath(id), ada).wantStatus(http.StatusOK)
}

// Files of an earlier session with the same id are never visible: a client that names it gets
// another session.
func TestNewSessionHasNoFiles(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	const id = wire.SessionID("ses-of-old")
	if _, err := h.fileStore.Save(t.Context(), id, "secret", strings.NewReader("ada's"), 5); err != nil {
		t.Fatal(err)
	}
	bob := h.userToken("bob")
	next[wire.ConnectionStatus](h.dialDesktop("?sessionId="+string(id), dialOptions{token: bob}))
	if got := h.get(sessionPath(id, "/files/secret"), bob); got.status != http.StatusNotFound {
		t.Errorf("file of a deleted session: got %d %s, want %d", got.status, got.body, http.StatusNotFound)
	}
}
