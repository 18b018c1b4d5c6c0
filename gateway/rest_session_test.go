package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
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
	h := newHall(t)
	ada := h.user("ada")
	made := h.post("/api/sessions", ada, `{"title":"Notes"}`).want(http.StatusCreated)
	var c card
	made.decode(&c)
	if got := made.header.Get("Location"); got != at(c.SessionID) {
		t.Errorf("Location %q", got)
	}
	if c.Title != "Notes" || c.User != "ada" || c.Access != "owner" || c.Directory != string(c.SessionID) {
		t.Errorf("made %s", made.body)
	}
	h.post("/api/sessions", ada, "").want(http.StatusCreated) // the body is optional

	patched := h.rest(http.MethodPatch, at(c.SessionID), request{token: ada, body: `{"title":"Plans"}`}).want(http.StatusOK)
	patched.decode(&c)
	if c.Title != "Plans" {
		t.Errorf("renamed: %s", patched.body)
	}
	h.get(at(c.SessionID), ada).want(http.StatusOK).decode(&c)
	if c.Title != "Plans" {
		t.Errorf("looked up: %+v", c)
	}
	h.rest(http.MethodPut, at(c.SessionID, "/files/a.txt"), request{token: ada, body: "x"}).want(http.StatusCreated)

	h.rest(http.MethodDelete, at(c.SessionID), request{token: ada}).want(http.StatusNoContent)
	for _, path := range []string{"", "/snapshot", "/events", "/files", "/files/a.txt"} {
		h.get(at(c.SessionID, path), ada).problem(http.StatusNotFound, wire.CodeSessionNotFound)
	}
	h.rest(http.MethodDelete, at(c.SessionID), request{token: ada}).problem(http.StatusNotFound, wire.CodeSessionNotFound)
	if all, err := h.fileStore.List(c.SessionID, ""); err != nil || len(all) != 0 {
		t.Errorf("files of the deleted session: %v, %v", all, err)
	}
}

func TestListOfSessions(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	ada, root := h.user("ada"), h.user("root", "admin")
	if got := h.get("/api/sessions", ada).want(http.StatusOK); string(got.body) != `{"sessions":[]}` {
		t.Errorf("empty list: %s", got.body)
	}
	want := map[wire.SessionID]bool{}
	for range 5 {
		want[h.session("ada")] = true
	}
	h.session("bob")
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
		h.get(path, ada).want(http.StatusOK).decode(&page)
		all = append(all, page.Sessions...)
		if next = page.Next; next == "" {
			break
		}
	}
	got := map[wire.SessionID]bool{}
	for i, c := range all {
		got[c.SessionID] = true
		if i > 0 && c.Metadata.LastActivity.After(all[i-1].Metadata.LastActivity) {
			t.Errorf("%s was used later than the one before it", c.SessionID)
		}
		if c.Directory != string(c.SessionID) || c.Metadata.CreatedAt.IsZero() || c.Metadata.Provider == "" || c.Metadata.Agents == nil {
			t.Errorf("not what desktops read: %+v", c)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || len(all) != 5 {
		t.Errorf("%d sessions: %s", len(all), diff)
	}
	var page list
	h.get("/api/sessions", root).want(http.StatusOK).decode(&page)
	if len(page.Sessions) != 0 {
		t.Errorf("an admin's own: %+v", page)
	}
	h.get("/api/sessions?user=ada", root).want(http.StatusOK).decode(&page)
	if len(page.Sessions) != 5 {
		t.Errorf("ada's: %+v", page)
	}
	h.get("/api/sessions?all=true", root).want(http.StatusOK).decode(&page)
	if len(page.Sessions) != 6 {
		t.Errorf("everybody's: %+v", page)
	}
	h.get("/api/sessions?user=bob", ada).problem(http.StatusForbidden, wire.CodeForbidden)
	h.get("/api/sessions?all=true", ada).problem(http.StatusForbidden, wire.CodeForbidden)
	for _, query := range []string{"limit=0", "limit=x", "limit=-1", "after=x", "after=.x", "after=%00"} {
		h.get("/api/sessions?"+query, ada).problem(http.StatusBadRequest, wire.CodeInvalidMessage)
	}
	h.get("/api/sessions?limit=100000", ada).want(http.StatusOK)
}

// The access rights of every route about a session.
func TestWhoMayDoWhat(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	tokens := map[string]string{
		"owner": h.user("ada"), "operator": h.user("bob"), "viewer": h.user("eve"), "stranger": h.user("mallory"),
		"admin": h.user("root", "admin"), "onlooker": h.user("olaf", "viewer"), "operating onlooker": h.user("otto", "viewer"),
	}
	id := h.session("ada")
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
		{http.MethodPost, "/actions", raised("mail"), acts},
		{http.MethodPut, "/files/f", "x", acts},
		{http.MethodPost, "/files/f", "x", acts},
		{http.MethodDelete, "/files/nope", "", acts},
		{http.MethodPatch, "", `{"title":"t"}`, owns},
		{http.MethodPut, "/shares/zoe", `{"access":"viewer"}`, owns},
		{http.MethodDelete, "/shares/zoe", "", owns},
	} {
		for who, token := range tokens {
			got := h.rest(r.method, at(id, r.path), request{token: token, body: r.body})
			switch {
			case slices.Contains(r.allowed, who):
				if got.status == http.StatusForbidden || got.status == http.StatusNotFound && r.path != "/files/nope" {
					t.Errorf("%s %s: %s is refused: %d %s", r.method, r.path, who, got.status, got.body)
				}
			case slices.Contains(looks, who): // they may know that it exists
				got.problem(http.StatusForbidden, wire.CodeForbidden)
			default:
				got.problem(http.StatusNotFound, wire.CodeSessionNotFound)
			}
		}
	}
	h.post("/api/sessions", tokens["onlooker"], "").problem(http.StatusForbidden, wire.CodeForbidden)

	var seen card
	h.get(at(id), tokens["owner"]).decode(&seen)
	if len(seen.Shares) != 3 {
		t.Errorf("the owner sees shares %+v", seen.Shares)
	}
	seen = card{}
	h.get(at(id), tokens["viewer"]).decode(&seen)
	if seen.Shares != nil || seen.Access != "viewer" {
		t.Errorf("a viewer sees %+v", seen)
	}
}

func TestShares(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	ada, bob := h.user("ada"), h.user("bob/desk é")
	id := h.session("ada")
	path := at(id, "/shares/bob%2Fdesk%20%C3%A9")
	h.get(at(id), bob).problem(http.StatusNotFound, wire.CodeSessionNotFound)
	h.rest(http.MethodPut, path, request{token: ada, body: `{"access":"operator"}`}).want(http.StatusOK)
	h.post(at(id, "/actions"), bob, raised("mail")).want(http.StatusOK)
	h.rest(http.MethodPut, path, request{token: ada, body: `{"access":"viewer"}`}).want(http.StatusOK)
	h.post(at(id, "/actions"), bob, raised("mail")).problem(http.StatusForbidden, wire.CodeForbidden)
	h.get(at(id), bob).want(http.StatusOK)
	for _, body := range []string{`{"access":"owner"}`, `{"access":""}`, `{}`, `{"access":7}`} {
		p := h.rest(http.MethodPut, path, request{token: ada, body: body}).problem(http.StatusBadRequest, wire.CodeInvalidMessage)
		if p.Field != "access" {
			t.Errorf("%s: field %q", body, p.Field)
		}
	}
	h.rest(http.MethodDelete, path, request{token: ada}).want(http.StatusNoContent)
	h.get(at(id), bob).problem(http.StatusNotFound, wire.CodeSessionNotFound)
}

// A credential for one session opens only that one.
func TestCredentialForOneSession(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	one, other := h.session("ada"), h.session("ada")
	var got struct {
		Ticket    string
		ExpiresIn int `json:"expires_in"`
	}
	h.post("/api/ws-ticket", h.user("ada"), fmt.Sprintf(`{"session":%q}`, one)).want(http.StatusOK).decode(&got)
	if got.ExpiresIn != 30 {
		t.Errorf("ticket %+v", got)
	}
	who, err := h.people.Ticket(t.Context(), got.Ticket)
	if err != nil || who.User != "ada" || who.Session != one {
		t.Fatalf("ticket stands for %+v, %v", who, err)
	}
	x := h.enter("/ws/"+string(one), visit{})
	h.post("/api/ws-ticket", h.user("ada"), fmt.Sprintf(`{"session":%q}`, one)).decode(&got)
	x.say(wire.Auth{Ticket: got.Ticket})
	next[wire.SessionState](x)
	x = h.enter("/ws/"+string(other), visit{})
	h.post("/api/ws-ticket", h.user("ada"), fmt.Sprintf(`{"session":%q}`, one)).decode(&got)
	x.say(wire.Auth{Ticket: got.Ticket})
	x.notice(wire.CodeSessionNotFound)

	h.post("/api/ws-ticket", h.user("bob"), fmt.Sprintf(`{"session":%q}`, one)).problem(http.StatusNotFound, wire.CodeSessionNotFound)
	h.post("/api/ws-ticket", h.user("bob"), `{"session":"no such"}`).problem(http.StatusBadRequest, wire.CodeInvalidMessage)
	h.post("/api/ws-ticket", h.user("bob"), "").want(http.StatusOK)
}

// A session whose data cannot be read is listed as quarantined and cannot be used.
func TestSessionThatIsSetAside(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	ada := h.user("ada")
	bad, good := h.session("ada"), h.session("ada")
	if err := h.store.Quarantine(t.Context(), bad, "a test"); err != nil {
		t.Fatal(err)
	}
	var c card
	h.get(at(bad), ada).want(http.StatusOK).decode(&c)
	if !c.SetAside {
		t.Errorf("%+v", c)
	}
	h.get(at(bad), h.user("bob")).problem(http.StatusNotFound, wire.CodeSessionNotFound)
	for _, path := range []string{"/snapshot", "/events", "/files"} {
		h.get(at(bad, path), ada).problem(http.StatusConflict, wire.CodeSessionInvalidState)
	}
	h.post(at(bad, "/messages"), ada, `{"content":"hi"}`).problem(http.StatusConflict, wire.CodeSessionInvalidState)
	h.rest(http.MethodDelete, at(bad), request{token: ada}).problem(http.StatusConflict, wire.CodeSessionInvalidState)
	h.get(at(good, "/snapshot"), ada).want(http.StatusOK)
}

// The JSON fields of a session must not change by accident.
func TestNamesOfASessionsFields(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	var c map[string]json.RawMessage
	h.get(at(h.session("ada")), h.user("ada")).want(http.StatusOK).decode(&c)
	for _, name := range []string{"sessionId", "directory", "metadata", "user", "access", "working"} {
		if c[name] == nil {
			t.Errorf("no %s in %v", name, c)
		}
	}
}

// Files are deleted before the session: after a crash there may be a session without files, never
// files that a later session with the same id would see.
func TestDeleteBeginsWithTheFiles(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	ada := h.user("ada")
	id := h.session("ada")
	h.rest(http.MethodPut, at(id, "/files/secret"), request{token: ada, body: "x"}).want(http.StatusCreated)
	if err := h.fileStore.Close(); err != nil { // as if the disk had failed
		t.Fatal(err)
	}
	h.rest(http.MethodDelete, at(id), request{token: ada}).problem(http.StatusInternalServerError, wire.CodeExecutionFailed)
	h.get(at(id), ada).want(http.StatusOK)
}

// Files of an earlier session with the same id are never visible: a client that names it gets
// another session.
func TestNewSessionHasNoFiles(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	const id = wire.SessionID("ses-of-old")
	if _, err := h.fileStore.Save(t.Context(), id, "secret", strings.NewReader("ada's"), 5); err != nil {
		t.Fatal(err)
	}
	bob := h.user("bob")
	next[wire.ConnectionStatus](h.desktop("?sessionId="+string(id), visit{token: bob}))
	if got := h.get(at(id, "/files/secret"), bob); got.status != http.StatusNotFound {
		t.Errorf("%d %s", got.status, got.body)
	}
}
