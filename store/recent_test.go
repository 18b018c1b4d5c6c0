package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/everdesk/everdesk/store"
)

func TestRecentCursorText(t *testing.T) {
	t.Parallel()
	at := store.RecentPlace(time.Unix(1_700_000_000, 999_999_999), "ses-a.b")
	_, err := store.ParseRecentCursor(at.String())
	if !errors.Is(err, store.ErrInvalid) {
		t.Errorf("cursor with an invalid id: error %v, want %v", err, store.ErrInvalid)
	}
	at.ID = "ses-a"
	if got, err := store.ParseRecentCursor(at.String()); err != nil || got != at {
		t.Errorf("cursor %s is parsed as %+v, error %v, want %+v", at, got, err, at)
	}
	// Listings of an earlier version had cursors with nanoseconds.
	if got, err := store.ParseRecentCursor("cwxfc3sa9zxt.ses-a"); err != nil || got.ID != "ses-a" {
		t.Errorf("cursor with nanoseconds is parsed as %+v, error %v", got, err)
	}
	for _, text := range []string{"", "x", "1.", ".a", "-.a", "1.a:b", "!!.a"} {
		if got, err := store.ParseRecentCursor(text); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%q is parsed as %+v, error %v, want %v", text, got, err, store.ErrInvalid)
		}
	}
}

func TestRecentOrder(t *testing.T) {
	t.Parallel()
	order := []store.RecentCursor{{Second: 2, ID: "a"}, {Second: 1, ID: "b"}, {Second: 1, ID: "a"}}
	for i, a := range order {
		for j, b := range order {
			if a.Before(b) != (i < j) {
				t.Errorf("%v before %v is %v, want %v", a, b, a.Before(b), i < j)
			}
		}
	}
}
