package filestore

import (
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore/kvlog"
	"github.com/everdesk/everdesk/store/storetest"
	"github.com/everdesk/everdesk/wire"
)

// WithFiles makes a store use files that fail.
func (c Config) WithFiles(open func(path string, flag int) (kvlog.File, error)) Config {
	c.openFile = open
	return c
}

// WithEvictAfter makes a store evict indexes early.
func (c Config) WithEvictAfter(d time.Duration) Config {
	c.evictAfter = d
	return c
}

// Locate returns the file and place of a value.
func (s *Store) Locate(d storetest.Damage) (file string, off, size int64) {
	bucket := bucketOf(d.Session)
	if d.Kind == store.KindDocument {
		bucket = documentBucket
	}
	sel, err := s.log.Select(bucket, func(x *kvlog.Index, keep func(kvlog.Entry)) {
		for e := range x.Ascend("", "") {
			if isTarget(x, e.Key, d) {
				keep(e)
			}
		}
	})
	if err != nil || len(sel.Entries()) != 1 {
		return "", 0, 0
	}
	defer sel.Close()
	file, off = sel.Location(0)
	return file, off, int64(sel.Entries()[0].Size())
}

func isTarget(x *kvlog.Index, key string, d storetest.Damage) bool {
	switch d.Kind {
	case store.KindEntry:
		return key[:1] == entryPrefix && parseSpan(key).contains(d.At)
	case store.KindField:
		return key == tableKey(d.Name, d.Field)
	case store.KindItem:
		return key == numbered(listRange(d.Name), listBounds(x, d.Name).first+uint64(d.Index), "")
	case store.KindCommand:
		if key[:1] != inboxPrefix {
			return false
		}
		_, id := parseNumbered(inboxPrefix, key)
		return id == d.Name
	case store.KindCard:
		return key == cardKey
	case store.KindDocument:
		return key == documentKey(d.Name, d.Field)
	}
	return false
}

// StoredDocuments returns how many keys the documents have in the log.
func (s *Store) StoredDocuments() (n int) {
	_ = s.withIndex(documentBucket, func(x *kvlog.Index) { n = x.Len() })
	return n
}

// Stall writes something and, unless release is nil, has the log wait for it
// before it calls back whoever wrote later.
func (s *Store) Stall(release <-chan struct{}) {
	b := kvlog.NewBatch("stall")
	b.Put("key", nil)
	_ = s.log.Submit(func(error) {
		if release != nil {
			<-release
		}
	}, b)
}

// DeleteEntry removes an entry from a session's log without the store's knowledge.
func (s *Store) DeleteEntry(id wire.SessionID, at wire.Position) error {
	b := kvlog.NewBatch(bucketOf(id))
	if err := s.withIndex(bucketOf(id), func(x *kvlog.Index) {
		for e := range x.Ascend(entryPrefix, prefixEnd(entryPrefix)) {
			if parseSpan(e.Key).contains(at) {
				b.Delete(e.Key)
			}
		}
	}); err != nil {
		return err
	}
	return s.log.Apply(b)
}

// InjectDamage reports damage of a session to the store.
func (s *Store) InjectDamage(id wire.SessionID) {
	s.Sessions.repairer.addDamage(kvlog.Damage{Bucket: bucketOf(id), Report: "test.txt", Reason: "test"})
}
