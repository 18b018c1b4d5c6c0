package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/everdesk/everdesk/store"
)

// listBytes is the approximate bound of the data in one page of documents.
const listBytes = 4 << 20

// Documents implements the documents of the contract.
type Documents struct{ *caller }

// Get returns a document with its remaining TTL, or [store.ErrNotFound]. An unreadable
// document has no data, only the version that a Put needs to replace it.
func (s *Documents) Get(ctx context.Context, collection, name string) (store.Document, error) {
	what := "get document " + collection + "/" + name
	d := store.Document{Collection: collection, Name: name}
	if err := s.limits.CheckDocument(d); err != nil {
		return store.Document{}, fmt.Errorf("get document: %w", err)
	}
	r, err := s.callDocument(ctx, what, retryable, s.scripts.getDocument, collection, name)
	if err != nil {
		return store.Document{}, err
	}
	if r.word == "NOTFOUND" {
		return store.Document{}, fmt.Errorf("%s: %w", what, store.ErrNotFound)
	}
	if d, err = s.openDocument(d, r); err != nil {
		return d, fmt.Errorf("%s: %w", what, err)
	}
	return d, nil
}

// Put writes a document if the stored version is d.Version (0: none), else
// [store.ErrConflict]. It returns the new version. If the reply is lost, it fails with
// [store.ErrUnavailable] although the document may have been written.
func (s *Documents) Put(ctx context.Context, d store.Document) (version uint64, err error) {
	if err := s.limits.CheckDocument(d); err != nil {
		return 0, fmt.Errorf("put document: %w", err)
	}
	what := "put document " + d.Collection + "/" + d.Name
	ttl := int64(0)
	if d.TTL > 0 {
		ttl = milliseconds(d.TTL)
	}
	r, err := s.callDocument(ctx, what, notRetryable, s.scripts.putDocument, d.Collection,
		d.Name, strconv.FormatUint(d.Version, 10), s.schema.Seal(nil, d.Data), ttl)
	if err != nil {
		return 0, err
	}
	if r.word == "CONFLICT" {
		return 0, fmt.Errorf("%s: %w", what, store.ErrConflict)
	}
	if version, err = r.count(0); err != nil {
		return 0, fmt.Errorf("%s: %w", what, errors.Join(errReply, err))
	}
	return version, nil
}

// Remove deletes a document with that version, else, and if there is none,
// [store.ErrConflict].
func (s *Documents) Remove(ctx context.Context, collection, name string, version uint64) error {
	what := "remove document " + collection + "/" + name
	if err := s.limits.CheckDocument(store.Document{Collection: collection, Name: name}); err != nil {
		return fmt.Errorf("remove document: %w", err)
	}
	r, err := s.callDocument(ctx, what, notRetryable, s.scripts.removeDocument, collection,
		name, strconv.FormatUint(version, 10))
	if err == nil && r.word == "CONFLICT" {
		return fmt.Errorf("%s: %w", what, store.ErrConflict)
	}
	return err
}

// Documents lists a collection in the order of names. Unreadable documents are omitted and
// logged.
func (s *Documents) Documents(
	ctx context.Context, collection, after string, limit int,
) (store.Page[store.Document], error) {
	var page store.Page[store.Document]
	what := "list documents of " + collection
	if err := store.CheckName("collection", collection); err != nil {
		return page, fmt.Errorf("list documents: %w", err)
	}
	from := "-"
	if after != "" {
		from = "(" + after
	}
	const columns = 4
	r, err := s.callDocument(ctx, what, retryable, s.scripts.listDocuments, collection,
		from, store.PageLimit(limit), listBytes)
	if err != nil {
		return page, err
	}
	page.Next = r.text(0)
	for rest := r.args[1:]; len(rest) >= columns; rest = rest[columns:] {
		name, _ := rest[0].(string)
		d, err := s.openDocument(store.Document{Collection: collection, Name: name}, reply{args: rest[1:columns]})
		if errors.Is(err, store.ErrNewerSchema) {
			return store.Page[store.Document]{}, fmt.Errorf("%s: %w", what, err)
		}
		if err != nil {
			s.log.WarnContext(ctx, "unreadable document omitted from listing", "collection", collection, "name", name, "err", err)
			continue
		}
		page.Items = append(page.Items, d)
	}
	return page, nil
}

func (s *Documents) callDocument(
	ctx context.Context, what string, again retrySafety, sc *script, collection string, args ...any,
) (reply, error) {
	v, err := s.call(ctx, what, again, sc, s.keys.collection(collection), args...)
	if err != nil {
		if errors.Is(err, store.ErrCorrupt) {
			err = &store.CorruptError{Where: "collection " + collection, Reason: err.Error()}
		}
		return reply{}, err
	}
	r, err := parseReply(v)
	if err != nil {
		return reply{}, fmt.Errorf("%s: %w", what, err)
	}
	return r, nil
}

// openDocument sets version, remaining TTL and unsealed data of a document from a reply.
func (s *Documents) openDocument(d store.Document, r reply) (store.Document, error) {
	version, err := r.count(0)
	if err != nil {
		return store.Document{}, &store.CorruptError{Where: "version of " + d.Collection + "/" + d.Name, Reason: err.Error()}
	}
	left, err := r.milliseconds(1)
	if err != nil {
		return store.Document{}, errors.Join(errReply, err)
	}
	data, err := s.schema.Open(store.KindDocument, d.Collection+"/"+d.Name, []byte(r.text(2)))
	d.Version, d.TTL, d.Data = version, max(left, 0), data
	return d, err
}
