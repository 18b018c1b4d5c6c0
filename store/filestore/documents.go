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

// Documents implements the documents of the contract. Writers of a document are serialised
// by one of 64 locks, to which documents are hashed, so some share one.
type Documents struct {
	*folder
	seed  maphash.Seed
	locks [64]keyLock
}

func newDocuments(f *folder) *Documents { return &Documents{folder: f, seed: maphash.MakeSeed()} }

func (s *Documents) lockOf(key string) *keyLock {
	return &s.locks[maphash.String(s.seed, key)%uint64(len(s.locks))]
}

// storedDocument is the stored form of a document: version and expiry, with their own
// checksum, before the sealed data.
type storedDocument struct {
	version uint64
	until   int64 // expiry in Unix nanoseconds; 0 for none
	sealed  []byte
}

const storedHeader = 20

func (d storedDocument) encode() []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, storedHeader+len(d.sealed)), d.version)
	b = binary.BigEndian.AppendUint64(b, uint64(d.until)) //nolint:gosec // only the bits matter
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	return append(b, d.sealed...)
}

func decodeStored(b []byte) (storedDocument, error) {
	if len(b) < storedHeader || crc32.Checksum(b[:16], castagnoli) != binary.BigEndian.Uint32(b[16:]) {
		return storedDocument{}, errMeta
	}
	return storedDocument{
		version: binary.BigEndian.Uint64(b),
		until:   int64(binary.BigEndian.Uint64(b[8:])), //nolint:gosec // only the bits matter
		sealed:  b[storedHeader:],
	}, nil
}

func (d storedDocument) expired(now time.Time) bool { return d.until != 0 && d.until <= now.UnixNano() }

// read reads a document. A missing document has version 0.
func (s *Documents) read(collection, name string) (storedDocument, error) {
	key := documentKey(collection, name)
	sel, err := s.log.Select(documentBucket, func(x *kvlog.Index, keep func(kvlog.Entry)) {
		if e, ok := x.Get(key); ok {
			keep(e)
		}
	})
	if err != nil {
		return storedDocument{}, storeError(err)
	}
	defer sel.Close()
	values, err := sel.Values(0, len(sel.Entries()))
	if err != nil {
		return storedDocument{}, storeError(err)
	}
	if len(values) == 0 {
		return storedDocument{}, nil
	}
	d, err := decodeStored(values[0])
	if err != nil {
		return storedDocument{}, withLocation(sel, 0, &store.CorruptError{Where: "document " + collection + "/" + name, Reason: err.Error()})
	}
	return d, nil
}

// open unseals a document.
func (s *Documents) open(collection, name string, d storedDocument, now time.Time) (store.Document, error) {
	data, err := s.cfg.Schema.Open(store.KindDocument, collection+"/"+name, d.sealed)
	out := store.Document{Collection: collection, Name: name, Data: data, Version: d.version}
	if d.until != 0 {
		out.TTL = time.Unix(0, d.until).Sub(now)
	}
	return out, err
}

// Get returns a document, or [store.ErrNotFound] if it does not exist or has expired.
func (s *Documents) Get(ctx context.Context, collection, name string) (store.Document, error) {
	if err := s.checkOpen(ctx); err != nil {
		return store.Document{}, err
	}
	d, err := s.read(collection, name)
	if err != nil {
		return store.Document{}, err
	}
	now := time.Now()
	if d.version == 0 || d.expired(now) {
		return store.Document{}, fmt.Errorf("document %s/%s: %w", collection, name, store.ErrNotFound)
	}
	return s.open(collection, name, d, now)
}

// Put creates or changes a document if the stored version is d.Version (0: none), else
// [store.ErrConflict]. It returns the new version.
func (s *Documents) Put(ctx context.Context, d store.Document) (version uint64, err error) {
	if err := s.checkOpen(ctx); err != nil {
		return 0, err
	}
	if err := s.cfg.Limits.CheckDocument(d); err != nil {
		return 0, err
	}
	next := storedDocument{version: d.Version + 1, sealed: s.cfg.Schema.Seal(nil, d.Data)}
	if d.TTL > 0 {
		next.until = time.Now().Add(d.TTL).UnixNano()
	}
	if err := s.replace(ctx, d.Collection, d.Name, d.Version, next); err != nil {
		return 0, err
	}
	if next.until != 0 {
		notify(s.wake)
	}
	return next.version, nil
}

// Remove deletes a document with that version, else, and if there is none,
// [store.ErrConflict].
func (s *Documents) Remove(ctx context.Context, collection, name string, version uint64) error {
	if err := s.checkOpen(ctx); err != nil {
		return err
	}
	if version == 0 {
		return fmt.Errorf("document %s/%s: %w: versions begin at 1", collection, name, store.ErrConflict)
	}
	return s.replace(ctx, collection, name, version, storedDocument{})
}

// replace replaces a document that must have the given version. Version 0 means no
// document, both for the present one and for next.
func (s *Documents) replace(ctx context.Context, collection, name string, version uint64, next storedDocument) error {
	key := documentKey(collection, name)
	lock := s.lockOf(key)
	if err := lock.lock(ctx); err != nil {
		return err
	}
	b := kvlog.NewBatch(documentBucket)
	now, err := s.read(collection, name)
	if _, corrupt := errors.AsType[*store.CorruptError](err); corrupt && version == 0 {
		// No caller can know the version of an unreadable document. Creating it
		// again is the only way to repair it.
		now, err = storedDocument{}, s.deleteExpiryMarks(b, key)
	}
	had := now.version
	if now.expired(time.Now()) {
		had = 0
	}
	if err == nil && had != version {
		err = fmt.Errorf("document %s/%s: %w: version %d instead of %d", collection, name, store.ErrConflict, had, version)
	}
	if err != nil {
		lock.unlock()
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
	if err := s.submit(ctx, func(error) { lock.unlock() }, b); err != nil {
		return fmt.Errorf("document %s/%s: %w", collection, name, err)
	}
	return nil
}

// deleteExpiryMarks deletes all expiry marks of an unreadable document, whose own mark is
// unknown.
func (s *Documents) deleteExpiryMarks(b *kvlog.Batch, key string) error {
	err := s.withIndex(documentBucket, func(x *kvlog.Index) {
		for e := range x.Ascend(expiryPrefix, prefixEnd(expiryPrefix)) {
			if _, of := parseNumbered(expiryPrefix, e.Key); of == key {
				b.Delete(e.Key)
			}
		}
	})
	return storeError(err)
}

// expireBatchSize is the number of documents that are removed before the index is read
// again.
const expireBatchSize = 500

// expire removes expired documents and returns the time of the next expiry, or the
// zero time if there is none.
func (s *Documents) expire(now time.Time) (next time.Time, err error) {
	for {
		var marks []string
		err := s.withIndex(documentBucket, func(x *kvlog.Index) {
			for e := range x.Ascend(expiryPrefix, prefixEnd(expiryPrefix)) {
				n, _ := parseNumbered(expiryPrefix, e.Key)
				next = time.Unix(0, int64(n)) //nolint:gosec // was one before
				if next.After(now) || len(marks) == expireBatchSize {
					return
				}
				marks = append(marks, e.Key)
			}
			next = time.Time{}
		})
		if err == nil {
			err = s.removeExpired(marks)
		}
		if err != nil {
			return time.Time{}, fmt.Errorf("remove expired documents: %w", err)
		}
		if len(marks) < expireBatchSize {
			return next, nil
		}
	}
}

// removeExpired removes the documents of expiry marks. A document that was changed
// meanwhile has lost its mark and is kept.
func (s *Documents) removeExpired(marks []string) error {
	errs := make(chan error, len(marks))
	for _, mark := range marks {
		_, key := parseNumbered(expiryPrefix, mark)
		lock := s.lockOf(key)
		if err := lock.lock(s.runCtx); err != nil {
			return err
		}
		done := func(err error) {
			lock.unlock()
			errs <- err
		}
		marked := false
		err := s.withIndex(documentBucket, func(x *kvlog.Index) { _, marked = x.Get(mark) })
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

// Documents lists a collection in the order of names. Unreadable documents are omitted and
// logged.
func (s *Documents) Documents(ctx context.Context, collection, from string, limit int) (store.Page[store.Document], error) {
	if err := s.checkOpen(ctx); err != nil {
		return store.Page[store.Document]{}, err
	}
	var page store.Page[store.Document]
	prefix := documentRange(collection)
	lo := prefix
	if from != "" {
		lo += from + "\x00" // the first key after from
	}
	more := false
	sel, err := s.log.Select(documentBucket, func(x *kvlog.Index, keep func(kvlog.Entry)) {
		left := store.PageLimit(limit)
		for e := range x.Ascend(lo, prefixEnd(prefix)) {
			if more = left == 0; more {
				return
			}
			left--
			keep(e)
		}
	})
	if err != nil {
		return page, storeError(err)
	}
	defer sel.Close()
	values, err := sel.Values(0, len(sel.Entries()))
	if err != nil {
		return page, storeError(err)
	}
	now := time.Now()
	for i, e := range sel.Entries() {
		name := e.Key[len(prefix):]
		if more {
			page.Next = name
		}
		d, err := decodeStored(values[i])
		if err == nil && d.expired(now) {
			continue
		}
		var doc store.Document
		if err == nil {
			doc, err = s.open(collection, name, d, now)
		}
		if errors.Is(err, store.ErrNewerSchema) {
			return store.Page[store.Document]{}, err
		}
		if err != nil {
			// One unreadable document must not hide the others.
			s.cfg.Logger.Error("unreadable document omitted from listing", "error", withLocation(sel, i, err))
			continue
		}
		page.Items = append(page.Items, doc)
	}
	return page, nil
}
