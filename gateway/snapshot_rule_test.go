package gateway_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// statusInRows returns what the rows of a conversation say about a message, by the rule of
// docs/PROTOCOL.md for clients that get a snapshot instead of the events.
func statusInRows(t *testing.T, rows []wire.UIRow, id wire.MessageID) string {
	t.Helper()
	status := "unanswered"
	for _, row := range rows {
		switch row.Say {
		case wire.SayUserFeedback:
			if row.MessageID == id && status == "unanswered" {
				status = "accepted"
			}
		case wire.SayAPIReqFinished:
			var end struct{ Joined []wire.MessageID }
			if err := json.Unmarshal([]byte(row.Text), &end); err != nil {
				t.Fatal(err)
			}
			if row.MessageID == id || slices.Contains(end.Joined, id) {
				status = "ended"
			}
		default:
		}
	}
	return status
}

// A client that was away gets a snapshot. Its rows alone say which messages have ended, also one
// that joined the turn of another message meanwhile.
func TestSnapshotTellsWhichMessagesEnded(t *testing.T) {
	t.Parallel()
	h := newAgentHub(t, false)
	id, watcher := h.sessionWithTab()
	token := h.token("ann", time.Minute)
	away := h.mustDial("/ws/"+string(id), as(token))
	away.sendToAgent("monitor-0", "m1", "/hang")
	next[wire.MessageAccepted](away)
	_ = away.ws.CloseNow()
	say := func(message, text string) {
		t.Helper()
		h.post(sessionPath(id, "/messages"), token, `{"messageId":"`+message+`","content":"`+text+`"}`).wantStatus(http.StatusAccepted)
	}
	say("m2", "/say joined") // it ends the hanging turn
	for end := (wire.AgentResponse{}); !end.IsComplete || end.MessageID != "m2"; {
		end = next[wire.AgentResponse](watcher)
		if end.IsComplete && end.MessageID == "m2" && end.Joined != "m1" {
			t.Fatalf("end of m2: got %+v, want that it had joined m1", end)
		}
	}
	say("m3", "/hang")
	back := h.mustDial("/ws/"+string(id), as(token))
	state := next[wire.SessionState](back)
	var page struct{ Rows []wire.UIRow }
	h.get(sessionPath(id, "/rows"), token).wantStatus(http.StatusOK).decode(&page)
	for message, want := range map[wire.MessageID]string{"m1": "ended", "m2": "ended", "m3": "accepted", "m4": "unanswered"} {
		if got := statusInRows(t, state.RecentMessages, message); got != want {
			t.Errorf("%s in the snapshot: got %s, want %s; rows %+v", message, got, want, state.RecentMessages)
		}
		if got := statusInRows(t, page.Rows, message); got != want {
			t.Errorf("%s in /rows: got %s, want %s; rows %+v", message, got, want, page.Rows)
		}
	}
}
