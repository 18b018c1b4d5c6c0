package filestore

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/maphash"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore/kvlog"
)

// documents is who may write which documents now. Each document has a turn,
// which it shares with some others.
type documents struct {
	seed  maphash.Seed
	turns [64]turn
}

func (d *documents) turn(key string) *turn {
	return &d.turns[maphash.String(d.seed, key)%uint64(len(d.turns))]
}

// stored is a document as it lies in the log: version and end, with a checksum
// of their own, before the sealed data.
type stored struct {
	version uint64
	until   int64 // Unix nanoseconds; 0 for ever
	sealed  []byte
}

const storedHeader = 20

func (d stored) encode() []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, storedHeader+len(d.sealed)), d.version)
	b = binary.BigEndian.AppendUint64(b, uint64(d.until)) //nolint:gosec // only the bits matter
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	return append(b, d.sealed...)
}

func decodeStored(b []byte) (stored, error) {
	if len(b) < storedHeader || crc32.Checksum(b[:16], castagnoli) != binary.BigEndian.Uint32(b[16:]) {
		return stored{}, errMeta
	}
	return stored{
		version: binary.BigEndian.Uint64(b),
		until:   int64(binary.BigEndian.Uint64(b[8:])), //nolint:gosec // only the bits matter
		sealed:  b[storedHeader:],
	}, nil
}

func (d stored) over(now time.Time) bool { return d.until != 0 && d.until <= now.UnixNano() }

// document reads a document. What is not there has version 0.
func (s *Store) document(collection, name string) (stored, error) {
	key := documentKey(collection, name)
	sel, err := s.log.Select(documentBucket, func(x *kvlog.Index, keep func(kvlog.Entry)) {
		if e, ok := x.Get(key); ok {
			keep(e)
		}
	})
	if err != nil {
		return stored{}, asStore(err)
	}
	defer sel.Close()
	values, err := sel.Values(0, len(sel.Entries()))
	if err != nil {
		return stored{}, asStore(err)
	}
	if len(values) == 0 {
		return stored{}, nil
	}
	d, err := decodeStored(values[0])
	if err != nil {
		return stored{}, located(sel, 0, &store.CorruptError{Where: "document " + collection + "/" + name, Reason: err.Error()})
	}
	return d, nil
}

// open makes a document of what is stored.
func (s *Store) openDocument(collection, name string, d stored, now time.Time) (store.Document, error) {
	data, err := s.cfg.Schema.Open(store.KindDocument, collection+"/"+name, d.sealed)
	if err != nil {
		return store.Document{}, err
	}
	out := store.Document{Collection: collection, Name: name, Data: data, Version: d.version}
	if d.until != 0 {
		out.TTL = time.Unix(0, d.until).Sub(now)
	}
	return out, nil
}

// Get returns a document.
func (s *Store) Get(ctx context.Context, collection, name string) (store.Document, error) {
	if err := s.enter(ctx); err != nil {
		return store.Document{}, err
	}
	d, err := s.document(collection, name)
	if err != nil {
		return store.Document{}, err
	}
	now := time.Now()
	if d.version == 0 || d.over(now) {
		return store.Document{}, fmt.Errorf("document %s/%s: %w", collection, name, store.ErrNotFound)
	}
	return s.openDocument(collection, name, d, now)
}

// Put creates or changes a document.
func (s *Store) Put(ctx context.Context, d store.Document) (version uint64, err error) {
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	if err := s.cfg.Limits.CheckDocument(d); err != nil {
		return 0, err
	}
	next := stored{version: d.Version + 1, sealed: s.cfg.Schema.Seal(nil, d.Data)}
	if d.TTL > 0 {
		next.until = time.Now().Add(d.TTL).UnixNano()
	}
	if err := s.replace(ctx, d.Collection, d.Name, d.Version, next); err != nil {
		return 0, err
	}
	if next.until != 0 {
		signal(s.alarm)
	}
	return next.version, nil
}

// Remove deletes a document.
func (s *Store) Remove(ctx context.Context, collection, name string, version uint64) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	if version == 0 {
		return fmt.Errorf("document %s/%s: %w: nothing has version 0", collection, name, store.ErrConflict)
	}
	return s.replace(ctx, collection, name, version, stored{})
}

// replace puts another document in the place of one that must have the given
// version. A document of version 0 is none.
func (s *Store) replace(ctx context.Context, collection, name string, version uint64, next stored) error {
	key := documentKey(collection, name)
	turn := s.documents.turn(key)
	if err := turn.take(ctx); err != nil {
		return err
	}
	b := kvlog.NewBatch(documentBucket)
	now, err := s.document(collection, name)
	if _, corrupt := errors.AsType[*store.CorruptError](err); corrupt && version == 0 {
		// Nobody can name the version of what cannot be read. Writing it anew
		// is the only way to repair it.
		now, err = stored{}, s.unmark(b, key)
	}
	had := now.version
	if now.over(time.Now()) {
		had = 0
	}
	if err == nil && had != version {
		err = fmt.Errorf("document %s/%s: %w: version %d instead of %d", collection, name, store.ErrConflict, had, version)
	}
	if err != nil {
		turn.give()
		return err
	}
	if now.until != 0 {
		b.Delete(expiryKey(now.until, key))
	}
	if next.version == 0 {
		b.Delete(key)
	} else {
		b.Put(key, next.encode())
	}
	if next.until != 0 {
		b.Put(expiryKey(next.until, key), nil)
	}
	if err := s.submit(ctx, func(error) { turn.give() }, b); err != nil {
		return fmt.Errorf("document %s/%s: %w", collection, name, err)
	}
	return nil
}

// unmark takes all marks of a document away, for it cannot say which is its own.
func (s *Store) unmark(b *kvlog.Batch, key string) error {
	err := s.look(documentBucket, func(x *kvlog.Index) {
		for e := range x.Ascend(expiryPrefix, after(expiryPrefix)) {
			if _, of := number(expiryPrefix, e.Key); of == key {
				b.Delete(e.Key)
			}
		}
	})
	return asStore(err)
}

// expireAtOnce is how many documents are removed before looking again.
const expireAtOnce = 500

// expireDocuments removes documents whose time is over and returns when the
// next one's is, or the zero time.
func (s *Store) expireDocuments(now time.Time) (next time.Time, err error) {
	for {
		var marks []string
		err := s.look(documentBucket, func(x *kvlog.Index) {
			for e := range x.Ascend(expiryPrefix, after(expiryPrefix)) {
				n, _ := number(expiryPrefix, e.Key)
				next = time.Unix(0, int64(n)) //nolint:gosec // was one before
				if next.After(now) || len(marks) == expireAtOnce {
					return
				}
				marks = append(marks, e.Key)
			}
			next = time.Time{}
		})
		if err == nil {
			err = s.removeMarked(marks)
		}
		if err != nil {
			return time.Time{}, fmt.Errorf("remove documents whose time is over: %w", err)
		}
		if len(marks) < expireAtOnce {
			return next, nil
		}
	}
}

// removeMarked removes documents with their marks, unless they were changed
// meanwhile: then the marks are gone.
func (s *Store) removeMarked(marks []string) error {
	errs := make(chan error, len(marks))
	for _, mark := range marks {
		_, key := number(expiryPrefix, mark)
		turn := s.documents.turn(key)
		if err := turn.take(s.life); err != nil {
			return err
		}
		done := func(err error) {
			turn.give()
			errs <- err
		}
		marked := false
		err := s.look(documentBucket, func(x *kvlog.Index) { _, marked = x.Get(mark) })
		if err != nil || !marked {
			done(err)
			continue
		}
		b := kvlog.NewBatch(documentBucket)
		b.Delete(mark)
		b.Delete(key)
		if err := s.log.Submit(done, b); err != nil {
			done(err)
		}
	}
	var err error
	for range marks {
		err = cmp.Or(err, <-errs)
	}
	return err
}

// Documents lists a collection in the order of its names.
func (s *Store) Documents(ctx context.Context, collection, from string, limit int) (store.Page[store.Document], error) {
	if err := s.enter(ctx); err != nil {
		return store.Page[store.Document]{}, err
	}
	var page store.Page[store.Document]
	prefix := documentRange(collection)
	lo := prefix
	if from != "" {
		lo += from + "\x00" // just after it
	}
	more := false
	sel, err := s.log.Select(documentBucket, func(x *kvlog.Index, keep func(kvlog.Entry)) {
		left := store.PageLimit(limit)
		for e := range x.Ascend(lo, after(prefix)) {
			if more = left == 0; more {
				return
			}
			left--
			keep(e)
		}
	})
	if err != nil {
		return page, asStore(err)
	}
	defer sel.Close()
	values, err := sel.Values(0, len(sel.Entries()))
	if err != nil {
		return page, asStore(err)
	}
	now := time.Now()
	for i, e := range sel.Entries() {
		name := e.Key[len(prefix):]
		if more {
			page.Next = name
		}
		d, err := decodeStored(values[i])
		if err == nil && d.over(now) {
			continue
		}
		var doc store.Document
		if err == nil {
			doc, err = s.openDocument(collection, name, d, now)
		}
		if errors.Is(err, store.ErrNewerSchema) {
			return store.Page[store.Document]{}, err
		}
		if err != nil {
			// One bad document must not hide the others.
			s.cfg.Logger.Error("document is unreadable and left out of a listing", "error", located(sel, i, err))
			continue
		}
		page.Items = append(page.Items, doc)
	}
	return page, nil
}
