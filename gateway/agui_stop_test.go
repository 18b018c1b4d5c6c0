package gateway_test

import (
	"net/http"
	"testing"

	"github.com/everdesk/everdesk/agui/aguitest"
)

const aguiStop = "/agui/agent/desktop/stop/thread"

func (x *aguiThread) stopPath() string { return "/agui/agent/desktop/stop/" + x.thread }

// stream sends a message whose turn has no end and takes no other message, and reads it until some text has come.
func (x *aguiThread) stream(run, monitor string) {
	x.h.t.Helper()
	x.Messages = []aguitest.Message{{ID: "user-" + run, Role: "user", Content: jsonRaw("/nosteer\n/stream 100000 100")}}
	x.run(aguiInput{RunID: run, ForwardedProps: everdeskProps(map[string]any{"monitor": monitor})}, cutAfterTexts(2))
}

// wantRunning checks that the turn of a message runs, and stops it.
func (x *aguiThread) wantRunning(run string) {
	x.h.t.Helper()
	runs := false
	in := aguiInput{RunID: run, ProtocolVersion: "1.0", ForwardedProps: everdeskProps(map[string]any{"monitor": "monitor-0"})}
	x.run(in, func(e aguitest.Event) bool {
		if e.Type == "TEXT_MESSAGE_CONTENT" && !runs {
			runs = true
			x.h.post(x.stopPath()+"?run="+run, x.token, "").wantStatus(http.StatusNoContent)
		}
		return false
	})
	last := x.Events[len(x.Events)-1]
	if !runs || last.Outcome == nil || last.Outcome.Type != "cancelled" {
		x.h.t.Errorf("the turn of %s runs: %v and ends with %+v, want it to run, and cancelled", run, runs, last)
	}
}

// Stop removes a message that waits from its queue. The turn for which it waits goes on.
func TestAGUIStopOfAQueuedMessageStopsNoOtherTurn(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"named", "as CopilotKit sends it", "named, at the other replica", "as CopilotKit sends it, at the other replica", "closed"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			owner, h := twoAgentHubs(t) // with one slot for agents; h follows the session
			other := owner.aguiThread("/agui", owner.userToken("ann"), "thread")
			other.stream("run-1", "monitor-0")
			x := h.aguiThread("/agui", h.userToken("ann"), "thread")
			x.Messages = []aguitest.Message{{ID: "u2", Role: "user", Content: jsonRaw("/say Never.")}}
			props := everdeskProps(map[string]any{"cancelOnClose": how == "closed"})
			x.run(aguiInput{RunID: "run-2", ForwardedProps: props}, func(e aguitest.Event) bool {
				if e.Name != "everdesk.queued" {
					return false
				}
				switch how {
				case "named":
					h.post(aguiStop+"?run=run-2", x.token, "").wantStatus(http.StatusNoContent)
				case "as CopilotKit sends it":
					h.post(aguiStop, x.token, "").wantStatus(http.StatusNoContent)
				case "named, at the other replica":
					owner.post(aguiStop+"?run=run-2", x.token, "").wantStatus(http.StatusNoContent)
				case "as CopilotKit sends it, at the other replica":
					owner.post(aguiStop, x.token, "").wantStatus(http.StatusNoContent)
				}
				return how == "closed"
			})
			if how == "closed" { // the repeated request is refused, at once or when the message is removed
				body := `{"threadId":"thread","runId":"run-2","messages":[{"id":"u2","role":"user","content":"/say Never."}]}`
				if r := h.post("/agui", x.token, body); r.status != http.StatusConflict && !contains(r.body, `"RUN_ERROR"`) {
					t.Errorf("the repeated request gets %d %s, want a refusal", r.status, r.body)
				}
			} else if x.Error == nil || x.Error.Message == "" {
				t.Errorf("the run of the queued message ends with %+v, want RUN_ERROR with the reason", x.Events[len(x.Events)-1])
			}
			other.wantRunning("run-1")
		})
	}
}

// Stop as CopilotKit sends it stops no work of another user.
func TestAGUIStopStopsNoWorkOfAnotherUser(t *testing.T) {
	t.Parallel()
	owner, h := twoAgentHubs(t)
	id := owner.newSession("ann")
	owner.share(id, "operator")
	thread := func(user string) *aguiThread { return owner.aguiThread("/agui", owner.userToken(user), string(id)) }
	isQueued := func(e aguitest.Event) bool { return e.Name == "everdesk.queued" }
	ann, more, bob := thread("ann"), thread("ann"), thread("bob")
	ann.stream("run-1", "monitor-0")
	more.say("run-2", "/nosteer\n/stream 100000 100", isQueued)
	owner.post(bob.stopPath(), bob.token, "").wantStatus(http.StatusNoContent)
	bob.say("run-3", "/say Never.", func(e aguitest.Event) bool {
		if isQueued(e) {
			h.post(bob.stopPath(), bob.token, "").wantStatus(http.StatusNoContent)
		}
		return false
	})
	if bob.Error == nil || bob.Error.Message == "" {
		t.Errorf("the run of bob ends with %+v, want RUN_ERROR with the reason", bob.Events[len(bob.Events)-1])
	}
	ann.wantRunning("run-1")
	more.wantRunning("run-2")
}

// Stop interrupts the turn on the monitor that the request names, or that of the run it names, or that of the caller's
// open stream.
func TestAGUIStopFindsTheMonitorOfTheRun(t *testing.T) {
	t.Parallel()
	for _, query := range []string{"?monitor=monitor-1", "?run=run-2", ""} {
		t.Run("query "+query, func(t *testing.T) {
			t.Parallel()
			h := newAgentHub(t, false)
			first := h.aguiThread("/agui", h.userToken("ann"), "thread")
			first.stream("run-1", "monitor-0")
			x := h.aguiThread("/agui", h.userToken("ann"), "thread")
			x.Messages = []aguitest.Message{{ID: "u2", Role: "user", Content: jsonRaw("/stream 100000 100")}}
			props := everdeskProps(map[string]any{"monitor": "monitor-1"})
			stopped := false
			x.run(aguiInput{RunID: "run-2", ProtocolVersion: "1.0", ForwardedProps: props}, func(e aguitest.Event) bool {
				if e.Type == "TEXT_MESSAGE_CONTENT" && !stopped {
					stopped = true
					h.post(aguiStop+query, x.token, "").wantStatus(http.StatusNoContent)
				}
				return false
			})
			if last := x.Events[len(x.Events)-1]; last.Outcome == nil || last.Outcome.Type != "cancelled" {
				t.Errorf("the run on monitor-1 ends with %+v, want it cancelled", last)
			}
			first.wantRunning("run-1")
		})
	}
}

func TestAGUIStopWithABadQuery(t *testing.T) {
	t.Parallel()
	h := newAgentHub(t, false)
	ann := h.userToken("ann")
	h.aguiThread("/agui", ann, "thread").say("run-1", "/say Hi.", nil)
	for _, query := range []string{"?monitor=no%20monitor", "?run=" + "%20%0a"} {
		h.post(aguiStop+query, ann, "").wantStatus(http.StatusBadRequest)
	}
	h.post(aguiStop+"?run=unknown", ann, "").wantStatus(http.StatusNoContent)
}
