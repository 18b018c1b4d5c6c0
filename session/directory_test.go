package session_test

import (
	"strings"
	"testing"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

func TestSessionsAreCreatedAndListed(t *testing.T) {
	t.Parallel()
	h, _ := startHub(t, openStore(t), "a", session.Config{})
	made, err := h.Create(t.Context(), session.NewSession{User: "ada", Title: "One"})
	requireNoError(t, err)
	if made.ID.Validate() != nil || !strings.HasPrefix(string(made.ID), "ses-") || made.Title != "One" || made.User != "ada" || made.Created.IsZero() {
		t.Errorf(`a new session is %+v, want "One" of ada with a valid id and a time of creation`, made)
	}
	createSession(t, h, "ses-2")
	_, err = h.Create(t.Context(), session.NewSession{ID: "ses-3", User: "bob"})
	requireNoError(t, err)
	page, err := h.List(t.Context(), store.Query{User: "ada"})
	requireNoError(t, err)
	if len(page.Items) != 2 || page.Next != "" {
		t.Errorf("the user has %+v, want 2 sessions and no next page", page)
	}
	page, err = h.List(t.Context(), store.Query{})
	requireNoError(t, err)
	if len(page.Items) != 3 {
		t.Errorf("all sessions are %+v, want 3", page)
	}
	for _, c := range []struct {
		n    session.NewSession
		code wire.Code
	}{
		{session.NewSession{ID: "ses-2", User: "ada"}, wire.CodeSessionInvalidState},
		{session.NewSession{ID: "a/b", User: "ada"}, wire.CodeInvalidMessage},
		{session.NewSession{}, wire.CodeInvalidMessage},
		{session.NewSession{User: strings.Repeat("x", 257)}, wire.CodeInvalidMessage},
		{session.NewSession{User: "a\nb"}, wire.CodeInvalidMessage},
		{session.NewSession{User: "ada", Title: strings.Repeat("ü", 201)}, wire.CodeInvalidMessage},
		{session.NewSession{User: "ada", Title: "a\x00"}, wire.CodeInvalidMessage},
		{session.NewSession{User: "ada", Title: "\xff"}, wire.CodeInvalidMessage},
	} {
		if _, err := h.Create(t.Context(), c.n); errorCode(err) != c.code {
			t.Errorf("%+v: got error %v, want code %d", c.n, err, c.code)
		}
	}
	if _, err := h.Info(t.Context(), "ses-none"); errorCode(err) != wire.CodeSessionNotFound {
		t.Errorf("a session that is not there: error %v, want code %s", err, wire.CodeSessionNotFound)
	}
}

func TestRenameAndShare(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	h, _ := startHub(t, s, "a", session.Config{})
	createSession(t, h, "ses-1")
	r := openHandle(t, h, "ses-1")
	w := attachTab(t, r, "c")
	requireNoError(t, h.Rename(t.Context(), "ses-1", "Größer"))
	requireNoError(t, h.Rename(t.Context(), "ses-1", "Größer")) // no change
	nextEvent(t, w, func(p wire.SessionRenamed) bool { return p.Title == "Größer" })
	requireNoError(t, h.Share(t.Context(), "ses-1", "bob", session.ShareOperator))
	requireNoError(t, h.Share(t.Context(), "ses-1", "eve", session.ShareViewer))
	requireNoError(t, h.Share(t.Context(), "ses-1", "eve", ""))
	i, err := h.Info(t.Context(), "ses-1")
	requireNoError(t, err)
	if i.Title != "Größer" || len(i.Shares) != 1 || i.Shares["bob"] != session.ShareOperator {
		t.Errorf("the session is %+v, want the title Größer, shared only with bob as %s", i, session.ShareOperator)
	}
	state, err := r.Snapshot(t.Context(), nil)
	requireNoError(t, err)
	if state.Title != "Größer" {
		t.Errorf(`the snapshot has the title %q, want "Größer"`, state.Title)
	}
	if n := len(payloads[wire.SessionRenamed](readLog(t, s))); n != 2 { // the first title and the second
		t.Errorf("the log has %d titles, want 2", n)
	}
	for _, err := range []error{
		h.Rename(t.Context(), "ses-1", "\n"), h.Share(t.Context(), "ses-1", "", session.ShareViewer),
		h.Share(t.Context(), "ses-1", "bob", "admin"),
	} {
		if errorCode(err) != wire.CodeInvalidMessage {
			t.Errorf("got error %v, want code %s", err, wire.CodeInvalidMessage)
		}
	}
	if err := h.Rename(t.Context(), "ses-none", "x"); errorCode(err) != wire.CodeSessionNotFound {
		t.Errorf("got error %v, want code %s", err, wire.CodeSessionNotFound)
	}
}

func TestDeliverOpensTheSession(t *testing.T) {
	t.Parallel()
	h, _ := startHub(t, openStore(t), "a", session.Config{})
	createSession(t, h, "ses-1")
	a, err := h.DeliverAndWait(t.Context(), "ses-1", command("", "m", emit(window("win"))))
	requireNoError(t, err)
	if p, is := a.Data.(wire.Actions); !is || p.MessageID != "m" || a.At.IsZero() {
		t.Errorf("the answer is %+v, want the Actions of m with a position", a)
	}
	// Without a connection only the caller gets the refusal.
	a, err = h.DeliverAndWait(t.Context(), "ses-1", command("", "m2", emit(wire.WindowFocus{WindowID: "no"})))
	requireNoError(t, err)
	if p, is := a.Data.(wire.MessageRejected); !is || p.To == "" {
		t.Errorf("the answer is %+v, want a rejection to the caller only", a)
	}
	if _, err := h.DeliverAndWait(t.Context(), "ses-none", command("", "m", emit(window("win")))); errorCode(err) != wire.CodeSessionNotFound {
		t.Errorf("got error %v, want code %s", err, wire.CodeSessionNotFound)
	}
}
