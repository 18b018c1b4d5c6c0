package wire_test

import (
	"slices"
	"testing"

	"github.com/everdesk/everdesk/wire"
)

func TestEveryAskIsInOneClass(t *testing.T) {
	t.Parallel()
	want := map[wire.AskClass][]wire.Ask{
		wire.AskIdle: {
			wire.AskCompletionResult, wire.AskAPIReqFailed, wire.AskResumeCompletedTask,
			wire.AskMistakeLimitReached, wire.AskAutoApprovalMaxReqReached,
		},
		wire.AskResumable:   {wire.AskResumeTask},
		wire.AskInteractive: {wire.AskFollowup, wire.AskCommand, wire.AskTool, wire.AskUseMCPServer, wire.AskBrowserActionLaunch},
		wire.AskNonBlocking: {wire.AskCommandOutput},
	}
	total := 0
	for class, asks := range want {
		total += len(asks)
		if got := class.Asks(); !slices.Equal(got, asks) {
			t.Errorf("%s has %v, want %v", class, got, asks)
		}
	}
	if total != len(wire.FormatOf[wire.Ask]().Shape().Values) {
		t.Errorf("asks in classes: got %d, want all %d", total, len(wire.FormatOf[wire.Ask]().Shape().Values))
	}
}

// Old rows with retired values must stay readable.
func TestRetiredValuesAreReadable(t *testing.T) {
	t.Parallel()
	format := wire.FormatOf[wire.UIRow]()
	for _, text := range []string{
		`{"ts":1,"type":"ask","ask":"browser_action_launch"}`, `{"ts":1,"type":"say","say":"browser_action"}`,
		`{"ts":1,"type":"say","say":"browser_action_result"}`, `{"ts":1,"type":"say","say":"browser_session_status"}`,
	} {
		row, err := format.Decode([]byte(text))
		if err != nil {
			t.Errorf("decoding %s: got error %v, want none", text, err)
		}
		if !row.Ask.Retired() && !row.Say.Retired() {
			t.Errorf("%s is not retired", text)
		}
	}
	asks, says := 0, 0
	for _, a := range wire.FormatOf[wire.Ask]().Shape().Values {
		if !wire.Ask(a).Retired() {
			asks++
		}
	}
	for _, s := range wire.FormatOf[wire.Say]().Shape().Values {
		if !wire.Say(s).Retired() {
			says++
		}
	}
	if asks != 11 || says != 28 {
		t.Errorf("%d asks and %d says are in use, want 11 and 28", asks, says)
	}
}
