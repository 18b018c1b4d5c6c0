package store

import "time"

// SlotRequest asks for one slot of a semaphore. All users of a semaphore pass the same
// limit. Lowering the limit revokes no slot that is held.
type SlotRequest struct {
	Semaphore string
	Limit     int
	// Holder names this slot. Acquire with a holder that has a slot renews that slot, so
	// Acquire is safe to retry.
	Holder string
	// Key is the party on whose behalf the slot is requested: waiting is fair between keys,
	// not between holders.
	Key string
	// TTL is the lifetime of the slot without a renewal.
	TTL time.Duration
	// Wait makes Acquire block until a slot is granted or the context ends. Without Wait,
	// Acquire returns [ErrFull] at once if the semaphore is full or other requests wait.
	Wait bool
}

// Slot is a held slot of a semaphore.
type Slot struct {
	Semaphore string
	Holder    string
	TTL       time.Duration
}

// SlotUse counts the held slots and the waiting requests of a semaphore.
type SlotUse struct {
	Held    int
	Waiting int
}
