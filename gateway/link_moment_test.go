package gateway_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/wire"
)

// momentLink is a link to one moment in a response.
type momentLink struct {
	readLink
	At       wire.Position
	MomentAt string
}

// showWindow opens a window in a session, and returns the position after that.
func (h *testHub) showWindow(token string, id wire.SessionID, window, text string) wire.Position {
	h.t.Helper()
	body := `{"messageId":"` + window + `","actions":[{"type":"window.create","windowId":"` + window + `","title":"` + text + `","bounds":{"x":0,"y":0,"w":400,"h":300},"content":{"renderer":"text","data":"` + text + `"}}]}`
	var out struct {
		At wire.Position `json:"message_id"`
	}
	h.post(sessionPath(id, "/actions"), token, body).wantStatus(http.StatusOK).decode(&out)
	return out.At
}

func (h *testHub) newMomentLink(token string, id wire.SessionID, at wire.Position) (made momentLink) {
	h.t.Helper()
	h.post(sessionPath(id, "/links"), token, `{"label":"Look","at":"`+at.String()+`"}`).wantStatus(http.StatusCreated).decode(&made)
	return made
}

// momentGuestOf opens a link to a moment and returns the headers of the browser.
func momentGuestOf(t *testing.T, h *testHub, id wire.SessionID, secret string) http.Header {
	t.Helper()
	cookies := linkCookies(t, h.openLink(secret, nil).wantStatus(http.StatusOK))
	c := cookies[sessionPath(id, "/moment")]
	if c == nil || c.Value == "" || len(cookies) != 1 { // others would replace those of a link to the session
		t.Fatalf("got cookies %+v, want one of the moment", cookies)
	}
	return h.ownHeaders(c)
}

// Whoever has a link to a moment gets that moment from the hub, and nothing that came after it, whatever is requested.
func TestLinkToAMomentShowsNothingElse(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada, id := h.userToken("ada"), h.newSession("ada")
	at := h.showWindow(ada, id, "first", "early words")
	h.showWindow(ada, id, "second", "late words")
	made := h.newMomentLink(ada, id, at)
	if !strings.HasPrefix(made.secret(), "edo_") || made.At != at || made.MomentAt == "" {
		t.Fatalf("made: got %+v, want a link with the prefix edo_ to %v", made, at)
	}
	h.rest(http.MethodPut, sessionPath(id, "/files/secret.txt"), request{token: ada, body: "late file"}).wantStatus(http.StatusCreated)
	var list struct{ Links []momentLink }
	if h.get(sessionPath(id, "/links"), ada).wantStatus(http.StatusOK).decode(&list); len(list.Links) != 1 || list.Links[0].At != at {
		t.Errorf("list: got %+v, want the link to %v", list, at)
	}

	opened := h.openLink(made.secret(), nil).wantStatus(http.StatusOK)
	if !contains(opened.body, `"at":"`+at.String()+`"`) || !contains(opened.body, `"momentAt":"`) {
		t.Errorf("opened: got %s, want the moment", opened.body)
	}
	guest := momentGuestOf(t, h, id, made.secret())
	do := func(method, path, body string) reply {
		t.Helper()
		return h.rest(method, path, request{header: guest, body: body})
	}
	var state struct {
		Windows       []struct{ WindowID string }
		LastMessageID wire.Position `json:"last_message_id"`
	}
	got := do(http.MethodGet, sessionPath(id, "/moment"), "").wantStatus(http.StatusOK)
	got.decode(&state)
	if len(state.Windows) != 1 || state.Windows[0].WindowID != "first" || state.LastMessageID != at || contains(got.body, "late") {
		t.Errorf("moment: got %s, want the window first only", got.body)
	}
	for _, hidden := range []string{"owner", "presence", "instructions", "autoApproval", "agentMode"} {
		if contains(got.body, `"`+hidden+`":`) {
			t.Errorf("moment: got %s, want it without %s", got.body, hidden)
		}
	}
	for _, r := range []struct{ method, path, body string }{
		{http.MethodGet, sessionPath(id, ""), ""},
		{http.MethodGet, sessionPath(id, "/snapshot"), ""},
		{http.MethodGet, sessionPath(id, "/messages"), ""},
		{http.MethodGet, sessionPath(id, "/rows"), ""},
		{http.MethodGet, sessionPath(id, "/events"), ""},
		{http.MethodGet, sessionPath(id, "/film"), ""},
		{http.MethodGet, sessionPath(id, "/plan"), ""},
		{http.MethodGet, sessionPath(id, "/files"), ""},
		{http.MethodGet, sessionPath(id, "/files/secret.txt"), ""},
		{http.MethodGet, sessionPath(id, "/checkpoints"), ""},
		{http.MethodGet, sessionPath(id, "/export"), ""},
		{http.MethodGet, sessionPath(id, "/links"), ""},
		{http.MethodGet, sessionPath(id, "/apps/counter/icon"), ""},
		{http.MethodGet, "/api/me", ""},
		{http.MethodGet, "/api/sessions", ""},
		{http.MethodPost, sessionPath(id, "/messages"), `{"content":"x"}`},
		{http.MethodPost, sessionPath(id, "/moment"), `{}`},
		{http.MethodPut, sessionPath(id, "/files/a.txt"), "x"},
		{http.MethodDelete, sessionPath(id, ""), ""},
		{http.MethodPost, "/api/ws-ticket", `{}`},
	} {
		// A route that does not exist for the method is refused in another way.
		if got := do(r.method, r.path, r.body); got.status < 400 || contains(got.body, "late") {
			t.Errorf("%s %s: got %d %s, want a refusal", r.method, r.path, got.status, got.body)
		} else if r.path != sessionPath(id, "/moment") {
			got.wantProblem(http.StatusForbidden, wire.CodeForbidden)
		}
	}
	stream := guest.Clone()
	stream.Set("Accept", "text/event-stream")
	h.rest(http.MethodGet, sessionPath(id, "/events"), request{header: stream}).wantProblem(http.StatusForbidden, wire.CodeForbidden)
	h.wantRefused("/ws/"+string(id), dialOptions{header: guest, protos: []string{"everdesk.v2"}}, http.StatusForbidden, wire.CodeForbidden)
	h.wantRefused("/ws", dialOptions{header: guest}, http.StatusForbidden, wire.CodeForbidden)

	// The same secret is no link to the session, and a link to the session has no moment.
	h.openLink("edl_"+strings.TrimPrefix(made.secret(), "edo_"), nil).wantProblem(http.StatusUnauthorized, wire.CodeAuthFailed)
	live := guestOf(t, h, id, h.newLink(ada, id, "").secret())
	h.rest(http.MethodGet, sessionPath(id, "/moment"), request{header: live}).wantProblem(http.StatusForbidden, wire.CodeForbidden)
	h.get(sessionPath(id, "/moment"), ada).wantStatus(http.StatusNotFound)

	// It stays as it was while the session goes on, and ends when it is revoked.
	h.showWindow(ada, id, "third", "late words")
	if later := do(http.MethodGet, sessionPath(id, "/moment"), ""); string(later.body) != string(got.body) {
		t.Errorf("later: got %s, want %s", later.body, got.body)
	}
	h.rest(http.MethodDelete, sessionPath(id, "/links/", made.ID), request{token: ada}).wantStatus(http.StatusNoContent)
	do(http.MethodGet, sessionPath(id, "/moment"), "").wantProblem(http.StatusUnauthorized, wire.CodeAuthFailed)
	h.openLink(made.secret(), nil).wantProblem(http.StatusUnauthorized, wire.CodeAuthFailed)
}

func TestOnlyTheOwnerSharesAMomentOfTheLog(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada, id := h.userToken("ada"), h.newSession("ada")
	at := h.showWindow(ada, id, "first", "words")
	h.rest(http.MethodPut, sessionPath(id, "/shares/bob"), request{token: ada, body: `{"access":"operator"}`}).wantStatus(http.StatusOK)
	h.post(sessionPath(id, "/links"), h.userToken("bob"), `{"at":"`+at.String()+`"}`).wantProblem(http.StatusForbidden, wire.CodeForbidden)
	h.post(sessionPath(id, "/links"), ada, `{"at":"now"}`).wantStatus(http.StatusBadRequest)
	ahead := wire.Position{Epoch: at.Epoch, Seq: at.Seq + 1000}
	h.post(sessionPath(id, "/links"), ada, `{"at":"`+ahead.String()+`"}`).wantProblem(http.StatusGone, wire.CodeSessionInvalidState)
	for range auth.MaxLinks {
		h.newMomentLink(ada, id, at)
	}
	h.post(sessionPath(id, "/links"), ada, `{"at":"`+at.String()+`"}`).wantStatus(http.StatusConflict)
	h.newLink(ada, id, "") // links to the session are counted on their own
}

// A moment ends with its link and with its session, and leaves nothing in the store.
func TestMomentsOfLinksEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newBubbleHub(t)
		ada, id := h.token("ada", 3*time.Hour), h.newSession("ada")
		at := h.showWindow(ada, id, "first", "words")
		var short momentLink
		h.post(sessionPath(id, "/links"), ada, `{"ttl":300,"at":"`+at.String()+`"}`).wantStatus(http.StatusCreated).decode(&short)
		guest := momentGuestOf(t, h, id, short.secret())
		time.Sleep(5*time.Minute - time.Second)
		h.rest(http.MethodGet, sessionPath(id, "/moment"), request{header: guest}).wantStatus(http.StatusOK)
		time.Sleep(2 * time.Second)
		h.rest(http.MethodGet, sessionPath(id, "/moment"), request{header: guest}).wantStatus(http.StatusUnauthorized)
		h.openLink(short.secret(), nil).wantProblem(http.StatusUnauthorized, wire.CodeAuthFailed)

		made := h.newMomentLink(ada, id, at)
		guest = momentGuestOf(t, h, id, made.secret())
		h.rest(http.MethodDelete, sessionPath(id, ""), request{token: ada}).wantStatus(http.StatusNoContent)
		h.openLink(made.secret(), nil).wantProblem(http.StatusUnauthorized, wire.CodeAuthFailed)
		h.rest(http.MethodGet, sessionPath(id, "/moment"), request{header: guest}).wantStatus(http.StatusUnauthorized)
	})
}
