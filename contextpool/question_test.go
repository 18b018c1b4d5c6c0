package contextpool_test

import (
	"fmt"
	"testing"

	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// The answer to a question that the desktop state has dropped is shown in the archive.
func TestAnsweredLate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.direct("m1")
	r.step(func() {
		r.pool.Questions.AskUser(tools.Caller{Agent: run.Role, Turn: run.Turn}, contextpool.Inquiry{Prompt: &wire.Prompt{ID: "p", Message: "which one?"}})
	})
	ts := r.rowOf("which one?").TS
	for i := range 250 {
		r.step(func() {
			r.AddRow(wire.UIRow{Type: wire.RowSay, Say: wire.SayText, Text: fmt.Sprint("row ", i), MonitorID: first})
		})
	}
	if _, ok := r.desktop.Rows().Row(ts); ok {
		t.Fatal("got the row of the question on the desktop, want none")
	}
	r.step(func() {
		r.pool.Questions.CloseQuestion("", "p", contextpool.Reply{Reason: wire.ClosedAnswered, Response: wire.AnswerMessage, Text: "that one"})
	})
	if row := r.rowOf("which one?"); !row.IsAnswered || row.TS != ts {
		t.Errorf("the row of the question is %+v, want it answered at %d", row, ts)
	}
}
