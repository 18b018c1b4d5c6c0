package history_test

import (
	"testing"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/wire"
)

func TestRowsGrow(t *testing.T) {
	t.Parallel()
	thought := func(text string) wire.UIRow {
		return wire.UIRow{Type: wire.RowSay, Say: wire.SayReasoning, Text: text, Checkpoint: []byte(`{}`)}
	}
	atOnce, action := history.NextVersion(nil, thought("all"), false)
	if action != wire.RowCreated || atOnce.Partial != nil || history.IsPartial(atOnce) || string(atOnce.Checkpoint) != "{}" {
		t.Errorf("a row that is complete at once is %s as %+v, want it %s, not partial, with its checkpoint", action, atOnce, wire.RowCreated)
	}
	begun, action := history.NextVersion(nil, thought("a"), true)
	if action != wire.RowCreated || !history.IsPartial(begun) || begun.Checkpoint != nil {
		t.Errorf("a row that grows is %s as %+v, want it %s, partial, without a checkpoint", action, begun, wire.RowCreated)
	}
	begun.ID, begun.TS = 7, 70
	more, action := history.NextVersion(&begun, thought("ab"), true)
	if action != wire.RowUpdated || !history.IsPartial(more) || more.ID != 7 || more.TS != 70 || more.Text != "ab" {
		t.Errorf("its next version is %s as %+v, want it %s, partial, with the same id and time", action, more, wire.RowUpdated)
	}
	whole, action := history.NextVersion(&more, thought("abc"), false)
	if action != wire.RowUpdated || whole.Partial == nil || *whole.Partial || whole.ID != 7 || whole.TS != 70 || whole.Checkpoint != nil {
		t.Errorf("its last version is %s as %+v, want it %s, not partial, with the same id and time", action, whole, wire.RowUpdated)
	}
	// A complete row gets no further version, and a row never changes its kind.
	for _, before := range []wire.UIRow{whole, atOnce, {Type: wire.RowSay, Say: wire.SayText, ID: 7, TS: 70, Partial: new(true)}} {
		if other, action := history.NextVersion(&before, thought("d"), false); action != wire.RowCreated || other.ID != 0 || other.TS != 0 || other.Partial != nil {
			t.Errorf("after %+v comes %s as %+v, want a new row, %s", before, action, other, wire.RowCreated)
		}
	}
	for _, row := range []wire.UIRow{atOnce, begun, more, whole} {
		done := history.FinalVersion(row)
		if history.IsPartial(done) || done.Text != row.Text || done.ID != row.ID || (done.Partial == nil) != (row.Partial == nil) {
			t.Errorf("%+v is finished as %+v, want it complete, otherwise the same", row, done)
		}
	}
	if !history.IsPartial(more) {
		t.Error("FinalVersion changed its argument, want it still partial")
	}
}
