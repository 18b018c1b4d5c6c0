package filestore

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore/kvlog"
	"github.com/everdesk/everdesk/wire"
)

// sessionReader reads and unseals the values of sessions. It quarantines a session whose
// values are unreadable.
type sessionReader struct {
	*folder
	quarantines *quarantines
}

// readValues reads the values of the entries that pick passes to keep and calls open with
// each key and value. The index may reflect a deletion before the session does, so a
// session without a meta is treated as deleted, unless it is quarantined.
func (r *sessionReader) readValues(
	e *session, pick func(x *kvlog.Index, keep func(kvlog.Entry)) error, open func(key string, sealed []byte) error,
) error {
	var described bool
	var refused error
	sel, err := r.log.Select(e.bucket, func(x *kvlog.Index, keep func(kvlog.Entry)) {
		_, described = x.Get(metaKey)
		refused = pick(x, keep)
	})
	if err != nil {
		return r.quarantines.handleCorrupt(e, err)
	}
	defer sel.Close()
	if e.isDeleted(described) {
		return fmt.Errorf("session %s: %w", e.id, store.ErrNotFound)
	}
	if refused != nil {
		return refused
	}
	values, err := sel.Values(0, len(sel.Entries()))
	if err != nil {
		return r.quarantines.handleCorrupt(e, err)
	}
	for i, entry := range sel.Entries() {
		if err := open(entry.Key, values[i]); err != nil {
			return r.quarantines.handleCorrupt(e, withLocation(sel, i, err))
		}
	}
	return nil
}

// readLog returns at most limit events, of about size bytes.
func (r *sessionReader) readLog(e *session, from wire.Position, limit, size int) ([]store.Event, error) {
	if err := e.checkRepaired(); err != nil {
		return nil, fmt.Errorf("read log: %w", err)
	}
	var events []store.Event
	err := r.readValues(e, func(x *kvlog.Index, keep func(kvlog.Entry)) error {
		lo, skip, err := seek(x, from)
		if err != nil {
			return fmt.Errorf("after %v: %w", from, err)
		}
		want := limit + skip
		for entry := range x.Ascend(lo, prefixEnd(entryPrefix)) {
			part := parseSpan(entry.Key)
			want -= int(part.count)
			if part.newest().Compare(from) <= 0 {
				continue // the cursor is at its end, so its size does not count
			}
			keep(entry)
			if size -= entry.Size(); want <= 0 || size <= 0 {
				break
			}
		}
		return nil
	}, func(key string, sealed []byte) (err error) {
		events, err = r.openEntry(events, parseSpan(key), from, limit, sealed)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read log: %w", err)
	}
	return events, nil
}

// seek returns the key of the first entry with events after a cursor and the number of its
// events to skip, or the error for an invalid cursor.
func seek(x *kvlog.Index, from wire.Position) (key string, skip int, err error) {
	if from.IsZero() {
		if _, trimmed := x.Get(trimmedKey); trimmed {
			return "", 0, store.ErrTrimmed
		}
		return entryPrefix, 0, nil
	}
	for e := range x.Descend(entryPrefix, entriesUpTo(from)) {
		if entry := parseSpan(e.Key); entry.contains(from) {
			return e.Key, int(from.Seq-entry.first) + 1, nil //nolint:gosec // within an entry
		}
		break
	}
	for e := range x.Descend(entryPrefix, prefixEnd(entryPrefix)) {
		if from.Compare(parseSpan(e.Key).newest()) > 0 {
			return "", 0, store.ErrAhead
		}
		for oldest := range x.Ascend(entryPrefix, prefixEnd(entryPrefix)) {
			if from.Compare(parseSpan(oldest.Key).oldest()) < 0 {
				return "", 0, store.ErrTrimmed
			}
			return "", 0, store.ErrUnknownPosition
		}
	}
	return "", 0, store.ErrAhead // the log is empty
}

// openEntry appends the events of an entry that lie after a cursor, up to limit in all.
func (r *sessionReader) openEntry(events []store.Event, entry span, from wire.Position, limit int, sealed []byte) ([]store.Event, error) {
	value, err := r.cfg.Schema.Open(store.KindEntry, entry.oldest().String(), sealed)
	if err != nil {
		return nil, err
	}
	at, n := entry.oldest(), uint32(0)
	for frame := range bytes.SplitSeq(value, []byte{'\n'}) {
		if at.Compare(from) > 0 && len(events) < limit {
			events = append(events, store.Event{At: at, Frame: frame})
		}
		at.Seq++
		n++
	}
	if n != entry.count {
		return nil, &store.CorruptError{
			Where:  fmt.Sprintf("%s %v", store.KindEntry, entry.oldest()),
			Reason: fmt.Sprintf("%d frames instead of %d", n, entry.count),
		}
	}
	return events, nil
}

// loadValue unseals one stored value into state.
func (r *sessionReader) loadValue(state *store.State, key string, sealed []byte) error {
	switch {
	case key == metaKey:
		m, err := decodeMeta(sealed)
		state.At = m.top
		if err != nil {
			return &store.CorruptError{Where: "meta", Reason: err.Error()}
		}
	case key[:1] == tablePrefix:
		table, field := splitTableKey(key)
		value, err := r.cfg.Schema.Open(store.KindField, table+"/"+field, sealed)
		if err != nil {
			return err
		}
		if state.Tables[table] == nil {
			state.Tables[table] = map[string][]byte{}
		}
		state.Tables[table][field] = value
	default:
		list := splitListKey(key)
		value, err := r.cfg.Schema.Open(store.KindItem, list, sealed)
		if err != nil {
			return err
		}
		state.Lists[list] = append(state.Lists[list], value)
	}
	return nil
}

// pinnedState is the content of a session's pinned keys as of one batch.
type pinnedState struct {
	meta        meta
	card        []byte // sealed
	quarantined string
	described   bool   // the meta exists
	damage      string // what is wrong with the meta, or empty
}

func (r *sessionReader) readPinned(bucket string) (c pinnedState, err error) {
	sel, err := r.log.Pins(bucket)
	if err != nil {
		return pinnedState{}, err
	}
	defer sel.Close()
	values, err := sel.Values(0, len(sel.Entries()))
	if err != nil {
		return pinnedState{}, err
	}
	c.damage = "session metadata is missing"
	for i, e := range sel.Entries() {
		switch e.Key {
		case metaKey:
			c.described, c.damage = true, ""
			if c.meta, err = decodeMeta(values[i]); err != nil {
				file, off := sel.Location(i)
				c.damage = fmt.Sprintf("session metadata: %v (%s at %d)", err, file, off)
			}
		case cardKey:
			c.card = values[i]
		case quarantineKey:
			c.quarantined = string(values[i])
		}
	}
	return c, nil
}

// checkDuplicates reports for each command whether it is in the inbox or was consumed
// recently, up to the first that is refused with [store.ErrConflict] or [store.ErrFull].
func (r *sessionReader) checkDuplicates(e *session, commands []store.Command) (duplicates []bool, err error) {
	asked := map[string]bool{}
	for _, c := range commands {
		asked[c.ID] = true
	}
	inbox, consumed := 0, map[string]bool{}
	var found []store.Command
	err = r.readValues(e, func(x *kvlog.Index, keep func(kvlog.Entry)) error {
		for entry := range x.Ascend(inboxPrefix, prefixEnd(inboxPrefix)) {
			inbox++
			if _, id := parseNumbered(inboxPrefix, entry.Key); asked[id] {
				keep(entry)
			}
		}
		for entry := range x.Ascend(consumedPrefix, prefixEnd(consumedPrefix)) {
			if _, id := parseNumbered(consumedPrefix, entry.Key); asked[id] {
				consumed[id] = true
			}
		}
		return nil
	}, r.openCommands(&found))
	if err != nil {
		return nil, fmt.Errorf("send commands: %w", err)
	}
	waiting := map[string][]byte{}
	for _, c := range found {
		waiting[c.ID] = c.Data
	}
	for _, c := range commands {
		data, waits := waiting[c.ID]
		switch {
		case waits && !bytes.Equal(data, c.Data):
			return duplicates, fmt.Errorf("%w: command %q was sent with different data", store.ErrConflict, c.ID)
		case !waits && !consumed[c.ID] && inbox >= r.cfg.Limits.InboxCommands:
			return duplicates, fmt.Errorf("%w: inbox has %d commands", store.ErrFull, inbox)
		case !waits && !consumed[c.ID]:
			inbox++
			waiting[c.ID] = c.Data
		}
		duplicates = append(duplicates, waits || consumed[c.ID])
	}
	return duplicates, nil
}

// openCommands returns a function that unseals a stored command and appends it to to.
func (r *sessionReader) openCommands(to *[]store.Command) func(key string, sealed []byte) error {
	return func(key string, sealed []byte) error {
		_, id := parseNumbered(inboxPrefix, key)
		data, err := r.cfg.Schema.Open(store.KindCommand, id, sealed)
		*to = append(*to, store.Command{ID: id, Data: data})
		return err
	}
}

// The bounds of one item that Receive yields.
const (
	maxReceiveCommands = 64
	maxReceiveBytes    = 1 << 20
)

// readInbox returns the commands with numbers above last, and the number of the last one.
func (r *sessionReader) readInbox(e *session, last uint64) ([]store.Command, uint64, error) {
	size, next := maxReceiveBytes, last
	var commands []store.Command
	err := r.readValues(e, func(x *kvlog.Index, keep func(kvlog.Entry)) error {
		n := 0
		for entry := range x.Ascend(numbered(inboxPrefix, last+1, ""), prefixEnd(inboxPrefix)) {
			keep(entry)
			next, _ = parseNumbered(inboxPrefix, entry.Key)
			n++
			if size -= entry.Size(); n == maxReceiveCommands || size <= 0 {
				break
			}
		}
		return nil
	}, r.openCommands(&commands))
	if errors.Is(err, store.ErrNotFound) {
		return nil, last, store.ErrFenced
	}
	if err != nil {
		return nil, last, fmt.Errorf("receive: %w", err)
	}
	return commands, next, nil
}
