package desktop

import "github.com/everdesk/everdesk/wire"

// Change is one field of a table that has to be written; no value means that it
// goes.
type Change struct {
	Table, Field string
	Value        []byte
}

// Changes are what has to be written to keep the state, since the last call.
func (s *State) Changes() []Change {
	if s.unwritten.fields == 0 {
		return nil
	}
	list := make([]Change, 0, s.unwritten.fields)
	for i, t := range s.each() {
		if s.unwritten.tables&(1<<i) != 0 {
			list = t.changes(list)
		}
	}
	s.unwritten = unwritten{}
	return list
}

// Pending is how many the next [State.Changes] are and about how many bytes they
// have, apart from those of the events since the last: an event of a few bytes may
// change a value of many.
func (s *State) Pending() (fields, size int) { return s.unwritten.fields, s.unwritten.size }

// All is the whole state as changes.
func (s *State) All() []Change {
	var list []Change
	for _, t := range s.each() {
		list = t.all(list)
	}
	return list
}

// Restore is the desktop that was kept as [Change]s, at the position of the
// last event that was applied to it. Tables that are not the desktop's are left
// alone. The error names the table and the field that could not be read.
func Restore(session wire.SessionID, at wire.Position, tables map[string]map[string][]byte) (*State, error) {
	s := &State{session: session, at: at}
	s.init()
	for _, t := range s.each() {
		if err := t.restore(tables); err != nil {
			return nil, err
		}
	}
	s.addFirstMonitor()
	s.monitors.settle()
	s.findStreams()
	s.contents.dropIf(func(c *content) bool { return s.windows.get(windowKey{c.MonitorID, c.WindowID}) == nil })
	s.findToastsDue()
	for _, r := range s.rows.items {
		s.rowBytes += rowSize(&r.value)
	}
	return s, nil
}
