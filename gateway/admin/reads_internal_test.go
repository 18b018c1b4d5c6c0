package admin

import (
	"errors"
	"testing"
	"time"
)

func TestViewIsRecordedAgainAfterItWasClosed(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	o := openings{now: func() time.Time { return now }, open: map[opening]*openView{}}
	recorded := 0
	open := func(who string, after time.Duration, want int) {
		t.Helper()
		now = now.Add(after)
		if err := o.once(opening{who: who}, func() error { recorded++; return nil }); err != nil || recorded != want {
			t.Errorf("%s after %v: %d records, error %v, want %d", who, after, recorded, err, want)
		}
	}
	open("ann", 0, 1)
	open("bob", 0, 2)
	for range 5 { // a view that is polled stays open
		open("ann", openFor-time.Second, 2)
	}
	open("ann", openFor, 3)
	o.markOpen(opening{who: "mia"})
	open("mia", time.Second, 3)
}

// Nothing is read while it cannot be recorded, and the memory is bounded.
func TestOpeningsThatFailAreTriedAgain(t *testing.T) {
	t.Parallel()
	o := openings{now: time.Now, open: map[opening]*openView{}}
	failed := errors.New("no store")
	for range 2 {
		if err := o.once(opening{who: "ann"}, func() error { return failed }); !errors.Is(err, failed) {
			t.Errorf("an opening that cannot be recorded: error %v, want %v", err, failed)
		}
	}
	for i := range 2 * maxOpenings {
		o.markOpen(opening{who: "ann", target: time.Duration(i).String()})
	}
	if len(o.open) > maxOpenings {
		t.Errorf("%d openings are remembered, want at most %d", len(o.open), maxOpenings)
	}
}
