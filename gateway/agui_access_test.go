package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/agui/aguitest"
	"github.com/everdesk/everdesk/wire"
)

// share sets the access of bob to a session of ann; without access it removes the share.
func (h *testHub) share(id wire.SessionID, access string) {
	h.t.Helper()
	if access == "" {
		h.rest(http.MethodDelete, sessionPath(id, "/shares/bob"), request{token: h.userToken("ann")}).wantStatus(http.StatusNoContent)
		return
	}
	h.rest(http.MethodPut, sessionPath(id, "/shares/bob"), request{token: h.userToken("ann"), body: `{"access":"` + access + `"}`}).wantStatus(http.StatusOK)
}

// A stream ends when the session is no longer shared with its user, and the stream of a run when its user
// may only read.
func TestAGUIStreamEndsWithTheRightToSeeTheSession(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ path, before, after, code string }{
		"a viewer without the share":   {"/connect", "viewer", "", "WS_SESSION_NOT_FOUND"},
		"an operator who is a viewer":  {"", "operator", "viewer", "WS_FORBIDDEN"},
		"an operator with less access": {"", "operator", "", "WS_SESSION_NOT_FOUND"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newAgentHub(t, false)
			id := h.newSession("ann")
			h.share(id, c.before)
			x := h.aguiThread("/agui/"+string(id)+c.path, h.userToken("bob"), "thread")
			if c.path == "" {
				x.Messages = []aguitest.Message{{ID: "u1", Role: "user", Content: jsonRaw("/stream 100000 100")}}
			}
			changed := false
			x.run(aguiInput{RunID: "run-1", ForwardedProps: everdeskProps(map[string]any{"follow": true})}, func(e aguitest.Event) bool {
				if !changed && (e.Type == "RUN_FINISHED" || e.Type == "TEXT_MESSAGE_CONTENT") {
					changed = true
					h.share(id, c.after)
				}
				return false
			})
			if x.Error == nil || x.Error.Code != c.code {
				t.Errorf("the stream ends with the error %+v, want the code %s", x.Error, c.code)
			}
		})
	}
}

// cancelOnClose interrupts nothing for a user who may only read.
func TestAGUICancelOnCloseNeedsAnOperator(t *testing.T) {
	t.Parallel()
	for _, before := range []string{"operator", "viewer"} {
		t.Run(before, func(t *testing.T) {
			t.Parallel()
			h := newAgentHub(t, false)
			id := h.newSession("ann")
			h.share(id, before)
			path := "/agui/" + string(id)
			ann := h.aguiThread(path, h.userToken("ann"), "thread")
			bob := h.aguiThread(path, h.userToken("bob"), "thread")
			in := aguiInput{RunID: "run-1", ForwardedProps: everdeskProps(map[string]any{"cancelOnClose": true})}
			isText := func(e aguitest.Event) bool { return e.Type == "TEXT_MESSAGE_CONTENT" }
			if before == "viewer" {
				ann.say("run-1", "/stream 900 300", isText)
				bob.path += "/connect"
				in.RunID = "connect-1"
			} else {
				bob.Messages = []aguitest.Message{{ID: "u1", Role: "user", Content: jsonRaw("/stream 900 300")}}
			}
			bob.run(in, func(e aguitest.Event) bool {
				if isText(e) {
					h.share(id, "viewer")
				}
				return isText(e)
			})
			ann.Messages = []aguitest.Message{{ID: "u1", Role: "user", Content: jsonRaw("/stream 900 300")}}
			ann.run(aguiInput{RunID: "run-1", ProtocolVersion: "1.0"}, nil)
			last := ann.Events[len(ann.Events)-1]
			if words := len(strings.Fields(strings.Join(ann.Texts("assistant"), " "))); last.Type != "RUN_FINISHED" || last.Outcome != nil || words != 900 {
				t.Errorf("the turn ends with %+v after %d words, want it complete with 900", last, words)
			}
		})
	}
}

// A message whose stream has no place is not sent: its client sends it again.
func TestAGUIMessageWithoutAPlaceForItsStreamIsNotSent(t *testing.T) {
	t.Parallel()
	h := newAgentHub(t, false)
	ann := h.userToken("ann")
	transport := h.transport()
	defer transport.CloseIdleConnections()
	open := func(run string) *http.Response {
		body := fmt.Sprintf(`{"threadId":"thread","runId":%q,"messages":[],"forwardedProps":{"everdesk":{"follow":true}}}`, run)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+h.addr+"/agui/agent/desktop/connect", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+ann)
		res, err := (&http.Client{Transport: transport}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	for n := range 32 {
		res := open(fmt.Sprint("connect-", n))
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK {
			text, _ := io.ReadAll(res.Body)
			t.Fatalf("stream %d: status %d: %s, want %d", n, res.StatusCode, text, http.StatusOK)
		}
	}
	h.post("/agui", ann, `{"threadId":"thread","runId":"run-1","messages":[{"id":"u1","role":"user","content":"/say Twice?"}]}`).wantStatus(http.StatusServiceUnavailable)
	rows := h.get("/api/sessions/thread/rows?monitor=monitor-0", ann).wantStatus(http.StatusOK)
	if strings.Contains(string(rows.body), "Twice?") {
		t.Errorf("rows %s, want none of the message that was refused", rows.body)
	}
}
