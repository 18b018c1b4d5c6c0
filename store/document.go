package store

import "time"

// Document is a small named value with a version. It holds data that belongs to no session:
// settings, users, audit records, tickets.
type Document struct {
	Collection string
	Name       string
	Data       []byte
	// Version is 1 when the document is created and grows by one with every change. For Put
	// it is the expected stored version, 0 meaning that the document must not exist; a
	// mismatch is [ErrConflict].
	Version uint64
	// TTL, unless 0, expires the document after that time. Get and Documents return the
	// remaining time.
	TTL time.Duration
}
