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
		t.Errorf("what comes at once is %s as %+v", action, atOnce)
	}
	begun, action := history.NextVersion(nil, thought("a"), true)
	if action != wire.RowCreated || !history.IsPartial(begun) || begun.Checkpoint != nil {
		t.Errorf("what grows is %s as %+v", action, begun)
	}
	begun.ID, begun.TS = 7, 70
	more, action := history.NextVersion(&begun, thought("ab"), true)
	if action != wire.RowUpdated || !history.IsPartial(more) || more.ID != 7 || more.TS != 70 || more.Text != "ab" {
		t.Errorf("what grows on is %s as %+v", action, more)
	}
	whole, action := history.NextVersion(&more, thought("abc"), false)
	if action != wire.RowUpdated || whole.Partial == nil || *whole.Partial || whole.ID != 7 || whole.TS != 70 || whole.Checkpoint != nil {
		t.Errorf("its last version is %s as %+v", action, whole)
	}
	// A complete row gets no further version, and a row never changes its kind.
	for _, before := range []wire.UIRow{whole, atOnce, {Type: wire.RowSay, Say: wire.SayText, ID: 7, TS: 70, Partial: new(true)}} {
		if other, action := history.NextVersion(&before, thought("d"), false); action != wire.RowCreated || other.ID != 0 || other.TS != 0 || other.Partial != nil {
			t.Errorf("after %+v comes %s as %+v", before, action, other)
		}
	}
	for _, row := range []wire.UIRow{atOnce, begun, more, whole} {
		done := history.FinalVersion(row)
		if history.IsPartial(done) || done.Text != row.Text || done.ID != row.ID || (done.Partial == nil) != (row.Partial == nil) {
			t.Errorf("%+v is finished as %+v", row, done)
		}
	}
	if !history.IsPartial(more) {
		t.Error("finishing a row changed another one")
	}
}
