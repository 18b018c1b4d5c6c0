package hubtest

import (
	"testing"

	"github.com/everdesk/everdesk/wire"
)

// A message that was offered to a turn is logged as queued after messages that arrived later, with
// its original place.
func TestQueueOrdersByPlace(t *testing.T) {
	t.Parallel()
	var q queue
	q.add("first", 1)
	q.add("last", 3)
	q.add("offered", 2)
	for _, c := range []struct{ id, ahead wire.MessageID }{
		{"first", ""},
		{"last", "first"},
		{"offered", "first"},
		{"unknown", "first"},
	} {
		if got := q.ahead(c.id); got != c.ahead {
			t.Errorf("ahead of %s is %q, want %q", c.id, got, c.ahead)
		}
	}
	q.remove("first")
	if got := q.ahead("offered"); got != "" {
		t.Errorf("ahead of offered is %q, want none", got)
	}
	q.remove("offered")
	q.add("new", 2)
	if got, want := q.ahead("new"), wire.MessageID("last"); got != want {
		t.Errorf("ahead of new is %q, want %q", got, want)
	}
}
