package history

import "github.com/everdesk/everdesk/wire"

// Growing reports whether there will be another version of a row: it is shown, and
// whoever makes it has to end it.
func Growing(r wire.UIRow) bool { return r.Partial != nil && *r.Partial }

// Grown is what a row becomes that is written again and again, and whether it is a
// new one. before is the version that there is of it, if there is one, and grows
// says that it is not the last. A row that comes at once says nothing of growing. The
// id and the time of a row never change, and only one that came at once has a
// checkpoint.
func Grown(before *wire.UIRow, next wire.UIRow, grows bool) (wire.UIRow, wire.RowChange) {
	again := before != nil && Growing(*before) && before.Type == next.Type && before.Say == next.Say && before.Ask == next.Ask
	if next.Partial = nil; again || grows {
		next.Partial, next.Checkpoint = &grows, nil
	}
	if !again {
		return next, wire.RowCreated
	}
	next.ID, next.TS = before.ID, before.TS
	return next, wire.RowUpdated
}

// Finished is the last version of a row of which nobody makes another one.
func Finished(r wire.UIRow) wire.UIRow {
	if Growing(r) {
		r.Partial = new(false)
	}
	return r
}
