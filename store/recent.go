package store

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// RecentCursor is a place in a listing with [Query.Recent]: sessions by the second of their
// last change, newest first, and those of one second by id in descending order. A session
// that changes during a listing moves to the front, so its cursor stays valid and no page
// lists it again; the remaining pages leave it out.
type RecentCursor struct {
	// Second is a Unix time.
	Second int64
	ID     wire.SessionID
}

// RecentPlace returns the place of a session in the listing.
func RecentPlace(updated time.Time, id wire.SessionID) RecentCursor {
	return RecentCursor{Second: updated.Unix(), ID: id}
}

// String returns the text of the cursor for [Page.Next]: the time in nanoseconds to the base
// of 36, a dot and the id.
func (c RecentCursor) String() string {
	return strconv.FormatInt(c.Second*int64(time.Second), 36) + "." + string(c.ID)
}

// Before reports whether c comes before d in the listing.
func (c RecentCursor) Before(d RecentCursor) bool {
	return c.Second > d.Second || c.Second == d.Second && c.ID > d.ID
}

// ParseRecentCursor parses the text of a cursor, or fails with [ErrInvalid].
func ParseRecentCursor(text string) (RecentCursor, error) {
	number, id, ok := strings.Cut(text, ".")
	nanos, err := strconv.ParseInt(number, 36, 64)
	if !ok || err != nil || wire.SessionID(id).Validate() != nil {
		return RecentCursor{}, fmt.Errorf("%w: cursor %.80q is not a cursor of a listing by last change", ErrInvalid, text)
	}
	return RecentCursor{Second: nanos / int64(time.Second), ID: wire.SessionID(id)}, nil
}
