package redisstore

import (
	"context"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // a checksum that Redis can make, not a secret
	"encoding/hex"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Objects keeps the packs of cold sessions outside of Redis. All replicas need the same ones.
type Objects interface {
	// Put stores a new object. It returns when a power cut does not lose the object.
	Put(ctx context.Context, session wire.SessionID, name string, data []byte) error
	// Get returns an object, or of a larger one the first bytes; [fs.ErrNotExist] if there is none.
	Get(ctx context.Context, session wire.SessionID, name string, limit int64) ([]byte, error)
	// Remove removes an object. A missing one is no error.
	Remove(ctx context.Context, session wire.SessionID, name string) error
	// Names lists the objects of a session.
	Names(ctx context.Context, session wire.SessionID) ([]string, error)
	// Identify returns the id of the storage, or "" if it has none. A storage without one gets the given
	// id, unless that is empty.
	Identify(ctx context.Context, id string) (string, error)
}

// putTimeout bounds the write of an object, and getTimeout a read or a list. RemoveUnneeded is for objects that
// were noted much longer ago.
const (
	putTimeout = time.Minute
	getTimeout = 10 * time.Second
)

// minColdBytes is the size from which on a pack is moved to an object; the scripts know it, too.
const minColdBytes = 512

// Cold moves dormant sessions to objects outside of Redis. Their entries stay in the directory, and
// reads take the content from the object; Claim and Send move it back.
//
// A session is cold from the moment at which one script replaces its pack by a reference to the
// object. Objects that no session refers to are noted in a sorted set of the partition, before
// they are written and when a session has come back, so that RemoveUnneeded finds them after any
// crash.
type Cold struct {
	*caller
	calls     *sessionCaller
	packer    *packer
	directory *directory
	objects   Objects
	storage   *storage
}

// objectOf is an object in the set of its partition.
func objectOf(session wire.SessionID, name string) string { return string(session) + " " + name }

// unusedBatch is the number of sessions that Unused looks at in one call. Redis needs a few
// milliseconds for them.
const unusedBatch = 500

// Unused lists sessions that may be cooled: they have not changed since a time and are neither
// cold nor quarantined and have no unfinished work. It begins at a cursor, first "", and returns
// the next one, or "" at the end. A page may be empty.
func (c *Cold) Unused(ctx context.Context, cursor string, since time.Time) (ids []wire.SessionID, next string, err error) {
	const what = "list unused sessions"
	part, rank := 0, 0
	if cursor != "" {
		p, r, _ := strings.Cut(cursor, ".")
		var errs [2]error
		part, errs[0] = strconv.Atoi(p)
		rank, errs[1] = strconv.Atoi(r)
		if err := errors.Join(errs[:]...); err != nil || part < 0 || part >= partitions || rank < 0 {
			return nil, "", fmt.Errorf("%s: %w: cursor %q", what, store.ErrInvalid, cursor)
		}
	}
	v, err := c.call(ctx, what, retryable, c.scripts.listUnused, []string{c.keys.recent(uint16(part))}, rank, unusedBatch, since.Unix())
	if err != nil {
		return nil, "", err
	}
	r, err := parseReply(v)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", what, err)
	}
	for i := 1; i < len(r.args); i++ {
		ids = append(ids, wire.SessionID(r.text(i)))
	}
	switch {
	case r.text(0) != "":
		next = strconv.Itoa(part) + "." + r.text(0)
	case part+1 < partitions:
		next = strconv.Itoa(part+1) + ".0"
	}
	return ids, next, nil
}

// Cool moves a session that has not changed since a time to an object and reports whether it
// did. A session that is in use, quarantined, large, small, or cold stays as it is.
func (c *Cold) Cool(ctx context.Context, session wire.SessionID, since time.Time) (bool, error) {
	const what = "cool session"
	done, err := c.cool(ctx, session, since)
	if err != nil {
		c.cfg.Observer.ColdFailed("cool")
		return false, fmt.Errorf("%s %s: %w", what, session, err)
	}
	if done {
		c.cfg.Observer.SessionCooled()
	}
	return done, nil
}

func (c *Cold) cool(ctx context.Context, session wire.SessionID, since time.Time) (bool, error) {
	if c.objects == nil {
		return false, errNoObjects
	}
	value, top, err := c.packUnused(ctx, session, since)
	if err != nil || len(value) < minColdBytes || isReference(value) {
		return false, err
	}
	if err := c.storage.ensureRecorded(ctx); err != nil {
		return false, err
	}
	k := c.keys.session(session)
	name := top.String() + "-" + rand.Text()[:10]
	object := objectOf(session, name)
	if _, err := c.call(ctx, "note object", retryable, c.scripts.noteObject, []string{k.objects()}, object); err != nil {
		return false, err
	}
	putting, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	if err := c.objects.Put(putting, session, name, []byte(value)); err != nil {
		return false, fmt.Errorf("write object %s: %w", name, err)
	}
	sum := sha1.Sum([]byte(value)) //nolint:gosec // a checksum
	r, err := c.calls.callSession(ctx, "cool session", notRetryable, session, c.scripts.cool,
		[]string{k.meta(), k.pack(), k.objects()}, hex.EncodeToString(sum[:]), newReference(name, value).seal(), object)
	if err != nil {
		return false, err // it may be cold: RemoveUnneeded finds out
	}
	if r.word != "OK" {
		_, err := c.remove(ctx, k.partition, 0, 1, object)
		return false, err
	}
	return true, nil
}

// packUnused packs a session that is not packed, unless it is in use or has changed since a time. It
// returns the pack, or nothing if there is none, and the end of the log.
func (c *Cold) packUnused(ctx context.Context, session wire.SessionID, since time.Time) (string, wire.Position, error) {
	infos, err := c.directory.infos(ctx, "look up unused session", []wire.SessionID{session})
	if err != nil || len(infos) == 0 {
		return "", wire.Position{}, err
	}
	i := infos[0]
	// The lease is compared with since, too, and not with the clock of this process: a clock that is fast would
	// take the session from a replica that is alive.
	if i.Working || i.Quarantined != "" || i.Top.IsZero() || !i.Updated.Before(since) || i.Owner != "" && !i.Until.Before(since) {
		return "", wire.Position{}, nil
	}
	value, err := c.packer.value(ctx, session)
	if err != nil || value != "" {
		return value, i.Top, err
	}
	// Its owner was killed, or has ended while not every replica read packs. The pack fails if the
	// session is claimed meanwhile.
	done, err := c.packer.pack(ctx, store.Lease{Session: session, Replica: i.Owner, Epoch: i.Epoch})
	if errors.Is(err, store.ErrFenced) || err == nil && !done {
		return "", i.Top, nil
	}
	if err != nil {
		return "", i.Top, err
	}
	value, err = c.packer.value(ctx, session)
	return value, i.Top, err
}

const (
	// removeBatch bounds the objects of one partition that one call of RemoveUnneeded removes.
	removeBatch = 100
	// removeFailures in a row end a removal: the storage is probably unavailable.
	removeFailures = 3
)

// RemoveUnneeded removes objects that no session refers to and that were noted long enough ago:
// those of sessions that came back, and those of processes that were killed. It returns their
// number. A Redis that lost its last writes may refer to them again, so the time should not be
// short. It begins at a random partition, so that objects that cannot be removed do not keep those
// behind them for ever.
func (c *Cold) RemoveUnneeded(ctx context.Context, noted time.Duration) (int, error) {
	if c.objects == nil {
		return 0, nil
	}
	// In another storage an object is missing, and then its note would go and the object stay.
	if err := c.storage.confirmNotes(ctx); err != nil {
		return 0, fmt.Errorf("remove objects: %w", err)
	}
	removed, failed, first := 0, 0, mathrand.N[uint16](partitions)
	var errs []error
	for p := range uint16(partitions) {
		n, err := c.remove(ctx, (first+p)%partitions, noted, removeBatch)
		if removed += n; n > 0 {
			failed = 0
		}
		if err == nil {
			continue
		}
		errs = append(errs, err)
		if failed++; failed >= removeFailures {
			break
		}
	}
	return removed, errors.Join(errs...)
}

// remove removes objects of a partition that no session refers to: some, or the oldest ones.
func (c *Cold) remove(ctx context.Context, partition uint16, noted time.Duration, limit int, objects ...string) (int, error) {
	const what = "remove objects"
	if c.objects == nil {
		return 0, nil
	}
	key := c.keys.objects(partition)
	args := []any{noted.Milliseconds(), limit}
	for _, o := range objects {
		args = append(args, o)
	}
	v, err := c.call(ctx, what, retryable, c.scripts.condemn, []string{key}, args...)
	if err != nil {
		return 0, err
	}
	r, err := parseReply(v)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", what, err)
	}
	removed, failed := 0, 0
	var errs []error
	for i := range r.args {
		session, name, _ := strings.Cut(r.text(i), " ")
		if err := c.objects.Remove(ctx, wire.SessionID(session), name); err != nil {
			c.cfg.Observer.ColdFailed("remove")
			errs = append(errs, fmt.Errorf("%s: %s of session %s: %w", what, name, session, err))
			if failed++; failed >= removeFailures {
				break
			}
			continue
		}
		failed = 0
		err := c.runOnServer(ctx, what, retryable, key, func(ctx context.Context, server *redis.Client) error {
			return server.ZRem(ctx, key, r.text(i)).Err()
		})
		if err != nil {
			return removed, errors.Join(append(errs, err)...)
		}
		removed++
	}
	return removed, errors.Join(errs...)
}

// noteAll notes all objects of a session that is about to be deleted and returns them. Without an
// epoch these are all objects, else those up to it: a later session may have the same id.
func (c *Cold) noteAll(ctx context.Context, session wire.SessionID, epoch uint64) ([]string, error) {
	if c.objects == nil {
		return nil, nil
	}
	if err := c.storage.confirmID(ctx); err != nil {
		return nil, fmt.Errorf("list objects of session %s: %w", session, err)
	}
	listing, cancel := context.WithTimeout(ctx, getTimeout)
	defer cancel()
	names, err := c.objects.Names(listing, session)
	if err != nil {
		return nil, fmt.Errorf("list objects of session %s: %w: %w", session, store.ErrUnavailable, err)
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		text, _, _ := strings.Cut(name, "-")
		n, err := strconv.ParseUint(text, 10, 64)
		return err != nil || epoch != 0 && n > epoch
	})
	if len(names) == 0 {
		return nil, nil
	}
	objects, args := make([]string, len(names)), make([]any, len(names))
	for i, name := range names {
		objects[i], args[i] = objectOf(session, name), objectOf(session, name)
	}
	_, err = c.call(ctx, "note objects", retryable, c.scripts.noteObject, []string{c.keys.session(session).objects()}, args...)
	return objects, err
}

// removeAll removes objects of a session that was deleted. If it fails, RemoveUnneeded removes them.
func (c *Cold) removeAll(ctx context.Context, session wire.SessionID, objects []string) {
	if len(objects) == 0 {
		return
	}
	if _, err := c.remove(ctx, partition(string(session)), 0, len(objects), objects...); err != nil {
		c.log.WarnContext(ctx, "objects of a deleted session not removed", "session", session, "err", err)
	}
}
