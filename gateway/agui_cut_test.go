package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/agui/aguitest"
	"github.com/everdesk/everdesk/desktop"
)

func cutAfterTexts(n int) func(aguitest.Event) bool {
	return func(e aguitest.Event) bool {
		if e.Type == "TEXT_MESSAGE_CONTENT" {
			n--
		}
		return n <= 0
	}
}

// A message that joins a running turn shows that turn. Cuts before, in and after it lose nothing.
func TestAGUICutRunThatJoinedATurnIsWhole(t *testing.T) {
	t.Parallel()
	h := newAgentHub(t, false)
	x := h.aguiThread("/agui", h.userToken("ann"), "thread")
	x.say("run-1", "/stream 400 200", cutAfterTexts(1))
	x.say("run-2", "/say Joined.", cutAfterTexts(2))
	x.run(aguiInput{RunID: "run-2"}, nil)
	fresh := h.aguiThread("/agui/agent/desktop/connect", x.token, x.thread)
	fresh.run(aguiInput{RunID: "connect-1"}, nil)
	got, want := strings.Join(x.Texts("assistant"), "|"), strings.Join(fresh.Texts("assistant"), "|")
	if got != want {
		t.Errorf("after a cut while the turn runs the client has %q, want %q", got, want)
	}
	x.say("run-3", "/stream 400 200", cutAfterTexts(1))
	x.say("run-4", "/say Joined again.", cutAfterTexts(2))
	fresh.run(aguiInput{RunID: "connect-2"}, nil)
	x.run(aguiInput{RunID: "run-4"}, nil)
	got, want = strings.Join(x.Texts("assistant"), "|"), strings.Join(fresh.Texts("assistant"), "|")
	if got != want {
		t.Errorf("after a cut until the turn has ended the client has %q, want %q", got, want)
	}
}

// A client is cut in a turn, and comes back when the state of the session has no rows of it any more. It repeats its
// request, or connects.
func TestAGUIClientThatWasAwayForLongMissesNothing(t *testing.T) {
	t.Parallel()
	h := newAgentHub(t, false)
	ann := h.userToken("ann")
	const calls = 40
	var script, want []string
	for n := range calls {
		script = append(script, fmt.Sprintf("/window w1 Notes | %d\n/say Part %d.", n, n))
		want = append(want, fmt.Sprintf("Part %d.", n))
	}
	var away []*aguiThread
	for range 2 {
		away = append(away, h.aguiThread("/agui", ann, fmt.Sprint("thread-", len(away))))
	}
	for _, x := range away {
		x.say("run-1", strings.Join(script, "\n"), cutAfterTexts(3))
		other := h.aguiThread("/agui", ann, x.thread)
		other.path = "/agui/agent/desktop/connect"
		other.run(aguiInput{RunID: "connect-1"}, nil) // until the turn has ended
		other.path = "/agui"
		for n := range desktop.MaxRows / 2 {
			other.say(fmt.Sprint("other-", n), "/say Other.", nil)
		}
	}
	away[0].run(aguiInput{RunID: "run-1"}, nil)
	away[1].path = "/agui/agent/desktop/connect"
	away[1].run(aguiInput{RunID: "connect-2"}, nil)
	for i, x := range away {
		text, results := "", 0
		for _, m := range x.Messages {
			switch {
			case m.ID == "run-1.text":
				text += m.Text()
			case m.Role == "tool":
				results++
			}
		}
		if got := strings.Join(strings.Fields(text), " "); got != strings.Join(want, " ") {
			t.Errorf("client %d has %q, want %q", i, got, want)
		}
		if results != calls {
			t.Errorf("client %d has %d results of calls, want %d", i, results, calls)
		}
	}
	if got := len(away[1].Texts("user")); got != 1+desktop.MaxRows/2 {
		t.Errorf("the client that connects has %d messages of users, want all %d", got, 1+desktop.MaxRows/2)
	}
}
