package history

import (
	"errors"
	"fmt"

	"github.com/everdesk/everdesk/wire"
)

// Rows folds what is said and asked, one call after the other, into the rows of a
// conversation. A call is a row whose Partial says what it is: one that grows, the
// final version of one that grew, or one that came at once. The zero value has no
// rows.
type Rows struct {
	all  []wire.UIRow
	last wire.RowID
	ts   wire.Millis
}

// Folded is what a call did.
type Folded struct {
	Row    wire.UIRow
	Action wire.RowChange
	// Keep says that the row will not change any more: what still grows is shown
	// and not kept.
	Keep bool
	// Blocks says that somebody may wait for an answer. A question that still grows
	// asks nobody.
	Blocks bool
}

var (
	// ErrRetired means that a row is of a kind that is read and never written.
	ErrRetired = errors.New("rows of that kind are not written any more")
	// ErrKind means that a row is neither said nor asked, or both.
	ErrKind = errors.New("a row says something or asks something")
)

// All are the rows, the oldest first. Nobody may change them.
func (r *Rows) All() []wire.UIRow { return r.all }

// Put takes a call. A row that grows is the last one of its conversation: when
// something else came after it, what was to be its next version is a row of its own.
// The id and the time of a row never change.
func (r *Rows) Put(call wire.UIRow, now wire.Millis) (Folded, error) {
	switch {
	case (call.Type == wire.RowAsk) != (call.Ask != "") || (call.Type == wire.RowSay) != (call.Say != "") || call.Type == "":
		return Folded{}, ErrKind
	case call.Ask.Retired() || call.Say.Retired():
		return Folded{}, fmt.Errorf("%s%s: %w", call.Ask, call.Say, ErrRetired)
	}
	grows := call.Partial != nil && *call.Partial
	out := Folded{Action: wire.RowCreated, Keep: !grows, Blocks: call.Type == wire.RowAsk && !grows && call.Ask.Class() != wire.AskNonBlocking}
	if call.Partial != nil && len(r.all) > 0 {
		last := &r.all[len(r.all)-1]
		if last.Partial != nil && *last.Partial && last.Type == call.Type && last.Ask == call.Ask && last.Say == call.Say {
			call.ID, call.TS = last.ID, last.TS
			call.Checkpoint = nil // only rows that came at once have one
			*last = call
			out.Row, out.Action = call, wire.RowUpdated
			return out, nil
		}
	}
	if call.Partial != nil {
		call.Checkpoint = nil
	}
	r.last++
	r.ts = max(r.ts+1, now)
	call.ID, call.TS = r.last, r.ts
	r.all = append(r.all, call)
	out.Row = call
	return out, nil
}
