package gateway_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// rowsPage is a part of a conversation.
type rowsPage struct {
	Rows []struct {
		ID   wire.RowID
		TS   wire.Millis
		Text string
	}
	More bool
}

func (p rowsPage) String() string {
	var all []string
	for _, r := range p.Rows {
		all = append(all, r.Text)
	}
	return fmt.Sprint(strings.Join(all, " "), " ", p.More)
}

// notesPage is the digest of a part of a conversation.
type notesPage struct {
	SessionID wire.SessionID
	Messages  []history.Note
	More      bool
	Before    wire.RowID
	UpdatedAt wire.Millis
}

func (p notesPage) String() string {
	var all []string
	for _, n := range p.Messages {
		all = append(all, n.Content)
	}
	return fmt.Sprint(strings.Join(all, " "), " ", p.More)
}

func TestConversationsAreReadInPages(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada := h.userToken("ada")
	id := h.newSession("ada")
	for i := 1; i <= 10; i++ {
		h.post(sessionPath(id, "/messages"), ada, fmt.Sprintf(`{"content":"%d"}`, i)).wantProblem(http.StatusServiceUnavailable, wire.CodeProviderUnavailable)
	}
	for query, want := range map[string]string{
		"":                             "1 2 3 4 5 6 7 8 9 10 false",
		"?limit=5":                     "6 7 8 9 10 true",
		"?limit=3&before=9":            "6 7 8 true",
		"?limit=3&before=4":            "1 2 3 false",
		"?before=1":                    " false",
		"?limit=99999":                 "1 2 3 4 5 6 7 8 9 10 false",
		"?monitor=monitor-0&limit=1":   "10 true",
		"?monitor=monitor-3":           " false",
		"?before=9007199254740991":     "1 2 3 4 5 6 7 8 9 10 false",
		"?limit=2&before=200&unused=1": "9 10 true",
	} {
		var rows rowsPage
		h.get(sessionPath(id, "/rows"+query), ada).wantStatus(http.StatusOK).decode(&rows)
		var notes notesPage
		h.get(sessionPath(id, "/messages"+query), ada).wantStatus(http.StatusOK).decode(&notes)
		if rows.String() != want || notes.String() != want {
			t.Errorf("%q shows %s and %s, want %s", query, rows, notes, want)
		}
		if notes.SessionID != id || notes.UpdatedAt == 0 || (notes.Before > 0) != notes.More {
			t.Errorf("%q: got %+v, want session %s with a time, and a next page only with more", query, notes, id)
		}
		if len(rows.Rows) > 0 && notes.More && rows.Rows[0].ID != notes.Before {
			t.Errorf("%q: got the next page before %d, want %d, the first row", query, notes.Before, rows.Rows[0].ID)
		}
	}
	var all rowsPage
	h.get(sessionPath(id, "/rows"), ada).wantStatus(http.StatusOK).decode(&all)
	fifth := all.Rows[4].TS
	for _, before := range []string{fmt.Sprint(fifth), time.UnixMilli(int64(fifth)).UTC().Format("2006-01-02T15:04:05.000Z")} {
		var rows rowsPage
		h.get(sessionPath(id, "/rows?limit=2&before=", before), ada).wantStatus(http.StatusOK).decode(&rows)
		var notes notesPage
		h.get(sessionPath(id, "/messages?limit=2&before=", before), ada).wantStatus(http.StatusOK).decode(&notes)
		if want := "3 4 true"; rows.String() != want || notes.String() != want {
			t.Errorf("before %s there are %s and %s, want %s", before, rows, notes, want)
		}
	}
	if p := h.post(sessionPath(id, "/messages"), ada, `{"content":"a\u0000"}`).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage); p.Field != "content" {
		t.Errorf("U+0000 is refused with %+v, want the field content", p)
	}
	for _, part := range []string{"/rows", "/messages"} {
		for query, field := range map[string]string{
			"?limit=0": "limit", "?limit=x": "limit", "?before=0": "before", "?before=-1": "before", "?before=x": "before",
			"?before=99999999999999999999": "before", "?monitor=a%20b": "monitor",
		} {
			if p := h.get(sessionPath(id, part+query), ada).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage); p.Field != field {
				t.Errorf("%s: got %+v, want the field %s", query, p, field)
			}
		}
		h.get(sessionPath(id, part), "").wantProblem(http.StatusUnauthorized, wire.CodeAuthRequired)
		h.get(sessionPath("unknown", part), ada).wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
		h.get(sessionPath(id, part), h.userToken("bob")).wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
	}
	h.rest(http.MethodPut, sessionPath(id, "/shares/eve"), request{token: ada, body: `{"access":"viewer"}`}).wantStatus(http.StatusOK)
	var rows rowsPage
	h.get(sessionPath(id, "/rows?limit=1"), h.userToken("eve")).wantStatus(http.StatusOK).decode(&rows)
	if rows.String() != "10 true" {
		t.Errorf("rows of a viewer: got %s, want 10 true", rows)
	}
}

// A page has at most session.MaxRowPage rows, however large the limit of the query is.
func TestPagesOfConversationsHaveALargestSize(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada := h.userToken("ada")
	id := h.newSession("ada")
	for i := range session.MaxRowPage + 1 {
		h.post(sessionPath(id, "/messages"), ada, fmt.Sprintf(`{"content":"%d"}`, i)).wantProblem(http.StatusServiceUnavailable, wire.CodeProviderUnavailable)
	}
	for _, limit := range []string{strconv.Itoa(session.MaxRowPage), strconv.Itoa(session.MaxRowPage + 1), "99999", "99999999999999999999"} {
		var rows rowsPage
		h.get(sessionPath(id, "/rows?limit=", limit), ada).wantStatus(http.StatusOK).decode(&rows)
		var notes notesPage
		h.get(sessionPath(id, "/messages?limit=", limit), ada).wantStatus(http.StatusOK).decode(&notes)
		if len(rows.Rows) != session.MaxRowPage || !rows.More || len(notes.Messages) != session.MaxRowPage || !notes.More {
			t.Errorf("limit %s: got %d rows, more %t, and %d messages, more %t, want %d and more of both",
				limit, len(rows.Rows), rows.More, len(notes.Messages), notes.More, session.MaxRowPage)
		}
	}
}

// A page is bounded in bytes, but has at least one row.
func TestPagesOfConversationsAreBounded(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada := h.userToken("ada")
	id := h.newSession("ada")
	for i := range 20 {
		h.post(sessionPath(id, "/messages"), ada, fmt.Sprintf(`{"content":"%d%s"}`, i, strings.Repeat("x", 60_000))).
			wantProblem(http.StatusServiceUnavailable, wire.CodeProviderUnavailable)
	}
	for _, part := range []string{"/rows", "/messages"} {
		got := h.get(sessionPath(id, part), ada).wantStatus(http.StatusOK)
		var p struct {
			Rows, Messages []struct{}
			More           bool
			Before         wire.RowID
		}
		got.decode(&p)
		if n := len(p.Rows) + len(p.Messages); len(got.body) > 1<<20 || n != 17 || !p.More || part == "/messages" && p.Before != 4 {
			t.Errorf("%s: got %d of 20 in %d bytes, more %v before %d, want 17 in at most 1 MiB and more", part, n, len(got.body), p.More, p.Before)
		}
	}
}
