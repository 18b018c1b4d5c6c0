package store

import "time"

// SlotRequest asks for one slot of a semaphore. All who use a semaphore agree
// on its limit by passing the same one; a lowered limit takes nothing away
// from present holders.
type SlotRequest struct {
	Semaphore string
	Limit     int
	// Holder names this slot. Asking again with a holder that has a slot
	// renews it, which makes Acquire safe to repeat.
	Holder string
	// Key is on whose behalf: waiting is fair between keys, not holders.
	Key string
	// TTL is how long the slot lasts without a renewal.
	TTL time.Duration
	// Wait makes Acquire wait for its turn until the context ends. Without
	// it a full semaphore, or one others wait for, is [ErrFull] at once.
	Wait bool
}

// Slot is a held place in a semaphore.
type Slot struct {
	Semaphore string
	Holder    string
	TTL       time.Duration
}

// SlotUse tells how busy a semaphore is.
type SlotUse struct {
	Held    int
	Waiting int
}
