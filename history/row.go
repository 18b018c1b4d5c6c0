package history

import "github.com/everdesk/everdesk/wire"

// IsPartial reports whether a row is still streaming: its author must write a final
// version.
func IsPartial(r wire.UIRow) bool { return r.Partial != nil && *r.Partial }

// NextVersion returns next as a version of the row before (nil if there is none), and
// whether it creates a row or updates one. partial says that more versions follow. A row
// written in one piece has no Partial field. The id and the TS of a row never change, and
// only a row written in one piece has a checkpoint.
func NextVersion(before *wire.UIRow, next wire.UIRow, partial bool) (wire.UIRow, wire.RowChange) {
	again := before != nil && IsPartial(*before) && before.Type == next.Type && before.Say == next.Say && before.Ask == next.Ask
	if next.Partial = nil; again || partial {
		next.Partial, next.Checkpoint = &partial, nil
	}
	if !again {
		return next, wire.RowCreated
	}
	next.ID, next.TS = before.ID, before.TS
	return next, wire.RowUpdated
}

// FinalVersion returns the row marked as complete if it was partial, for rows whose author
// will not write another version.
func FinalVersion(r wire.UIRow) wire.UIRow {
	if IsPartial(r) {
		r.Partial = new(false)
	}
	return r
}
