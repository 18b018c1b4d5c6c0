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

// WithFoldAfter makes a store fold sessions early.
func (c Config) WithFoldAfter(d time.Duration) Config {
	c.foldAfter = d
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
			if isAt(x, e.Key, d) {
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

func isAt(x *kvlog.Index, key string, d storetest.Damage) bool {
	switch d.Kind {
	case store.KindEntry:
		return key[:1] == entryPrefix && parseSpan(key).holds(d.At)
	case store.KindField:
		return key == tableKey(d.Name, d.Field)
	case store.KindItem:
		return key == numbered(listRange(d.Name), listBounds(x, d.Name).first+uint64(d.Index), "")
	case store.KindCommand:
		if key[:1] != inboxPrefix {
			return false
		}
		_, id := number(inboxPrefix, key)
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
	_ = s.look(documentBucket, func(x *kvlog.Index) { n = x.Len() })
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

// Lose takes an entry out of a session's log behind the store's back.
func (s *Store) Lose(id wire.SessionID, at wire.Position) error {
	b := kvlog.NewBatch(bucketOf(id))
	if err := s.look(bucketOf(id), func(x *kvlog.Index) {
		for e := range x.Ascend(entryPrefix, after(entryPrefix)) {
			if parseSpan(e.Key).holds(at) {
				b.Delete(e.Key)
			}
		}
	}); err != nil {
		return err
	}
	return s.log.Apply(b)
}

// Hurt tells a store that a session has lost something.
func (s *Store) Hurt(id wire.SessionID) {
	s.found.add(kvlog.Damage{Bucket: bucketOf(id), Report: "test.txt", Reason: "test"})
	signal(s.alarm)
}
