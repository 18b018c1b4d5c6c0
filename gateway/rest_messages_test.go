package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/wire"
)

func TestMessageWithoutAnAgent(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada := h.userToken("ada")
	id := h.newSession("ada")
	p := h.post(sessionPath(id, "/messages"), ada, `{"content":"hi","messageId":"m-1"}`).wantProblem(http.StatusServiceUnavailable, wire.CodeProviderUnavailable)
	if p.MessageID != "m-1" {
		t.Errorf("problem: got %+v, want one for m-1", p)
	}
	// The user's message is stored, once.
	for range 3 {
		h.rest(http.MethodPost, sessionPath(id, "/messages"), request{
			token: ada, body: `{"content":"hi"}`, header: header("Idempotency-Key", "m-1"),
		}).wantProblem(http.StatusServiceUnavailable, wire.CodeProviderUnavailable)
	}
	h.post(sessionPath(id, "/messages"), ada, `{"content":"other","messageId":"m-1"}`).wantProblem(http.StatusConflict, wire.CodeSessionInvalidState)
	var state struct {
		Rows []struct{ Text string } `json:"recent_messages"`
	}
	h.get(sessionPath(id, "/snapshot"), ada).wantStatus(http.StatusOK).decode(&state)
	if len(state.Rows) != 1 || state.Rows[0].Text != "hi" {
		t.Errorf("rows: got %+v, want one with the text hi", state.Rows)
	}
	// Without an id each message is a new one.
	for range 2 {
		h.post(sessionPath(id, "/messages"), ada, `{"content":"again"}`).wantProblem(http.StatusServiceUnavailable, wire.CodeProviderUnavailable)
	}
	h.get(sessionPath(id, "/snapshot"), ada).wantStatus(http.StatusOK).decode(&state)
	if len(state.Rows) != 3 {
		t.Errorf("rows: got %+v, want three", state.Rows)
	}
}

func TestIdempotencyKeys(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada := h.userToken("ada")
	id := h.newSession("ada")
	send := func(key, body string) reply {
		return h.rest(http.MethodPost, sessionPath(id, "/actions"), request{token: ada, body: body, header: header("Idempotency-Key", key)})
	}
	for _, key := range []string{strings.Repeat("k", 65), "a\tb"} {
		if p := send(key, badgeRequest("mail")).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage); p.Field != "Idempotency-Key" {
			t.Errorf("key %q: got %+v, want the field Idempotency-Key", key, p)
		}
	}
	send("k-1", `{"actions":[{"type":"app.badge","appId":"a","count":1}],"messageId":"k-2"}`).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	var one, again struct {
		MessageID wire.MessageID `json:"messageId"`
		At        wire.Position  `json:"message_id"`
	}
	send("k-1", badgeRequest("mail")).wantStatus(http.StatusOK).decode(&one)
	send("k-1", badgeRequest("mail")).wantStatus(http.StatusOK).decode(&again)
	if one.MessageID != "k-1" || one.At.IsZero() || again.MessageID != "k-1" {
		t.Errorf("answers: got %+v and %+v, want both for k-1, the first with a position", one, again)
	}
	send("k-1", badgeRequest("other")).wantProblem(http.StatusConflict, wire.CodeSessionInvalidState)
}

// eventsPage is a page of the log.
type eventsPage struct {
	Events    []json.RawMessage
	Next, Top wire.Position
}

func TestActionsSnapshotAndEventsAgree(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada := h.userToken("ada")
	id := h.newSession("ada")
	var positions []wire.Position
	for i := range 7 {
		var done struct {
			At wire.Position `json:"message_id"`
		}
		h.post(sessionPath(id, "/actions"), ada, badgeRequest(fmt.Sprint("app-", i))).wantStatus(http.StatusOK).decode(&done)
		positions = append(positions, done.At)
	}
	h.post(sessionPath(id, "/actions"), ada, `{"actions":[{"type":"window.focus","windowId":"nowhere"}]}`).wantProblem(http.StatusConflict, wire.CodeSessionInvalidState)

	// The pages together have the positions that the responses to the actions had.
	mirror := desktop.New(id)
	var seen []wire.Position
	var page eventsPage
	for after := ""; ; after = "&after=" + page.Next.String() {
		page = eventsPage{}
		h.get(sessionPath(id, "/events?limit=3", after), ada).wantStatus(http.StatusOK).decode(&page)
		for _, frame := range page.Events {
			e, err := wire.Native{}.DecodeEvent(frame)
			if err != nil {
				t.Fatalf("event %s: got error %v, want it decoded", frame, err)
			}
			if refused, ok := e.Data.(wire.MessageRejected); ok && refused.To != "" {
				t.Errorf("events: got %s, want no answers for one connection", frame)
			}
			mirror.Apply(e)
			seen = append(seen, e.At)
		}
		if page.Next.Compare(page.Top) >= 0 {
			break
		}
	}
	for _, p := range positions {
		if !slices.Contains(seen, p) {
			t.Errorf("%v is not in the log", p)
		}
	}
	if !slices.IsSortedFunc(seen, wire.Position.Compare) {
		t.Errorf("positions: got %v, want ascending order", seen)
	}
	page = eventsPage{}
	h.get(sessionPath(id, "/events?after=", page.Top.String()), ada) // the zero position is the beginning
	got := h.get(sessionPath(id, "/snapshot"), ada).wantStatus(http.StatusOK)
	var state wire.SessionState
	if e, err := (wire.Native{}).DecodeEvent(fmt.Appendf(nil, `{"type":"session_state","data":%s}`, got.body)); err != nil {
		t.Fatal(err)
	} else {
		state = e.Data.(wire.SessionState)
	}
	if len(state.Badges) != 7 || state.HeartbeatMS == 0 || state.Mode != wire.StateSnapshot {
		t.Errorf("state: got %s, want a snapshot with 7 badges and a heartbeat", got.body)
	}
	if hash := got.header.Get("X-State-Hash"); hash == "" || state.LastMessageID == mirror.At() && hash != mirror.Hash() {
		t.Errorf("hash: got %q, want %q of the log", hash, mirror.Hash())
	}
}

func TestSnapshotIsCached(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada := h.userToken("ada")
	id := h.newSession("ada")
	h.post(sessionPath(id, "/actions"), ada, badgeRequest("mail")).wantStatus(http.StatusOK)
	first := h.get(sessionPath(id, "/snapshot"), ada).wantStatus(http.StatusOK)
	etag := first.header.Get("ETag")
	var state struct {
		Last string `json:"last_message_id"`
	}
	first.decode(&state)
	if etag != `"`+state.Last+`"` {
		t.Errorf("ETag: got %s, want the position %s in quotes", etag, state.Last)
	}
	again := h.rest(http.MethodGet, sessionPath(id, "/snapshot"), request{token: ada, header: header("If-None-Match", etag)}).wantStatus(http.StatusNotModified)
	if len(again.body) != 0 {
		t.Errorf("state that did not change: got %s, want no body", again.body)
	}
	h.post(sessionPath(id, "/actions"), ada, badgeRequest("chat")).wantStatus(http.StatusOK)
	h.rest(http.MethodGet, sessionPath(id, "/snapshot"), request{token: ada, header: header("If-None-Match", etag)}).wantStatus(http.StatusOK)

	some := h.get(sessionPath(id, "/snapshot?monitor=monitor-0&monitor=monitor-1"), ada).wantStatus(http.StatusOK)
	if some.header.Get("X-State-Hash") != "" {
		t.Errorf("got state hash %q for a part of the state, want none", some.header.Get("X-State-Hash"))
	}
	h.get(sessionPath(id, "/snapshot?monitor=no/such"), ada).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
}

func TestPositionsThatAreNotInTheLog(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada := h.userToken("ada")
	id := h.newSession("ada")
	h.post(sessionPath(id, "/actions"), ada, badgeRequest("mail")).wantStatus(http.StatusOK)
	for _, after := range []string{"1-1", "9000000000000-0", "18446744073709551615-18446744073709551615"} {
		if p := h.get(sessionPath(id, "/events?after=", after), ada).wantProblem(http.StatusGone, wire.CodeSessionInvalidState); p.Field != "after" {
			t.Errorf("events after %s: got %+v, want the field after", after, p)
		}
	}
	for _, after := range []string{"x", "-1", "1--1", "1-9223372036854775808999", "%00"} {
		h.get(sessionPath(id, "/events?after=", after), ada).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	}
	h.get(sessionPath(id, "/events?limit=0"), ada).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	var all eventsPage
	h.get(sessionPath(id, "/events?after=0-0"), ada).wantStatus(http.StatusOK).decode(&all)
	if len(all.Events) == 0 {
		t.Error("got no events after the beginning, want some")
	}
	var none eventsPage
	h.get(sessionPath(id, "/events?after=", all.Next.String()), ada).wantStatus(http.StatusOK).decode(&none)
	if len(none.Events) != 0 || none.Next != all.Next {
		t.Errorf("events after the end: got %+v, want none up to %v", none, all.Next)
	}
}

// The rules for bodies are the same for all routes.
func TestBodies(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada := h.userToken("ada")
	id := h.newSession("ada")
	for name, tt := range map[string]struct {
		body, field string
	}{
		"not JSON":      {"{", ""},
		"two values":    {`{"content":"a"} {}`, ""},
		"not an object": {`[1]`, ""},
		"no content":    {`{}`, "content"},
		"null content":  {`{"content":null}`, "content"},
		"wrong type":    {`{"content":7}`, "content"},
		"twice":         {`{"content":"a","content":"b"}`, ""},
		"not UTF-8":     {"{\"content\":\"\xff\"}", ""},
		"too deep":      {`{"content":"a","x":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, ""},
		"huge number":   {`{"content":"a","interactions":[{"type":"window.move","timestamp":1e999}]}`, "interactions[0].timestamp"},
		"NaN":           {`{"content":NaN}`, ""},
		"bad id":        {`{"content":"a","monitorId":"a b"}`, "monitorId"},
		"deep field":    {`{"content":"a","interactions":[{"type":"nope","timestamp":1}]}`, "interactions[0].type"},
	} {
		got := h.post(sessionPath(id, "/messages"), ada, tt.body)
		got.what += " " + name
		p := got.wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
		if tt.field != "" && p.Field != tt.field {
			t.Errorf("%s: field %q of %q, want %q", name, p.Field, p.Detail, tt.field)
		}
	}
	for _, media := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json; charset=latin1", "json", ";"} {
		h.rest(http.MethodPost, sessionPath(id, "/messages"), request{token: ada, body: `{"content":"a"}`, header: header("Content-Type", media)}).
			wantProblem(http.StatusUnsupportedMediaType, wire.CodeInvalidMessage)
	}
	h.rest(http.MethodPost, sessionPath(id, "/messages"), request{token: ada, body: `{"content":"a"}`, header: header("Content-Encoding", "gzip")}).
		wantProblem(http.StatusUnsupportedMediaType, wire.CodeInvalidMessage)
	h.rest(http.MethodPost, sessionPath(id, "/actions"), request{token: ada, body: badgeRequest("mail"), header: header("Content-Type", "Application/JSON; charset=UTF-8")}).
		wantStatus(http.StatusOK)
	large := `{"content":"` + strings.Repeat("x", 64<<10) + `"}`
	h.post(sessionPath(id, "/messages"), ada, large).wantProblem(http.StatusRequestEntityTooLarge, wire.CodeMessageTooLarge)
	h.rest(http.MethodPost, sessionPath(id, "/messages"), request{token: ada}).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
}

func TestRoutesThatAreNotThere(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada := h.userToken("ada")
	for _, path := range []string{"/api", "/api/", "/api/nope", "/api/sessions/a/b/c/d", "/nope", "/.env"} {
		h.get(path, ada).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	}
	got := h.rest(http.MethodPut, "/api/sessions", request{token: ada})
	got.wantProblem(http.StatusMethodNotAllowed, wire.CodeInvalidMessage)
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		if !strings.Contains(got.header.Get("Allow"), method) {
			t.Errorf("Allow: got %q, want %s in it", got.header.Get("Allow"), method)
		}
	}
	h.rest("BREW", "/api/sessions", request{token: ada}).wantProblem(http.StatusMethodNotAllowed, wire.CodeInvalidMessage)
}
