package desktop

import "github.com/everdesk/everdesk/wire"

// Change is a field of a table to write; a nil Value deletes it.
type Change struct {
	Table, Field string
	Value        []byte
	// Schema is the schema version that a program must know to read the value; 0 means any.
	Schema uint8
}

// Changes returns the fields to write since the last call.
func (s *State) Changes() []Change {
	if s.unwritten.fields == 0 {
		return nil
	}
	list := make([]Change, 0, s.unwritten.fields)
	for i, t := range s.tables() {
		if s.unwritten.tables&(1<<i) != 0 {
			list = t.changes(list)
		}
	}
	s.unwritten = unwritten{}
	return list
}

// Pending returns the number of fields that the next [State.Changes] will return and their
// approximate size in bytes. The size is that of the versions last written: a small event
// may change a large value.
func (s *State) Pending() (fields, size int) { return s.unwritten.fields, s.unwritten.size }

// All returns the whole state as changes.
func (s *State) All() []Change {
	var list []Change
	for _, t := range s.tables() {
		list = t.all(list)
	}
	return list
}

// Restore returns the desktop that was stored as [Change]s, at the position of the last
// applied event. Unknown tables are ignored. The error names the table and the field that
// could not be read.
func Restore(session wire.SessionID, at wire.Position, tables map[string]map[string][]byte) (*State, error) {
	s := newState(session)
	s.at = at
	for _, t := range s.tables() {
		if err := t.restore(tables); err != nil {
			return nil, err
		}
	}
	s.addFirstMonitor()
	s.surface.windows.afterRestore()
	s.surface.notices.findToastsDue()
	s.agents.afterRestore()
	s.rows.afterRestore()
	return s, nil
}
