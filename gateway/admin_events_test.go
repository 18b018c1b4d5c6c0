package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/wire"
)

// secretText is content that only admin:content may see.
const secretText = "quince-rowan-medlar"

// writeSecrets puts secretText into every kind of content of a session.
func (h *testHub) writeSecrets(id wire.SessionID, n int) {
	h.t.Helper()
	ann := h.userToken("ann")
	h.rest(http.MethodPatch, sessionPath(id), request{token: ann, body: `{"title":"` + secretText + `"}`}).wantStatus(http.StatusOK)
	h.post(sessionPath(id, "/actions"), ann, fmt.Sprintf(
		`{"actions":[{"type":"window.create","windowId":"w%d","title":%q,"bounds":{"x":0,"y":0,"w":100,"h":100},"content":{"renderer":"text","data":%q}}]}`,
		n, secretText, secretText)).wantStatus(http.StatusOK)
	h.post(sessionPath(id, "/messages"), ann, `{"content":"`+secretText+`"}`)
}

// Content of users and agents is redacted without admin:content, on every replica and in every
// format.
func TestAdminSeesNoContent(t *testing.T) {
	t.Parallel()
	a, b := twoHubs(t)
	id := a.newSession("ann")
	a.mustDial("/ws/"+string(id), as(a.userToken("ann"))).wantAlive() // so that this replica owns it
	a.writeSecrets(id, 0)
	blind, seeing := a.userToken("eve", "admin:act"), a.userToken("eve", "admin:read", "admin:content")
	const session = "/api/admin/sessions"
	for _, h := range []*testHub{a, b} {
		h.waitForBody(session, seeing, secretText)
		h.waitForBody(session+"/"+string(id), seeing, `"known":true`)
		for _, path := range []string{session, session + "/" + string(id), session + "/" + string(id) + "/events", session + "?text=quince"} {
			if got := h.get(path, seeing).wantStatus(http.StatusOK); !contains(got.body, secretText) {
				t.Errorf("%s with admin:content: got %s, want the content", path, got.body)
			}
			got := h.get(path, blind).wantStatus(http.StatusOK)
			for _, word := range []string{"quince", "rowan", "medlar"} {
				if contains(got.body, word) {
					t.Errorf("%s without admin:content: got %s, want no content", path, got.body)
				}
			}
		}
		// Filters must not reveal it either.
		var page struct{ Total int }
		h.get(session+"?text=quince", blind).decode(&page)
		if page.Total != 0 {
			t.Errorf("sessions found by their title without admin:content: got %d, want 0", page.Total)
		}
	}
}

// A tail has new events, redacted unless content is granted, through any replica.
func TestAdminTail(t *testing.T) {
	t.Parallel()
	a, b := twoHubs(t)
	id := a.newSession("ann")
	a.mustDial("/ws/"+string(id), as(a.userToken("ann"))).wantAlive()
	path := "sessions/" + string(id) + "/tail"
	blind := b.openAdminStream(path, b.userToken("eve", "admin:read"))
	seeing := b.openAdminStream(path, b.userToken("eve", "admin:read", "admin:content"))
	typed := b.openAdminStream(path+"?type=ACTIONS", b.userToken("eve", "admin:read"))
	tabs := a.hub.Load().Tabs + b.hub.Load().Tabs
	a.writeSecrets(id, 0)
	whole := seeing.until("event", secretText)
	if pos, err := wire.ParsePosition(whole.id); err != nil {
		t.Errorf("id %q: %v", whole.id, err)
	} else if _, err := (wire.Native{}).DecodeEvent([]byte(whole.data)); err != nil {
		t.Errorf("at %v: %s: %v", pos, whole.data, err)
	}
	for {
		e, ok := blind.next()
		if !ok {
			t.Fatal("got the end of the stream, want the next event")
		}
		if strings.Contains(e.data, "quince") {
			t.Errorf("event: got %s, want it without the secret", e.data)
		}
		if !json.Valid([]byte(e.data)) {
			t.Errorf("event: got %s, want JSON", e.data)
		}
		if e.id == whole.id {
			break
		}
	}
	if e, ok := typed.next(); !ok || !strings.Contains(e.data, `"type":"ACTIONS"`) {
		t.Errorf("first event of a type: got %+v, want ACTIONS", e)
	}
	if tabs != 1 {
		t.Errorf("%d tabs, want one", tabs)
	}
	// It continues after a position.
	again := a.openAdminStream(path+"?after="+whole.id, a.userToken("eve", "admin:read", "admin:content"))
	a.writeSecrets(id, 1)
	if e := again.until("event", secretText); e.id == whole.id {
		t.Errorf("event after %s: got %+v, want a later one", whole.id, e)
	}
	// An unknown position is reported, followed by all stored events.
	lost := a.openAdminStream(path+"?after=1-1", a.userToken("eve", "admin:read"))
	lost.until("trimmed", `"from":"`)
	// It ends with the session.
	a.adminRequest(http.MethodDelete, "sessions/"+string(id)+"?reason=gone", "", "").wantStatus(http.StatusOK)
	again.wantEnd(wire.CodeSessionNotFound)
}

func TestAdminEvents(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id := h.newSession("ann")
	for n := range 30 {
		h.writeSecrets(id, n)
	}
	type page struct {
		Events    []struct{ Type string }
		Next, Top string
		Trimmed   bool
	}
	read := func(query string) (p page) {
		t.Helper()
		h.adminRequest(http.MethodGet, "sessions/"+string(id)+"/events?"+query, "", "").wantStatus(http.StatusOK).decode(&p)
		return p
	}
	all := read("")
	if all.Next != all.Top || len(all.Events) < 60 || all.Trimmed {
		t.Fatalf("events: got %d up to %s of %s, trimmed %v, want at least 60 up to the top, not trimmed", len(all.Events), all.Next, all.Top, all.Trimmed)
	}
	kind := all.Events[len(all.Events)-1].Type
	count, wanted := 0, 0
	for after := ""; after != all.Top; {
		p := read("limit=7&type=" + kind + "&after=" + after)
		if len(p.Events) > 7 || p.Next == after {
			t.Fatalf("got %+v, want at most 7 events and a new position", p)
		}
		for _, e := range p.Events {
			if e.Type != kind {
				t.Errorf("type of an event: got %s, want %s", e.Type, kind)
			}
		}
		count, after = count+len(p.Events), p.Next
	}
	for _, e := range all.Events {
		if e.Type == kind {
			wanted++
		}
	}
	if count != wanted || wanted == 0 {
		t.Errorf("%d of type %s, want %d", count, kind, wanted)
	}
	if p := read("after=1-1"); !p.Trimmed {
		t.Errorf("events after a position that is not there: got %+v, want them trimmed", p)
	}
	if p := read("agent=unknown"); len(p.Events) != 0 || p.Next != p.Top {
		t.Errorf("events of an unknown agent: got %+v, want none up to the top", p)
	}
	if p := read("monitor=monitor-7"); len(p.Events) != 0 {
		t.Errorf("events of an unknown monitor: got %+v, want none", p)
	}
}

// Every query parameter is validated, and the error names it.
func TestAdminBadQueries(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, withFakeAdminView)
	id := string(h.newSession("ann"))
	long := strings.Repeat("x", 201)
	for path, field := range map[string]string{
		"sessions?limit=0": "limit", "sessions?limit=-1": "limit", "sessions?limit=x": "limit",
		"sessions?user=" + long: "user", "sessions?user=a%00b": "user", "sessions?text=" + long: "text", "sessions?text=%ff": "text",
		"sessions?status=asleep": "status", "sessions?owner=a%20b": "owner", "sessions?stuck=1": "stuck", "sessions?questions=yes": "questions",
		"sessions?errors=x": "errors", "sessions?tabs=3": "tabs", "sessions?quarantined=perhaps": "quarantined",
		"sessions?quarantined=true&status=idle": "quarantined", "sessions?sort=title": "sort", "sessions?desc=down": "desc",
		"sessions?after=nowhere": "after", "sessions?after=" + strings.Repeat("y", 1001): "after",
		"live?rows=some": "rows", "live?session=a%20b": "session",
		"sessions/" + id + "/events?after=x": "after", "sessions/" + id + "/events?type=NOTHING": "type", "sessions/" + id + "/events?type=PING": "type",
		"sessions/" + id + "/events?agent=%00": "agent", "sessions/" + id + "/events?monitor=a%20b": "monitor", "sessions/" + id + "/events?limit=0": "limit",
		"sessions/" + id + "/tail?after=x": "after", "sessions/" + id + "/tail?type=x": "type", "sessions/" + id + "/tail?agent=%00": "agent",
		"sessions/" + id + "/tail?monitor=%20": "monitor",
	} {
		if p := h.adminRequest(http.MethodGet, path, "", "").wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage); p.Field != field {
			t.Errorf("%s: field %q, want %q", path, p.Field, field)
		}
	}
	for _, path := range []string{
		"sessions/unknown/events", "sessions/unknown/tail", "sessions/a%20b/events", "sessions/a%20b/tail", "live?session=unknown", "sessions/a%20b",
	} {
		h.adminRequest(http.MethodGet, path, "", "").wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
	}
	bad := request{token: h.userToken("root", "admin"), header: header("Last-Event-ID", "x")}
	h.rest(http.MethodGet, "/api/admin/sessions/"+id+"/tail", bad).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
}

// The query parameters reach the admin view.
func TestAdminQuery(t *testing.T) {
	t.Parallel()
	quiet := &fakeAdminView{}
	h := newTestHub(t, func(p *hubOptions) { p.adminView = quiet })
	ask := func(query string, roles ...string) string {
		t.Helper()
		h.get("/api/admin/sessions?"+query, h.userToken("eve", roles...)).wantStatus(http.StatusOK)
		return fmt.Sprintf("%+v", quiet.query)
	}
	for query, want := range map[string]string{
		"": "{User: Status: Owner: Text: Titles:false Stuck:false Questions:false Errors:false Untabbed:false Sort: Descending:true Limit:100 After:}",
		"user=ann&owner=one&text=x&stuck=true&questions=true&errors=true&tabs=0&sort=cost&limit=5000&after=abc": "{User:ann Status: Owner:one Text:x Titles:false " +
			"Stuck:true Questions:true Errors:true Untabbed:true Sort:cost Descending:false Limit:1000 After:abc}",
		"quarantined=true&desc=true": "{User: Status:quarantined Owner: Text: Titles:false Stuck:false Questions:false Errors:false Untabbed:false Sort: Descending:true Limit:100 After:}",
	} {
		if got := ask(query, "admin:read"); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	if got := ask("text=x", "admin:read", "admin:content"); !strings.Contains(got, "Titles:true") {
		t.Errorf("search by text with admin:content: got %s, want it in titles", got)
	}
}
