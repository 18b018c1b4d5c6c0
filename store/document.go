package store

import "time"

// Document is a small named value with a version, for what belongs to no
// session: settings, users, audit records, tickets.
type Document struct {
	Collection string
	Name       string
	Data       []byte
	// Version is 1 when created and grows by one with every change. For Put
	// it is the version that must be there now, 0 meaning none: otherwise
	// [ErrConflict].
	Version uint64
	// TTL, unless 0, removes the document after that time. Get and Documents
	// answer with what is left of it.
	TTL time.Duration
}
