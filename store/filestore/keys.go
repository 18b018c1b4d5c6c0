package filestore

import (
	"encoding/binary"
	"strings"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// The buckets of the log. Their names are part of the file format.
const (
	sessionPrefix   = "s"      // followed by the session's id
	documentBucket  = "docs"   // all documents
	tombstoneBucket = "grave"  // last epochs of deleted sessions, by id
	handledBucket   = "heeded" // names of damage reports that were handled
)

// Keys in a session's bucket. Those that listings read begin with a zero byte and stay in
// memory when the index is evicted (kvlog.Log.Pins). The keys that Load reads form one
// range. Names contain no control characters, so a zero byte ends them.
//
//	\x00m                    meta
//	\x00c                    card
//	\x00q                    reason of a quarantine
//	b                        entries before the log's oldest entry were trimmed
//	e epoch first count      entry of the log: the frames of one batch
//	h number id              id of a consumed command
//	i number id              command in the inbox
//	k list \x00 number       item of a cold list
//	l list \x00 number       item of a list
//	t table \x00 field       field of a table
const (
	metaKey       = "\x00m"
	cardKey       = "\x00c"
	quarantineKey = "\x00q"
	trimmedKey    = "b"

	entryPrefix    = "e"
	consumedPrefix = "h"
	inboxPrefix    = "i"
	coldPrefix     = "k"
	listPrefix     = "l"
	tablePrefix    = "t"

	loadFrom = listPrefix
	loadTo   = "u"
)

// prefixEnd returns the exclusive end of the range of keys that begin with prefix, which
// must not end in 0xff.
func prefixEnd(prefix string) string {
	return prefix[:len(prefix)-1] + string([]byte{prefix[len(prefix)-1] + 1})
}

func bucketOf(id wire.SessionID) string { return sessionPrefix + string(id) }

// numbered returns a key that sorts by n.
func numbered(prefix string, n uint64, rest string) string {
	return string(append(appendNumbered(make([]byte, 0, len(prefix)+8+len(rest)), prefix, n), rest...))
}

func appendNumbered(b []byte, prefix string, n uint64) []byte {
	return binary.BigEndian.AppendUint64(append(b, prefix...), n)
}

// parseNumbered returns the number and the rest of a numbered key.
func parseNumbered(prefix, key string) (n uint64, rest string) {
	key = key[len(prefix):]
	return binary.BigEndian.Uint64([]byte(key[:8])), key[8:]
}

func tableKey(table, field string) string { return string(appendTableKey(nil, table, field)) }

func appendTableKey(b []byte, table, field string) []byte {
	b = append(append(b, tablePrefix...), table...)
	return append(append(b, 0), field...)
}

func splitTableKey(key string) (table, field string) {
	table, field, _ = strings.Cut(key[len(tablePrefix):], "\x00")
	return table, field
}

// listRange returns the prefix of the items of a list.
func listRange(list string) string {
	if strings.HasPrefix(list, store.ColdPrefix) {
		return coldPrefix + list + "\x00"
	}
	return listPrefix + list + "\x00"
}

func splitListKey(key string) (list string) {
	list, _, _ = strings.Cut(key[len(listPrefix):], "\x00")
	return list
}

// span is the range of positions of the events in one entry of a session's log.
type span struct {
	epoch, first uint64
	count        uint32
}

// spanKeyBytes is the length of the key of an entry.
const spanKeyBytes = len(entryPrefix) + 8 + 8 + 4

func (s span) key() string { return string(s.appendKey(make([]byte, 0, spanKeyBytes))) }

func (s span) appendKey(b []byte) []byte {
	b = append(b, entryPrefix...)
	b = binary.BigEndian.AppendUint64(b, s.epoch)
	b = binary.BigEndian.AppendUint64(b, s.first)
	return binary.BigEndian.AppendUint32(b, s.count)
}

func parseSpan(key string) span {
	b := []byte(key[len(entryPrefix):])
	return span{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint32(b[16:])}
}

func (s span) oldest() wire.Position { return wire.Position{Epoch: s.epoch, Seq: s.first} }

func (s span) newest() wire.Position {
	return wire.Position{Epoch: s.epoch, Seq: s.first + uint64(s.count) - 1}
}

func (s span) contains(p wire.Position) bool {
	return s.oldest().Compare(p) <= 0 && s.newest().Compare(p) >= 0
}

// entriesUpTo returns the exclusive end of the range of entries that begin at or before p.
func entriesUpTo(p wire.Position) string { return span{p.Epoch, p.Seq, 1<<32 - 1}.key() + "\x00" }

func documentRange(collection string) string { return "d" + collection + "\x00" }

func documentKey(collection, name string) string { return documentRange(collection) + name }

// expiryPrefix begins the keys of expiry marks, which sort documents by expiry.
const expiryPrefix = "x"

func expiryKey(at int64, key string) string {
	return numbered(expiryPrefix, uint64(at), key) //nolint:gosec // times after 1970
}
