//go:build linux

package main

import (
	"fmt"

	"github.com/everdesk/everdesk/wire"
)

// maxMissing bounds what a tally remembers of the events it misses; a run with
// more is lost anyway.
const maxMissing = 4096

// tally checks what one tab is shown.
type tally struct {
	next    uint64        // the number that has to come now
	at      wire.Position // the newest position
	missing map[uint64]struct{}
	faults  faults
}

// faults count what must not happen.
type faults struct {
	Lost      uint64 `json:"lost"`
	Repeated  uint64 `json:"repeated"`
	Reordered uint64 `json:"reordered"`
	// Backwards counts message ids that were not larger than the one before.
	Backwards uint64 `json:"backwards"`
	// Closed counts connections that the server ended.
	Closed uint64 `json:"closed"`
	// Errors counts errors and refusals; First is the first of all faults
	// that come with words.
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
		t.odd(seq)
		return
	}
	t.next++
}

// odd counts an event that is not the next one. What comes late was counted as
// lost and is reordered now; what was never missed is repeated.
func (t *tally) odd(seq uint64) {
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

// end is everything wrong with a tab that should have seen the events below
// published.
func (t *tally) end(published uint64) faults {
	f := t.faults
	if t.next < published {
		f.Lost += published - t.next
	}
	return f
}
