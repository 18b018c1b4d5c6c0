package session_test

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// rowOf is the newest visible row of the user with a text.
func (d *testDesktop) rowOf(text string) wire.UIRow {
	d.t.Helper()
	var found wire.UIRow
	for _, row := range d.snapshot().RecentMessages {
		if row.Say == wire.SayUserFeedback && strings.Contains(row.Text, text) {
			found = row
		}
	}
	if found.ID == 0 {
		d.t.Fatalf("no row says %q, want one", text)
	}
	return found
}

// visibleRows returns the rows of the first monitor as text, without the ends of turns.
func (d *testDesktop) visibleRows() string {
	d.t.Helper()
	var out []string
	for _, row := range d.snapshot().RecentMessages {
		if row.MonitorID == firstMonitor && (row.Say == wire.SayText || row.Say == wire.SayUserFeedback) {
			out = append(out, row.Text)
		}
	}
	return strings.Join(out, "; ")
}

// A conversation is rewound, and a message edited; the next owner has the same state.
func TestRewind(t *testing.T) {
	t.Parallel()
	for name, open := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			o := startAgentHub(t, s, hubConfig{})
			d := o.newDesktop(t, "ses-1")
			for i, word := range []string{"xyzzy", "plugh", "plover"} {
				id := wire.MessageID(fmt.Sprintf("m%d", i))
				d.sendText(firstMonitor, id, "/say the word is "+word)
				d.waitTurnEnd(id)
			}
			target := d.rowOf("/say the word is plugh")
			undo := wire.Rewind{TS: target.TS, Revision: new(0)}
			done, is := d.sendAndWait("r1", undo).(wire.HistoryRewound)
			if !is || done.Removed != 6 || done.Revision != 1 || done.By != "conn" || done.MessageID != "r1" {
				t.Fatalf("got %+v, want 6 removed rows in revision 1 by conn for r1", done)
			}
			if again, is := d.sendAndWait("r1", undo).(wire.MessageRepeated); !is {
				t.Errorf("a repeated rewind is answered with %+v, want a MessageRepeated", again)
			}
			if got := d.visibleRows(); got != "/say the word is xyzzy; the word is xyzzy" {
				t.Errorf("the visible rows are %q, want those of the first turn", got)
			}
			refusals := map[string]wire.ClientPayload{
				"3008 1": wire.Rewind{TS: target.TS},
				"3008 2": wire.Rewind{TS: d.rowOf("xyzzy").TS, Revision: new(0)},
				"3008 3": wire.EditMessage{TS: target.TS, Text: "x"},
				"3003 4": wire.Rewind{TS: d.rowOf("xyzzy").TS, RestoreCheckpoint: true},
				"3003 5": wire.EditMessage{TS: d.rowOf("xyzzy").TS, Text: "x", RestoreCheckpoint: true},
			}
			for want, cmd := range refusals {
				no, is := d.sendAndWait(wire.MessageID(want), cmd).(wire.MessageRejected)
				if !is || strconv.Itoa(int(no.Code)) != want[:4] || no.To != "conn" {
					t.Errorf("%s is answered with %+v, want that code to conn", want, no)
				}
			}
			o = o.restart(t, hubConfig{})
			d = o.openDesktop(t, "ses-1")
			d.sendText(firstMonitor, "m9", "/recall")
			d.waitTurnEnd("m9")
			if got := d.turnText("m9"); !strings.Contains(got, "xyzzy") || strings.Contains(got, "plugh") || strings.Contains(got, "plover") {
				t.Errorf("the agent remembers %q, want xyzzy without plugh and plover", got)
			}
			edit := wire.EditMessage{TS: d.rowOf("/say the word is xyzzy").TS, Text: "/say the word is frotz"}
			if a, is := d.sendAndWait("e1", edit).(wire.MessageAccepted); !is || a.How != wire.TakenDirect {
				t.Fatalf("got %+v, want a directly accepted message", a)
			}
			d.waitTurnEnd("e1")
			if a, is := d.sendAndWait("e1", edit).(wire.MessageAccepted); !is || !a.Duplicate {
				t.Errorf("a repeated edit is answered with %+v, want a duplicate", a)
			}
			if got := d.visibleRows(); got != "/say the word is frotz; the word is frotz" {
				t.Errorf("the visible rows are %q, want those of frotz", got)
			}
			if got := d.conversation(s, "main-monitor-0"); !strings.Contains(got, "frotz") || strings.Contains(got, "xyzzy") {
				t.Errorf("the agent knows %q, want frotz without xyzzy", got)
			}
			d.waitIdle()
		})
	}
}

// A repeated REWIND or CONDENSE gets the first answer again.
func TestRepeatedCommandsGetTheSameAnswer(t *testing.T) {
	t.Parallel()
	o := startAgentHub(t, newFileDeployment(t), hubConfig{})
	d := o.newDesktop(t, "ses-1")
	for i := range 4 {
		id := wire.MessageID(fmt.Sprintf("m%d", i))
		d.sendText(firstMonitor, id, fmt.Sprintf("/say word %d", i))
		d.waitTurnEnd(id)
	}
	tab := attachTab(t, d.handle, "conn-a")
	for name, cmd := range map[wire.MessageID]wire.ClientPayload{
		"rewind": wire.Rewind{TS: d.rowOf("/say word 3").TS}, "condense": wire.Condense{},
	} {
		var answers [2]wire.Emitted
		for i := range answers {
			deliver(t, d.handle, command("conn-a", name, cmd))
			answers[i] = nextEvent(t, tab, func(e wire.Emitted) bool { return e.MessageID == name })
		}
		if answers[0] != answers[1] {
			t.Errorf("%s is answered with %+v, then with %+v, want the same", name, answers[0], answers[1])
		}
	}
	d.waitIdle()
}

// A blank message starts no turn.
func TestBlankMessagesAreRefused(t *testing.T) {
	t.Parallel()
	o := startAgentHub(t, newFileDeployment(t), hubConfig{})
	d := o.newDesktop(t, "ses-1")
	d.sendText(firstMonitor, "m1", "/say one")
	d.waitTurnEnd("m1")
	ts := d.rowOf("/say one").TS
	for name, c := range map[wire.MessageID]struct {
		cmd   wire.ClientPayload
		field string
	}{
		"empty":  {wire.UserMessage{}, "content"},
		"blank":  {wire.UserMessage{Content: " \n\t\u00a0"}, "content"},
		"window": {wire.WindowMessage{WindowID: "w", Content: " "}, "content"},
		"edit":   {wire.EditMessage{TS: ts, Text: "\n"}, "text"},
	} {
		no, is := d.sendAndWait(name, c.cmd).(wire.MessageRejected)
		if !is || no.Code != wire.CodeInvalidMessage || no.Field != c.field {
			t.Errorf("%s: answered with %+v, want code %d for %s", name, no, wire.CodeInvalidMessage, c.field)
		}
	}
	if got := d.visibleRows(); got != "/say one; one" {
		t.Errorf("people see %q, want what they saw before", got)
	}
	picture := wire.UserMessage{Interactions: []wire.UserInteraction{{Type: "draw", ImageData: onePixel}}}
	if a, is := d.sendAndWait("picture", picture).(wire.MessageAccepted); !is {
		t.Errorf("a picture without a text: %+v, want it accepted", a)
	}
	d.waitTurnEnd("picture")
	d.waitIdle()
}

// hasNewestRows checks that the archive of the first monitor has n rows and that
// the snapshot has the newest of them, as many as fit.
func hasNewestRows(o *agentHub, d *testDesktop, n int) {
	d.t.Helper()
	page, err := o.Rows(d.t.Context(), "ses-1", session.RowQuery{Monitor: firstMonitor, Limit: 1000})
	requireNoError(d.t, err)
	want := page.Rows[max(len(page.Rows)-desktop.MaxRows, 0):]
	if got := d.snapshot().RecentMessages; len(page.Rows) != n || !reflect.DeepEqual(got, want) {
		d.t.Errorf("the archive has %d rows, want %d; the snapshot has %d, want the newest %d", len(page.Rows), n, len(got), len(want))
	}
}

// A row that the desktop state does not have any more can be rewound to, and edited.
func TestRewindToAnOldRow(t *testing.T) {
	t.Parallel()
	for name, open := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			o := startAgentHub(t, s, hubConfig{})
			d := o.newDesktop(t, "ses-1")
			var old, answer wire.UIRow
			for i := range 90 { // three rows each
				id := wire.MessageID(fmt.Sprintf("m%d", i))
				d.sendText(firstMonitor, id, fmt.Sprintf("/say word %d", i))
				d.waitTurnEnd(id)
				if i == 5 {
					old = d.rowOf("/say word 5")
					rows := d.snapshot().RecentMessages
					answer = rows[len(rows)-1]
				}
			}
			o = o.restart(t, hubConfig{})
			d = o.openDesktop(t, "ses-1")
			if rows := d.snapshot().RecentMessages; rows[0].ID <= answer.ID {
				t.Fatalf("the oldest row of the desktop is %d, want one after %d", rows[0].ID, answer.ID)
			}
			d.sendAndWait("r", wire.Rewind{TS: d.rowOf("/say word 85").TS})
			hasNewestRows(o, d, 85*3)
			if a, is := d.sendAndWait("e", wire.EditMessage{TS: answer.TS, Text: "/say other word"}).(wire.MessageAccepted); !is {
				t.Fatalf("got %+v, want an accepted message", a)
			}
			d.waitTurnEnd("e")
			hasNewestRows(o, d, 5*3+3)
			if e := waitEvent(t, d.eventLog, func(e wire.HistoryRewound) bool { return e.Revision == 2 }); e.TS != old.TS || e.Removed != 80*3 {
				t.Errorf("got %+v, want 240 removed rows from the old one on", e)
			}
			page, err := o.Rows(t.Context(), "ses-1", session.RowQuery{Monitor: firstMonitor, Limit: 1000})
			requireNoError(t, err)
			if n := len(page.Rows); n != 18 || page.Rows[14].Text == "" || page.Rows[15].Text != "/say other word" {
				t.Errorf(`there are %d rows, want 18 with "/say other word" as number 15: %+v`, n, page.Rows)
			}
			got := d.conversation(s, "main-monitor-0")
			if !strings.Contains(got, "word 4") || strings.Contains(got, "word 5") || !strings.Contains(got, "other word") {
				t.Errorf("the agent knows %q, want word 4 and other word without word 5", got)
			}
			d.sendAndWait("r2", wire.Rewind{TS: page.Rows[3].TS})
			hasNewestRows(o, d, 3)
			d.waitIdle()
		})
	}
}

// A rewind ends a running turn and rejects a queued message.
func TestRewindOfRunningTurns(t *testing.T) {
	t.Parallel()
	o := startAgentHub(t, newFileDeployment(t), hubConfig{})
	d := o.newDesktop(t, "ses-1")
	d.sendText(firstMonitor, "m1", "/say one")
	d.waitTurnEnd("m1")
	d.sendText(firstMonitor, "m2", "/say two", "/sleep 10m", "/say three")
	d.waitTurnOutput("m2")
	d.sendAndWait("r", wire.Rewind{TS: d.rowOf("/sleep 10m").TS})
	if end := d.waitTurnEnd("m2"); end.Outcome != wire.OutcomeInterrupted {
		t.Errorf("got %+v, want an interrupted turn", end)
	}
	d.sendText(firstMonitor, "m3", "/recall")
	d.waitTurnEnd("m3")
	if got := d.turnText("m3"); !strings.Contains(got, "one") || strings.Contains(got, "two") {
		t.Errorf("the agent remembers %q, want one without two", got)
	}
	d.waitIdle()
}

// Of several concurrent rewinds one wins, and the others are refused, at every replica.
func TestConcurrentRewinds(t *testing.T) {
	t.Parallel()
	for name, open := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			d := startAgentHub(t, s, hubConfig{}).newDesktop(t, "ses-1")
			d.sendText(firstMonitor, "m1", "/say one")
			d.waitTurnEnd("m1")
			d.sendText(firstMonitor, "m2", "/say two")
			d.waitTurnEnd("m2")
			deliverBarrier(t, d.handle)
			other := startAgentHub(t, s, hubConfig{replica: "b"}).openDesktop(t, "ses-1")
			one, two := d.rowOf("/say one").TS, d.rowOf("/say two").TS
			var wg sync.WaitGroup
			results := make([]wire.ServerPayload, 4)
			for i, from := range []*testDesktop{d, other, d, other} {
				wg.Go(func() {
					conn := wire.ConnectionID(fmt.Sprintf("conn-%d", i))
					ts := one
					if i%2 == 1 {
						ts = two
					}
					results[i] = from.sendAndWaitAs(conn, wire.MessageID(fmt.Sprintf("r%d", i)), wire.Rewind{TS: ts, Revision: new(0)})
				})
			}
			wg.Wait()
			won := 0
			for _, r := range results {
				switch r := r.(type) {
				case wire.HistoryRewound:
					won++
				case wire.MessageRejected:
					if r.Code != wire.CodeHistoryChanged {
						t.Errorf("got %+v, want the code for a changed history", r)
					}
				default:
					t.Errorf("got %+v, want a rewound history or a rejection", r)
				}
			}
			if won != 1 {
				t.Errorf("%d commands have won, want 1", won)
			}
			if m := d.snapshot().Monitors[0]; m.Revision != 1 {
				t.Errorf("got %+v, want revision 1", m)
			}
		})
	}
}
