package redisstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// storage finds out whether the objects of this process are those that have the cold sessions. A
// folder that is not mounted yet is empty, and an empty folder looks as if all objects were lost:
// each session that is opened would be quarantined. So the storage has an id, and Redis records it.
type storage struct {
	*caller
	objects Objects // nil if there are none
	// confirmed says that the storage had the recorded id when it was last read.
	confirmed atomic.Bool
	// refused says that the storage had another id, or none, when it was last read.
	refused atomic.Bool
}

// recordedID returns the id that Redis has, or "". It records an id first, unless that is empty or Redis
// has one.
func (s *storage) recordedID(ctx context.Context, id string) (string, error) {
	v, err := s.call(ctx, "read id of storage", retryable, s.scripts.storage, []string{s.keys.storage()}, id)
	if err != nil {
		return "", err
	}
	r, err := parseReply(v)
	if err != nil {
		return "", fmt.Errorf("read id of storage: %w", err)
	}
	return r.text(0), nil
}

// ensureRecorded records this storage as the one that has the cold sessions, unless another is or may be. It is called
// before an object is written.
func (s *storage) ensureRecorded(ctx context.Context) error {
	want, err := s.recordedID(ctx, "")
	if err != nil || want != "" {
		return s.compareID(ctx, want, err)
	}
	if err := s.searchObjects(ctx, true); err != nil {
		return err
	}
	return s.record(ctx)
}

// record records this storage as the one that has the cold sessions, unless another is recorded. The caller has checked that it has
// their objects, or that there are none.
func (s *storage) record(ctx context.Context) error {
	// The id is in the storage first: two replicas that do this at once find the same one.
	id, err := s.identify(ctx, rand.Text())
	if err != nil {
		return err
	}
	want, err := s.recordedID(ctx, id)
	return s.compareID(ctx, want, err)
}

// confirmID returns [store.ErrOtherFiles], which is [store.ErrUnavailable] as well, if another storage has the
// cold sessions.
func (s *storage) confirmID(ctx context.Context) error {
	want, err := s.recordedID(ctx, "")
	return s.compareID(ctx, want, err)
}

// confirmObjects is confirmID for a decision that loses objects. A storage without a recorded id must have the object of
// a cold session, unless none is cold.
func (s *storage) confirmObjects(ctx context.Context) error {
	want, err := s.recordedID(ctx, "")
	if err != nil || want != "" {
		return s.compareID(ctx, want, err)
	}
	return s.searchObjects(ctx, false)
}

// confirmNotes is confirmObjects for removing noted objects. Without any there is nothing to lose, and nothing is searched.
func (s *storage) confirmNotes(ctx context.Context) error {
	for part := range uint16(partitions) {
		var n int64
		key := s.keys.objects(part)
		err := s.runOnServer(ctx, "count noted objects", retryable, key, func(ctx context.Context, server *redis.Client) (err error) {
			n, err = server.ZCard(ctx, key).Result()
			return err
		})
		if err != nil {
			return err
		}
		if n > 0 {
			return s.confirmObjects(ctx)
		}
	}
	return s.confirmID(ctx)
}

// searchedObjects is the number of objects without any success after which a storage counts as another one.
const searchedObjects = 50

// searchObjects looks for objects of cold sessions and, if noted is set, for noted ones. Versions without ids may have
// written them. It is [store.ErrOtherFiles] if there are such sessions or notes and the storage has none of these
// objects. It reads all partitions, which happens until the first id is recorded.
func (s *storage) searchObjects(ctx context.Context, noted bool) error {
	missing := 0
	for part := range uint16(partitions) {
		for object, err := range s.knownObjects(ctx, part, noted) {
			if err != nil {
				return err
			}
			session, name, _ := strings.Cut(object, " ")
			limited, cancel := context.WithTimeout(ctx, getTimeout)
			_, err := s.objects.Get(limited, wire.SessionID(session), name, 1)
			cancel()
			switch {
			case err == nil:
				return nil
			case !errors.Is(err, fs.ErrNotExist):
				return fmt.Errorf("read object %s of session %s: %w: %w", name, session, store.ErrUnavailable, err)
			}
			if missing++; missing == searchedObjects {
				return s.refuseOther(ctx, "", "")
			}
		}
	}
	if missing > 0 {
		return s.refuseOther(ctx, "", "")
	}
	return nil
}

// knownObjects yields the objects that the cold sessions of a partition refer to and, if noted is set, those that are noted.
func (s *storage) knownObjects(ctx context.Context, part uint16, noted bool) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for rank := "0"; rank != ""; {
			v, err := s.call(ctx, "list cold sessions", retryable, s.scripts.listCold, []string{s.keys.recent(part)}, rank, unusedBatch)
			if err != nil {
				yield("", err)
				return
			}
			r, err := parseReply(v)
			if err != nil {
				yield("", fmt.Errorf("list cold sessions: %w", err))
				return
			}
			rank = r.text(0)
			for i := 1; i < len(r.args); i++ {
				session := wire.SessionID(r.text(i))
				object, err := s.objectOfSession(ctx, session)
				if (err != nil || object != "") && !yield(object, err) {
					return
				}
			}
		}
		if !noted {
			return
		}
		var all []string
		key := s.keys.objects(part)
		err := s.runOnServer(ctx, "list noted objects", retryable, key, func(ctx context.Context, server *redis.Client) (err error) {
			all, err = server.ZRange(ctx, key, 0, searchedObjects-1).Result()
			return err
		})
		if err != nil {
			yield("", err)
			return
		}
		for _, object := range all {
			if !yield(object, nil) {
				return
			}
		}
	}
}

// objectOfSession returns the object that a cold session refers to, or "" if it is not cold or its reference is damaged.
func (s *storage) objectOfSession(ctx context.Context, session wire.SessionID) (object string, err error) {
	var value string
	key := s.keys.session(session).pack()
	err = s.runOnServer(ctx, "read reference of session "+string(session), retryable, key, func(ctx context.Context, server *redis.Client) (err error) {
		if value, err = server.Get(ctx, key).Result(); errors.Is(err, redis.Nil) {
			return nil
		}
		return err
	})
	if err != nil || !isReference(value) {
		return "", err
	}
	ref, err := parseReference(session, value)
	if err != nil {
		return "", nil //nolint:nilerr // opening the session reports it
	}
	return objectOf(session, ref.name), nil
}

func (s *storage) compareID(ctx context.Context, want string, err error) error {
	if err != nil || want == "" { // no session has been cold, or none since there are ids
		return err
	}
	got, err := s.identify(ctx, "")
	if err != nil {
		return err
	}
	s.confirmed.Store(got == want)
	if got != want {
		return s.refuseOther(ctx, want, got)
	}
	if s.refused.Swap(false) {
		s.log.InfoContext(ctx, "the storage of files is the one that has the cold sessions again", "id", got)
	}
	return nil
}

// refuseOther reports, once in the log, that another storage has the cold sessions.
func (s *storage) refuseOther(ctx context.Context, want, got string) error {
	if !s.refused.Swap(true) {
		s.log.ErrorContext(ctx, "the storage of files is not the one that has the cold sessions; if it is a folder, mount it and start the hub again", "want", want, "got", got)
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, store.ErrOtherFiles)
}

func (s *storage) identify(ctx context.Context, id string) (string, error) {
	limited, cancel := context.WithTimeout(ctx, getTimeout)
	defer cancel()
	got, err := s.objects.Identify(limited, id)
	if err != nil {
		return "", fmt.Errorf("read id of storage: %w: %w", store.ErrUnavailable, err)
	}
	return got, nil
}

// ready returns [store.ErrOtherFiles] if another storage has the cold sessions. A storage that was confirmed
// is not read again. One that does not answer is no error: only cold sessions need it.
func (s *storage) ready(ctx context.Context) error {
	if s.objects == nil || s.confirmed.Load() {
		return nil
	}
	if err := s.confirmID(ctx); err != nil && s.refused.Load() {
		return err
	}
	return nil
}
