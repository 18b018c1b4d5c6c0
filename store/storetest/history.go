package storetest

import (
	"fmt"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// history holds every event a log ever had, batch by batch, and checks what an engine has
// trimmed of it.
type history struct {
	limits  store.Limits
	batches []entry
	// kept is the index of the oldest batch that the log still has.
	kept int
}

// entry is one batch, or the event of a claim.
type entry struct {
	events []store.Event
	claim  bool
}

func (e entry) bytes() (n int) {
	for _, ev := range e.events {
		n += len(ev.Frame)
	}
	return n
}

// overhead is the number of bytes that an engine may count beyond the frames: a separator
// per event, a seal and a header per batch, and the event of a claim at any size.
func (e entry) overhead() int {
	n := 64 + 8*len(e.events)
	if e.claim {
		n += 512
	}
	return n
}

func (h *history) add(events []store.Event, claim bool) {
	if len(events) > 0 {
		h.batches = append(h.batches, entry{events: events, claim: claim})
	}
}

// newest returns the position of the last event.
func (h *history) newest() wire.Position {
	if len(h.batches) == 0 {
		return wire.Position{}
	}
	events := h.batches[len(h.batches)-1].events
	return events[len(events)-1].At
}

// checkTrimmed records that the log now begins at oldest, and returns an error if it must
// not.
func (h *history) checkTrimmed(oldest wire.Position) error {
	i := h.kept
	for i < len(h.batches) && h.batches[i].events[0].At != oldest {
		i++
	}
	if i == len(h.batches) {
		return fmt.Errorf("log begins at %v, want the first event of a batch that it still had", oldest)
	}
	for h.kept < i {
		h.kept++
		if err := h.checkTrimNeeded(h.batches[h.kept-1]); err != nil {
			return err
		}
	}
	return h.checkBounds()
}

// checkBounds returns an error if the log exceeds its bounds.
func (h *history) checkBounds() error {
	var events, size int
	for _, b := range h.batches[h.kept:] {
		events += len(b.events)
		if !b.claim {
			size += b.bytes()
		}
	}
	if len(h.batches)-h.kept > 1 && (events > h.limits.LogEvents || size > h.limits.LogBytes) {
		return fmt.Errorf("log holds %d events of %d bytes, limits are %d and %d",
			events, size, h.limits.LogEvents, h.limits.LogBytes)
	}
	return nil
}

// checkTrimNeeded returns an error if dropping a batch before the kept ones was not
// necessary.
func (h *history) checkTrimNeeded(dropped entry) error {
	var events, size, overhead int
	for _, b := range h.batches[h.kept:] {
		events += len(b.events)
		size += b.bytes()
		overhead += b.overhead()
	}
	if 8*events >= 7*h.limits.LogEvents || 8*(size+overhead) >= 7*h.limits.LogBytes {
		return nil
	}
	events += len(dropped.events)
	size += dropped.bytes() + dropped.overhead() + overhead
	if events > h.limits.LogEvents || size > h.limits.LogBytes {
		return nil
	}
	return fmt.Errorf("batch at %v was dropped although with it the log would have %d events of %d bytes, limits are %d and %d",
		dropped.events[0].At, events, size, h.limits.LogEvents, h.limits.LogBytes)
}

// all returns every event the log ever had, held those it must still have.
func (h *history) all() []store.Event  { return flatten(h.batches) }
func (h *history) held() []store.Event { return flatten(h.batches[h.kept:]) }

func flatten(batches []entry) []store.Event {
	var out []store.Event
	for _, b := range batches {
		out = append(out, b.events...)
	}
	return out
}

// after returns the events that Read must return after a cursor.
func (h *history) after(cursor wire.Position, limit int) ([]store.Event, error) {
	held := h.held()
	if cursor.IsZero() && h.kept == 0 {
		return held[:min(store.PageLimit(limit), len(held))], nil
	}
	for i, e := range held {
		if e.At == cursor {
			rest := held[i+1:]
			return rest[:min(store.PageLimit(limit), len(rest))], nil
		}
	}
	switch {
	case len(held) == 0 || cursor.Compare(held[len(held)-1].At) > 0:
		return nil, store.ErrAhead
	case cursor.Compare(held[0].At) < 0:
		return nil, store.ErrTrimmed
	default:
		return nil, store.ErrUnknownPosition
	}
}
