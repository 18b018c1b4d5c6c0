package session_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// again is a hub after a crash of the last one, which had the same name.
func (o *office) again(t *testing.T, cfg hubConfig) *office {
	t.Helper()
	o.stop()
	return agentHub(t, o.site, cfg)
}

// A hub crashes in the middle of turns: what waits runs on, what ran goes on,
// what was asked is still asked, and nothing is done twice.
func TestTurnsOutliveACrash(t *testing.T) {
	t.Parallel()
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			cfg := hubConfig{limits: agentpool.Limits{Agents: 2}}
			o := agentHub(t, s, cfg)
			d := o.newDesktop(t, "ses-1")
			d.say(first, "m1", "/nosteer", "/say one", opening("w"), `/call window:update {"windowId":"w","operation":"append","content":" more"}`,
				"/ask Which? | a | b", "/say after", opening("w2"))
			p := d.asked("main-monitor-0-m1")
			d.say("monitor-1", "a1", "/nosteer", hook)
			q := when(t, d.diary, any1[wire.ApprovalRequest])
			for i := range 3 {
				d.ask(wire.MessageID(fmt.Sprintf("q%d", i)), wire.UserMessage{Content: fmt.Sprintf("/say queued %d", i)})
			}
			before := d.snapshot()
			o = o.again(t, cfg)
			d = o.enter(t, "ses-1")
			now := d.snapshot()
			if len(now.Prompts) != 1 || now.Prompts[0].ID != p.ID || now.Prompts[0].Deadline != before.Prompts[0].Deadline {
				t.Errorf("the prompts were %+v and are %+v", before.Prompts, now.Prompts)
			}
			if len(now.Dialogs) != 1 || now.Dialogs[0].DialogID != q.DialogID || now.Dialogs[0].Deadline != before.Dialogs[0].Deadline {
				t.Errorf("the dialogs were %+v and are %+v", before.Dialogs, now.Dialogs)
			}
			d.send("", wire.UserPromptResponse{PromptID: p.ID, SelectedValues: []string{"b"}})
			d.send("", wire.DialogFeedback{DialogID: q.DialogID, Confirmed: true})
			d.rest()
			if got := d.said("m1"); !strings.HasPrefix(got, "one\n") || !strings.HasSuffix(got, "{\"selected\":[\"b\"]}\nafter") {
				t.Errorf("the turn said %q", got)
			}
			if got := d.said("a1"); !strings.Contains(got, "Added hook-1") {
				t.Errorf("the other turn said %q", got)
			}
			for i := range 3 {
				if got := d.said(wire.MessageID(fmt.Sprintf("q%d", i))); got != fmt.Sprintf("queued %d", i) {
					t.Errorf("what waited said %q", got)
				}
			}
			for _, w := range d.snapshot().Windows {
				if w.WindowID == "w" && w.Content != (wire.MarkdownContent{Data: "hello more"}) {
					t.Errorf("the window shows %+v", w.Content)
				}
			}
			if got := d.windows(first); fmt.Sprint(got) != "[w w2]" {
				t.Errorf("the windows are %v", got)
			}
			asked := 0
			for _, p := range find[wire.Actions](d.all()) {
				if _, is := p.Actions[0].(wire.PromptShow); is {
					asked++
				}
			}
			if n := len(find[wire.ApprovalRequest](d.all())); n != 1 || asked != 1 {
				t.Errorf("two questions were asked %d and %d times", asked, n)
			}
		})
	}
}

// A tool that is neither known to have run nor not to have is not run again. The
// user is asked whether the turn goes on.
func TestAToolThatMayHaveRun(t *testing.T) {
	t.Parallel()
	for _, yes := range []bool{true, false} {
		t.Run(strconv.FormatBool(yes), func(t *testing.T) {
			t.Parallel()
			for name, open := range stores() {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					s := open(t)
					o := agentHub(t, s, hubConfig{})
					d := o.newDesktop(t, "ses-1")
					d.appWindow(first)
					d.send("", wire.AppProtocolReady{WindowID: "app"})
					d.say(first, "m1", "/nosteer", "/say one", command, "/say two")
					d.request("m1")
					o = o.again(t, hubConfig{})
					d = o.enter(t, "ses-1")
					e := d.ends("m1")
					if e.Outcome != wire.OutcomeInterrupted || !strings.Contains(e.Reason, "window:app_command may or may not have run") {
						t.Errorf("it ended with %+v", e)
					}
					cut := when(t, d.diary, any1[wire.TurnInterrupted])
					if !cut.Resumable || cut.MessageID != "m1" || cut.AgentID != "main-monitor-0-m1" {
						t.Errorf("everybody hears %+v", cut)
					}
					row := when(t, d.diary, func(u wire.MessageUpdated) bool { return u.Message.Ask == wire.AskResumeTask }).Message
					if row.MonitorID != first || row.IsAnswered {
						t.Errorf("the question is %+v", row)
					}
					response := wire.AnswerNo
					if yes {
						response = wire.AnswerYes
					}
					d.send("", wire.AskResponse{TS: row.TS, Response: response})
					when(t, d.diary, func(u wire.MessageUpdated) bool { return u.Message.TS == row.TS && u.Message.IsAnswered })
					resumed := wire.MessageID(fmt.Sprintf("resume-%d", row.TS))
					if yes {
						q := d.request(resumed) // the demo does everything again that it is told
						d.answer("tab", q, wire.AppCommandResponse{Result: json.RawMessage(`"moved"`)})
						d.ends(resumed)
					}
					d.rest()
					if fates(d.all())[resumed] != nil != yes {
						t.Errorf("the turn went on: %v", !yes)
					}
					if n := len(find[wire.AppProtocolRequest](d.all())); n != 1 && !yes || n != 2 && yes {
						t.Errorf("the app was asked %d times", n)
					}
					if got := d.said("m1"); got != "one" {
						t.Errorf("the first turn said %q", got)
					}
				})
			}
		})
	}
}

// Owners lose the session again and again while a turn works. Each thing it does
// is done once.
func TestNothingIsDoneTwice(t *testing.T) {
	t.Parallel()
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			o := agentHub(t, s, hubConfig{logger: silence()})
			for n := range 4 {
				t.Run(strconv.Itoa(n), func(t *testing.T) {
					t.Parallel()
					d := o.newDesktop(t, wire.SessionID(fmt.Sprintf("ses-%d", n)))
					lines := []string{"/nosteer", opening("w")}
					var want strings.Builder
					want.WriteString("hello")
					for i := range 30 {
						lines = append(lines, fmt.Sprintf(`/call window:update {"windowId":"w","operation":"append","content":" %d"}`, i), "/sleep 1ms")
						fmt.Fprintf(&want, " %d", i)
					}
					d.say(first, "m", append(lines, "/say done")...)
					for i := range 2 { // a turn is begun three times at most
						at := 5 + 9*i + n
						when(t, d.diary, func(p wire.ToolProgress) bool { return strings.Contains(string(p.ToolInput), fmt.Sprintf(`" %d"`, at)) })
						_, err := o.store.Claim(t.Context(), d.id, "a", time.Minute) // which ends the lease there is
						ok(t, err)
					}
					if e := d.ends("m"); e.Outcome != wire.OutcomeCompleted || !strings.HasSuffix(d.said("m"), "done") {
						t.Errorf("it said %q and ended with %+v", d.said("m"), e)
					}
					d.rest()
					if w := d.snapshot().Windows; len(w) != 1 || w[0].Content != (wire.MarkdownContent{Data: want.String()}) {
						t.Errorf("the window shows %+v", w)
					}
				})
			}
		})
	}
}

// A session is handed over in the middle of a turn: a tool that is under way may
// end, and the turn goes on elsewhere.
func TestDrainInTheMiddleOfATurn(t *testing.T) {
	t.Parallel()
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			a := agentHub(t, s, hubConfig{})
			b := agentHub(t, s, hubConfig{replica: "b"})
			d := a.newDesktop(t, "ses-1")
			far := b.enter(t, "ses-1")
			d.appWindow(first)
			d.send("", wire.AppProtocolReady{WindowID: "app"})
			d.say(first, "m1", "/nosteer", "/say one", command, opening("w"), "/say two")
			q := d.request("m1")
			done := make(chan struct{})
			go func() {
				defer close(done)
				a.Drain(t.Context())
			}()
			when(t, d.diary, any1[wire.AppProtocolRequest])
			far.answer("tab", q, wire.AppCommandResponse{Result: json.RawMessage(`"moved"`)}) // through the inbox
			<-done
			when(t, far.diary, func(o wire.OwnerChanged) bool { return o.Replica == "b" })
			far.ends("m1")
			far.rest()
			if got := far.said("m1"); got != "one\n\"moved\"\ntwo" {
				t.Errorf("the turn said %q", got)
			}
			if n := len(find[wire.AppProtocolRequest](far.all())); n != 1 {
				t.Errorf("the app was asked %d times", n)
			}
			if got := far.windows(first); fmt.Sprint(got) != "[app w]" {
				t.Errorf("the windows are %v", got)
			}
		})
	}
}

// The owner is gone without a word. Who follows takes over when the lease has run
// out, and goes on with everything.
func TestFollowerGoesOnWithTurns(t *testing.T) {
	t.Parallel()
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			// The lease is long enough for a busy machine to renew it in time.
			a := agentHub(t, s, hubConfig{session: session.Config{Lease: 3 * time.Second}, logger: silence()})
			b := agentHub(t, s, hubConfig{replica: "b"})
			a.newDesktop(t, "ses-1")
			far := b.enter(t, "ses-1")
			far.say(first, "m1", "/nosteer", "/think hmm", "/say one", opening("w"), "/say two", "/ask Which? | a | b")
			p := far.asked("main-monitor-0-m1")
			a.stop()
			far.say(first, "m2", "/say three")
			when(t, far.diary, func(o wire.OwnerChanged) bool { return o.Replica == "b" })
			far.send("", wire.UserPromptResponse{PromptID: p.ID, SelectedValues: []string{"a"}})
			far.rest()
			if got := far.said("m1"); got != "one\ntwo\n{\"selected\":[\"a\"]}" {
				t.Errorf("the turn said %q", got)
			}
			if far.said("m2") != "three" {
				t.Errorf("what came meanwhile said %q", far.said("m2"))
			}
		})
	}
}
