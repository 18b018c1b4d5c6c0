package session_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

const firstMonitor wire.MonitorID = "monitor-0"

// Twelve messages arrive at once at a monitor whose agent is busy, and there is no free slot: ten
// are queued, two are refused, and each has one end, in the order of arrival.
func TestQueueKeepsOrder(t *testing.T) {
	t.Parallel()
	for name, open := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			o := startAgentHub(t, s, hubConfig{limits: agentpool.Limits{Agents: 1}})
			d := o.newDesktop(t, "ses-1")
			d.sendText(firstMonitor, "busy", "/nosteer", "/say wait", "/hang")
			d.waitTurnOutput("busy")
			var commands []session.Command
			var ids []wire.MessageID
			for i := range 12 {
				id := wire.MessageID(fmt.Sprintf("m%d", i))
				ids = append(ids, id)
				commands = append(commands, command("conn", id, wire.UserMessage{Content: "/say " + string(id)}))
			}
			_, err := d.handle.DeliverAll(t.Context(), commands)
			requireNoError(t, err)
			for _, id := range ids[10:] {
				if r := waitEvent(t, d.eventLog, isAbout[wire.MessageRejected](id)); r.Code != wire.CodeQueueFull || r.MonitorID != firstMonitor {
					t.Errorf("%s is refused with %+v, want code %s on %s", id, r, wire.CodeQueueFull, firstMonitor)
				}
			}
			for i, id := range ids[:10] {
				if q := waitEvent(t, d.eventLog, isAbout[wire.MessageQueued](id)); q.Position != i+1 {
					t.Errorf("%s waits at %d, want %d", id, q.Position, i+1)
				}
			}
			if n := len(d.snapshot().Queues); n != 1 || len(d.snapshot().Queues[0].Value) != 10 {
				t.Errorf("a new tab sees the queues %+v, want one of 10 messages", d.snapshot().Queues)
			}
			d.send("", wire.Interrupt{Scope: wire.ScopeAgent, AgentID: "main-monitor-0-busy"})
			d.waitTurnEnd("m9")
			var began, ended []wire.MessageID
			for _, e := range d.all() {
				switch p := e.Data.(type) {
				case wire.MessageAccepted:
					began = append(began, p.MessageID)
				case wire.AgentResponse:
					if p.IsComplete {
						ended = append(ended, p.MessageID)
					}
				}
			}
			want := append([]wire.MessageID{"busy"}, ids[:10]...)
			if !slices.Equal(began, want) || !slices.Equal(ended, want) {
				t.Errorf("they began as %v and ended as %v, want both times %v", began, ended, want)
			}
			for _, id := range ids[:10] {
				if d.turnText(id) != string(id) {
					t.Errorf("%s was answered with %q, want its own id", id, d.turnText(id))
				}
			}
			d.waitIdle()
		})
	}
}

// A repeated message gets the first answer again, whatever that was, and has no other effect.
func TestRepeatedMessagesGetTheSameAnswer(t *testing.T) {
	t.Parallel()
	for name, open := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			roomy := startAgentHub(t, s, hubConfig{})
			narrow := startAgentHub(t, s, hubConfig{replica: "b", limits: agentpool.Limits{PerSession: 1}})
			again := func(d *testDesktop, id wire.MessageID, text string) wire.ServerPayload {
				t.Helper()
				return d.sendAndWaitAs("other", id, wire.UserMessage{Content: text})
			}
			once := func(d *testDesktop, id wire.MessageID) {
				t.Helper()
				d.send("", wire.Interrupt{Queues: wire.QueuesDrop})
				d.waitIdle()
				rows := 0
				for _, u := range payloads[wire.MessageUpdated](d.all()) {
					if u.Message.MessageID == id && u.Message.Say == wire.SayUserFeedback {
						rows++
					}
				}
				if rows != 1 {
					t.Errorf("%s is %d times in the conversation, want 1", id, rows)
				}
			}
			t.Run("direct", func(t *testing.T) {
				t.Parallel()
				d := roomy.newDesktop(t, "ses-direct")
				want := wire.MessageAccepted{MessageID: "m", AgentID: "main-monitor-0-m", MonitorID: firstMonitor, How: wire.TakenDirect, By: "conn"}
				if got := d.sendAndWait("m", wire.UserMessage{Content: "/say hi"}); got != want {
					t.Errorf("the answer is %+v, want %+v", got, want)
				}
				want.By, want.To, want.Duplicate = "", "other", true
				if got := again(d, "m", "/say hi"); got != want {
					t.Errorf("while it runs the answer is %+v, want %+v", got, want)
				}
				d.waitTurnEnd("m")
				if got := again(d, "m", "/say hi"); got != want {
					t.Errorf("after its end the answer is %+v, want %+v", got, want)
				}
				if d.turnText("m") != "hi" {
					t.Errorf(`it said %q, want "hi"`, d.turnText("m"))
				}
				once(d, "m")
			})
			t.Run("steered", func(t *testing.T) {
				t.Parallel()
				d := roomy.newDesktop(t, "ses-steered")
				d.sendText(firstMonitor, "m1", "/say one", "/sleep 1h")
				d.waitTurnOutput("m1")
				want := wire.MessageAccepted{MessageID: "m2", AgentID: "main-monitor-0-m1", MonitorID: firstMonitor, How: wire.TakenSteered, By: "conn"}
				if got := d.sendAndWait("m2", wire.UserMessage{Content: "/say two"}); got != want {
					t.Errorf("the answer is %+v, want %+v", got, want)
				}
				want.By, want.To, want.Duplicate = "", "other", true
				if got := again(d, "m2", "/say two"); got != want {
					t.Errorf("the answer is then %+v, want %+v", got, want)
				}
				once(d, "m2")
			})
			t.Run("pending", func(t *testing.T) {
				t.Parallel()
				d := roomy.newDesktop(t, "ses-pending")
				d.sendText(firstMonitor, "m1", "/ask Which? | a | b")
				p := waitEvent(t, d.eventLog, anyOf[wire.Actions])
				d.sendText("", "m2", "/say two") // it is read when the question is answered
				waits := wire.MessageQueued{MessageID: "m2", Position: 1, MonitorID: firstMonitor, To: "other", Duplicate: true}
				if got := again(d, "m2", "/say two"); got != waits {
					t.Errorf("the repeated message gets %+v, want %+v", got, waits)
				}
				prompt, _ := p.Actions[0].(wire.PromptShow)
				d.send("answer", wire.UserPromptResponse{PromptID: prompt.ID, SelectedValues: []string{"a"}})
				d.waitTurnEnd("m1")
				want := wire.MessageAccepted{
					MessageID: "m2", AgentID: "main-monitor-0-m1", MonitorID: firstMonitor, How: wire.TakenSteered, To: "other", Duplicate: true,
				}
				own := want // the turn may end before the message has joined it
				own.AgentID, own.How = "main-monitor-0-m2", wire.TakenDirect
				got := again(d, "m2", "/say two")
				text := d.turnText("m1")
				if got == own {
					d.waitTurnEnd("m2")
					text += "\n" + d.turnText("m2")
				} else if got != want {
					t.Errorf("the message repeated again gets %+v, want %+v or %+v", got, want, own)
				}
				if text != `{"selected":["a"]}`+"\ntwo" {
					t.Errorf("it said %q, want the answer a, then two", text)
				}
				once(d, "m2")
			})
			t.Run("ephemeral", func(t *testing.T) {
				t.Parallel()
				d := roomy.newDesktop(t, "ses-ephemeral")
				d.sendText(firstMonitor, "m1", "/nosteer", "/say one", "/hang")
				d.waitTurnOutput("m1")
				want := wire.MessageAccepted{
					MessageID: "m2", AgentID: "ephemeral-monitor-0-m2", MonitorID: firstMonitor, How: wire.TakenEphemeral, By: "conn",
				}
				if got := d.sendAndWait("m2", wire.UserMessage{Content: "/say two"}); got != want {
					t.Errorf("the answer is %+v, want %+v", got, want)
				}
				if e := d.waitTurnEnd("m2"); e.Outcome != wire.OutcomeCompleted || d.turnText("m2") != "two" {
					t.Errorf(`it said %q and ended with %+v, want "two" and %s`, d.turnText("m2"), e, wire.OutcomeCompleted)
				}
				want.By, want.To, want.Duplicate = "", "other", true
				if got := again(d, "m2", "/say two"); got != want {
					t.Errorf("the answer is then %+v, want %+v", got, want)
				}
				once(d, "m2")
			})
			t.Run("queued and rejected", func(t *testing.T) {
				t.Parallel()
				d := narrow.newDesktop(t, "ses-queued")
				d.sendText(firstMonitor, "m1", "/nosteer", "/say one", "/hang")
				d.waitTurnOutput("m1")
				want := wire.MessageQueued{MessageID: "q1", Position: 1, MonitorID: firstMonitor, By: "conn"}
				if got := d.sendAndWait("q1", wire.UserMessage{Content: "/nosteer\n/say q\n/hang"}); got != want {
					t.Errorf("the answer is %+v, want %+v", got, want)
				}
				want.By, want.To, want.Duplicate = "", "other", true
				if got := again(d, "q1", "/nosteer\n/say q\n/hang"); got != want {
					t.Errorf("the answer is then %+v, want %+v", got, want)
				}
				for i := range 9 {
					d.sendAndWait(wire.MessageID(fmt.Sprintf("q%d", i+2)), wire.UserMessage{Content: "/say x"})
				}
				reject, _ := d.sendAndWait("r", wire.UserMessage{Content: "/say r"}).(wire.MessageRejected)
				if reject.Code != wire.CodeQueueFull || reject.Duplicate {
					t.Errorf("the answer is %+v, want code %s, no duplicate", reject, wire.CodeQueueFull)
				}
				reject.By, reject.To, reject.Duplicate = "other", "other", true
				if got := again(d, "r", "/say r"); got != reject {
					t.Errorf("the answer is then %+v, want %+v", got, reject)
				}
				d.send("", wire.Interrupt{})
				d.waitTurnOutput("q1")
				accepted := wire.MessageAccepted{
					MessageID: "q1", AgentID: "main-monitor-0-q1", MonitorID: firstMonitor, How: wire.TakenDirect, To: "other", Duplicate: true,
				}
				if got := again(d, "q1", "/nosteer\n/say q\n/hang"); got != accepted {
					t.Errorf("when it runs the answer is %+v, want %+v", got, accepted)
				}
				once(d, "q1")
			})
		})
	}
}

// A message to a window is in the conversation of the window's monitor. One that names a monitor that
// does not exist is in no conversation, because only existing monitors have an archive.
func TestMonitorOfAWindowMessage(t *testing.T) {
	t.Parallel()
	o := startAgentHub(t, newFileDeployment(t), hubConfig{})
	d := o.newDesktop(t, "ses-1")
	d.sendText(firstMonitor, "open", openWindowDirective("w"))
	d.waitTurnEnd("open")
	for id, data := range map[wire.MessageID]wire.ClientPayload{
		"text":   wire.WindowMessage{MonitorID: backgroundMonitor, WindowID: "w", Content: "/say hi"},
		"button": wire.ComponentAction{MonitorID: backgroundMonitor, WindowID: "w", Action: "go"},
	} {
		want := wire.MessageRejected{
			MessageID: id, Code: wire.CodeSessionInvalidState, Reason: `there is no window "w"`, MonitorID: firstMonitor, By: "conn",
		}
		if got := d.sendAndWait(id, data); got != want {
			t.Errorf("%s is answered with %+v, want %+v", id, got, want)
		}
	}
	d.send("whole", wire.WindowMessage{MonitorID: backgroundMonitor, WindowID: "monitor-0/w", Content: "/say hi"})
	d.waitTurnEnd("whole")
	d.waitIdle()
	rows := d.snapshot().RecentMessages
	for _, row := range rows {
		if row.MonitorID != firstMonitor || row.MessageID == "text" || row.MessageID == "button" {
			t.Errorf("there is a row of %s on %s, want only those of %s", row.MessageID, row.MonitorID, firstMonitor)
		}
	}
	if got, want := len(readArchive(t, o.Hub, firstMonitor, 100)), len(rows); got != want {
		t.Errorf("the archive has %d rows, want %d as the desktop", got, want)
	}
}
