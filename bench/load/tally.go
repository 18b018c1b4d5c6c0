//go:build linux

package main

import (
	"fmt"

	"github.com/everdesk/everdesk/wire"
)

// maxMissing bounds the missing events that a tally remembers; a run with more is a failure
// anyway.
const maxMissing = 4096

// tally checks the events that one tab receives.
type tally struct {
	next    uint64        // the expected event number
	at      wire.Position // the newest position
	missing map[uint64]struct{}
	faults  faults
}

// faults counts violations.
type faults struct {
	Lost      uint64 `json:"lost"`
	Repeated  uint64 `json:"repeated"`
	Reordered uint64 `json:"reordered"`
	// Backwards counts message ids that were not greater than the previous one.
	Backwards uint64 `json:"backwards"`
	// Closed counts connections that the server closed.
	Closed uint64 `json:"closed"`
	// Errors counts errors and refusals; First is the first of all faults that have a text.
	Errors uint64 `json:"errors"`
	First  string `json:"first,omitempty"`
}

func (f *faults) add(g faults) {
	f.Lost += g.Lost
	f.Repeated += g.Repeated
	f.Reordered += g.Reordered
	f.Backwards += g.Backwards
	f.Closed += g.Closed
	f.Errors += g.Errors
	if f.First == "" {
		f.First = g.First
	}
}

// any reports whether there was a fault.
func (f faults) any() bool {
	return f.Lost+f.Repeated+f.Reordered+f.Backwards+f.Closed+f.Errors > 0
}

func (f faults) String() string {
	s := fmt.Sprintf("%d lost, %d repeated, %d reordered, %d ids backwards, %d closed, %d errors",
		f.Lost, f.Repeated, f.Reordered, f.Backwards, f.Closed, f.Errors)
	if f.First != "" {
		s += ": " + f.First
	}
	return s
}

// position checks the message id of any durable event.
func (t *tally) position(at wire.Position) {
	if at.Compare(t.at) <= 0 {
		t.faults.Backwards++
		return
	}
	t.at = at
}

// event checks the number of an event.
func (t *tally) event(seq uint64) {
	if seq != t.next {
		t.unexpected(seq)
		return
	}
	t.next++
}

// unexpected counts an event that is not the expected one. A late event was counted as lost and is
// counted as reordered instead; an event that was never missing is repeated.
func (t *tally) unexpected(seq uint64) {
	if seq < t.next {
		if _, ok := t.missing[seq]; !ok {
			t.faults.Repeated++
			return
		}
		delete(t.missing, seq)
		t.faults.Lost--
		t.faults.Reordered++
		return
	}
	t.faults.Lost += seq - t.next
	if t.missing == nil {
		t.missing = map[uint64]struct{}{}
	}
	for n := t.next; n < seq && len(t.missing) < maxMissing; n++ {
		t.missing[n] = struct{}{}
	}
	t.next = seq + 1
}

// finish returns all faults of a tab that should have received the events below published.
func (t *tally) finish(published uint64) faults {
	f := t.faults
	if t.next < published {
		f.Lost += published - t.next
	}
	return f
}
