package acp

import (
	"net/url"
	"testing"

	"go.uber.org/goleak"

	"github.com/everdesk/everdesk/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A client loads a session while a turn runs. It gets the text in the rows that the state holds, and what the turn
// has said since, once.
func TestLoadingARunningTurnSendsItsTextOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		rows []string
		want string
	}{
		"all rows":               {"one two three", []string{"one ", "two "}, "one two three"},
		"the newest row":         {"one two three", []string{"two "}, "two three"},
		"no row of the turn":     {"one two three", nil, "one two three"},
		"a row that comes again": {"one two one three", []string{"one "}, "one two one three"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ""
			tr := newTranslator("", &url.URL{}, func(wire.MessageID) bool { return false }, func(u update) {
				if b, ok := u.Content.(block); ok && u.Kind == updateAgent {
					got += b.Text
				}
			})
			s := wire.SessionState{Agents: []wire.AgentState{{Role: "main-monitor-0-m1", Kind: wire.AgentMain, Status: wire.AgentStatusRunning, MessageID: "m1", Text: c.text}}}
			for i, text := range c.rows {
				s.RecentMessages = append(s.RecentMessages, wire.UIRow{TS: wire.Millis(i + 1), Type: wire.RowSay, Say: wire.SayText, Text: text, MessageID: "m1"})
			}
			tr.replay(&s)
			tr.restart(&s)
			if got != c.want {
				t.Errorf("text %q, want %q", got, c.want)
			}
		})
	}
}
