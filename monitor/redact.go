package monitor

import (
	"strconv"

	"github.com/everdesk/everdesk/wire"
)

// Redact is the form of an event in which it may be shown to those who may not see
// content: of every text there is only how long it is.
func Redact(e wire.Event) []byte {
	return []byte(`{"type":` + strconv.Quote(wire.TypeOf(e.Data)) + `}`)
}

// Redacted is the row without what people wrote.
func (r Row) Redacted() Row {
	r.Title = ""
	return r
}

// Redacted is the detail without what people wrote.
func (d Detail) Redacted() Detail { return Detail{Row: d.Row.Redacted()} }
