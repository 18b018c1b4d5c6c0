package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Create makes an empty session without an owner. [store.ErrExists] if the id is in use. It
// is not retried if the reply is lost: [store.ErrUnavailable] although the session may
// exist.
func (s *Sessions) Create(ctx context.Context, n store.NewSession) error {
	if err := s.limits.CheckSession(n); err != nil {
		return fmt.Errorf("create session: %w", err)
	}
	return s.create(ctx, "create session", n)
}

func (s *Sessions) create(ctx context.Context, what string, n store.NewSession, lease ...any) error {
	k := s.keys.session(n.ID)
	r, err := s.calls.callSession(ctx, what, notRetryable, n.ID, s.scripts.create,
		[]string{k.meta(), s.keys.sessions(k.partition), s.keys.userSessions(k.partition, n.User), k.floor()},
		append([]any{string(n.ID), n.User, s.schema.Seal(nil, n.Card)}, lease...)...)
	if err == nil && r.word == "EXISTS" {
		return fmt.Errorf("%s %s: %w", what, n.ID, store.ErrExists)
	}
	return err
}

// Recreate creates a session that Redis has lost, owned by the lease's replica.
// [store.ErrExists] if it exists, [store.ErrNotFound] if it was deleted.
func (s *Sessions) Recreate(ctx context.Context, l store.Lease, n store.NewSession) error {
	err := errors.Join(checkLease(l), store.CheckTTL(l.TTL), s.limits.CheckSession(n), store.CheckLeaseOf(l, n))
	if err != nil {
		return fmt.Errorf("recreate session: %w", err)
	}
	return s.create(ctx, "recreate session", n, string(l.Replica), epochText(l), milliseconds(l.TTL))
}

// Deleted reports whether a session was deleted at or after an epoch. Redis stores only the
// highest epoch of the deleted sessions of a partition, so the result may be true for a
// lost session if others were deleted later.
func (s *Sessions) Deleted(ctx context.Context, session wire.SessionID, epoch uint64) (bool, error) {
	if err := session.Validate(); err != nil {
		return false, fmt.Errorf("read deletion epoch: %w", err)
	}
	k := s.keys.session(session)
	var text string
	err := s.runOnServer(ctx, "read deletion epoch of session "+string(session), retryable, k.floor(),
		func(ctx context.Context, server *redis.Client) error {
			var err error
			if text, err = server.Get(ctx, k.floor()).Result(); isRedisError(err, "WRONGTYPE") {
				return nil
			}
			return err
		})
	floor, bad := strconv.ParseUint(text, 10, 64) // anything but a number counts as 0, as in the scripts
	return bad == nil && floor > 0 && floor >= epoch, err
}

// Claim makes a replica the owner of a session: it increments the epoch, fences every
// earlier lease and appends the OWNER_CHANGED event. [*store.OwnedError] while another
// replica has a live lease, [*store.QuarantinedError] if quarantined. If the reply is lost,
// Claim fails with [store.ErrUnavailable] although the replica may be the owner; claiming
// again is always safe.
func (s *Sessions) Claim(
	ctx context.Context, session wire.SessionID, replica wire.ReplicaID, ttl time.Duration,
) (store.Lease, error) {
	if err := errors.Join(session.Validate(), replica.Validate(), store.CheckTTL(ttl)); err != nil {
		return store.Lease{}, fmt.Errorf("claim session: %w", err)
	}
	return s.claim(ctx, session, store.Incarnation{Replica: replica}, ttl)
}

// ClaimShared is Claim for a session that is to be kept by the lease of an incarnation.
func (s *Sessions) ClaimShared(
	ctx context.Context, session wire.SessionID, by store.Incarnation, ttl time.Duration,
) (store.Lease, error) {
	if err := errors.Join(session.Validate(), by.Check(ttl)); err != nil {
		return store.Lease{}, fmt.Errorf("claim session: %w", err)
	}
	return s.claim(ctx, session, by, ttl)
}

// leaveShared is the time for which a hub that does not know shared leases leaves a session to
// an owner that has claimed it so. In an update of many hubs, such a hub would otherwise take
// the session from its owner, and with a longer time it would not follow a dead one.
const leaveShared = 10 * time.Minute

// claim claims a session for an incarnation, or with a lease of its own if the number of the
// incarnation is 0.
func (s *Sessions) claim(ctx context.Context, session wire.SessionID, by store.Incarnation, ttl time.Duration) (store.Lease, error) {
	k := s.keys.session(session)
	lease := store.Lease{Session: session, Replica: by.Replica}
	smallest := len(store.ClaimEvent(lease, time.UnixMilli(0)).Frame)
	incarnation := ""
	if by.Number != 0 {
		incarnation = strconv.FormatUint(by.Number, 10)
	}
	r, err := s.packer.callUnpacked(ctx, "claim session", session, func() (reply, error) {
		return s.calls.callSession(ctx, "claim session", notRetryable, session, s.scripts.claim,
			[]string{
				k.meta(), k.log(), k.quarantine(), k.floor(), k.working(), k.inbox(), s.keys.sharedLeases(s.leasePartition(k.partition)),
			},
			string(session), string(by.Replica), milliseconds(ttl), smallest, s.limits.LogEvents, s.limits.LogBytes,
			incarnation, milliseconds(leaveShared))
	})
	if err != nil {
		return store.Lease{}, err
	}
	if r.word == "OWNED" {
		left, err := r.milliseconds(1)
		owner, err2 := r.count(2)
		if err := errors.Join(err, err2); err != nil {
			return store.Lease{}, fmt.Errorf("claim session %s: %w", session, errors.Join(errReply, err))
		}
		return store.Lease{}, fmt.Errorf("claim session %s: %w", session,
			&store.OwnedError{By: wire.ReplicaID(r.text(0)), For: left, Incarnation: owner})
	}
	lease.TTL, lease.Incarnation = ttl, by.Number
	var errs [2]error
	lease.Epoch, errs[0] = r.count(0)
	lease.Prev, errs[1] = r.position(1)
	if err := errors.Join(errs[:]...); err != nil {
		return store.Lease{}, fmt.Errorf("claim session %s: %w", session, errors.Join(errReply, err))
	}
	return lease, nil
}

// keepExpired is the time for which an expired shared lease is kept, so that its owner can distinguish
// an expired lease from one that Redis has lost.
const keepExpired = time.Hour

// RenewShared extends the lease of an incarnation in a partition to ttl from now, creates it if
// there is none, and returns the live leases of others.
func (s *Sessions) RenewShared(
	ctx context.Context, by store.Incarnation, partition int, ttl time.Duration,
) (store.Renewal, error) {
	if err := by.Check(ttl); err != nil {
		return store.Renewal{}, fmt.Errorf("renew lease: %w", err)
	}
	if partition < 0 || partition >= partitions {
		return store.Renewal{}, fmt.Errorf("renew lease: %w: partition %d", store.ErrInvalid, partition)
	}
	key := s.keys.sharedLeases(s.leasePartition(uint16(partition)))
	v, err := s.rebuilder.callShared(ctx, "renew lease", s.scripts.renewShared, []string{key}, []string{"hash"},
		strconv.FormatUint(by.Number, 10), milliseconds(ttl), milliseconds(keepExpired))
	if err != nil {
		return store.Renewal{}, err
	}
	r, err := parseReply(v)
	if err != nil {
		return store.Renewal{}, fmt.Errorf("renew lease: %w", err)
	}
	renewal := store.Renewal{Known: r.text(0) == "1", Live: map[uint64]time.Duration{}}
	for i := 1; i+1 < len(r.args); i += 2 {
		number, err := r.count(i)
		left, err2 := r.milliseconds(i + 1)
		if err := errors.Join(err, err2); err != nil {
			return store.Renewal{}, fmt.Errorf("renew lease: %w", errors.Join(errReply, err))
		}
		renewal.Live[number] = left
	}
	return renewal, nil
}

// Renew extends a lease by its TTL from now. [store.ErrFenced] if the lease is not the
// current one, [store.ErrInvalid] if it is shared.
func (s *Sessions) Renew(ctx context.Context, l store.Lease) error {
	if err := errors.Join(checkLease(l), store.CheckTTL(l.TTL), l.CheckOwnLease()); err != nil {
		return fmt.Errorf("renew lease: %w", err)
	}
	k := s.keys.session(l.Session)
	_, err := s.calls.callSession(ctx, "renew lease of session", retryable, l.Session, s.scripts.renew,
		[]string{k.meta(), k.working()},
		string(l.Session), string(l.Replica), epochText(l), milliseconds(l.TTL))
	return err
}

// Release ends a lease, so that any replica can claim the session at once, or only
// [store.Lease.Heir] for one TTL. [store.ErrFenced] if the lease is not the current one.
func (s *Sessions) Release(ctx context.Context, l store.Lease) error {
	if err := errors.Join(checkLease(l), l.CheckHeir()); err != nil {
		return fmt.Errorf("release lease: %w", err)
	}
	k := s.keys.session(l.Session)
	_, err := s.calls.callSession(ctx, "release lease of session", notRetryable, l.Session, s.scripts.release,
		[]string{k.meta(), k.working()}, string(l.Session), string(l.Replica), epochText(l), string(l.Heir), milliseconds(l.TTL))
	return err
}

// Delete removes a session with all its data. [store.ErrFenced] if the lease is not the
// current one. It starts again if tables or lists are added meanwhile.
func (s *Sessions) Delete(ctx context.Context, l store.Lease) error {
	if err := checkLease(l); err != nil {
		return fmt.Errorf("delete session: %w", err)
	}
	k := s.keys.session(l.Session)
	for {
		known, err := s.calls.structures(ctx, "delete session", l.Session)
		if err != nil {
			return err
		}
		if known.missing {
			return fmt.Errorf("delete session %s: %w", l.Session, store.ErrFenced)
		}
		keys := []string{
			k.meta(), k.quarantine(), k.floor(), k.working(), s.keys.sessions(k.partition),
			s.keys.userSessions(k.partition, known.user), k.log(), k.inbox(), k.ids(), k.done(), k.names(),
		}
		for _, name := range known.names {
			keys = append(keys, k.structure(name))
		}
		var objects []string
		if known.cooled {
			// The claim has noted the object that the session came from, so it goes a day later if
			// the storage does not answer now.
			if objects, err = s.cold.noteAll(ctx, l.Session, l.Epoch); err != nil {
				s.log.WarnContext(ctx, "objects of a session not listed before its deletion", "session", l.Session, "err", err)
			}
		}
		r, err := s.calls.callSession(ctx, "delete session", notRetryable, l.Session, s.scripts.remove, keys,
			string(l.Session), string(l.Replica), epochText(l), known.version)
		if err == nil && r.word == "OK" {
			s.cold.removeAll(ctx, l.Session, objects)
		}
		if err != nil || r.word != "CHANGED" {
			return err
		}
	}
}

// structures is the information that determines all keys of a session, which a script must
// receive.
type structures struct {
	missing bool
	user    string
	cooled  bool   // it was cold once, so it may have objects
	version string // changes whenever names change
	names   []string
}

func (c *sessionCaller) structures(ctx context.Context, what string, id wire.SessionID) (structures, error) {
	k := c.keys.session(id)
	var meta *redis.SliceCmd
	var names *redis.StringSliceCmd
	err := c.runOnServer(ctx, what+" "+string(id), retryable, k.meta(), func(ctx context.Context, server *redis.Client) error {
		_, err := server.Pipelined(ctx, func(p redis.Pipeliner) error {
			// The version is read first: if the names change in between, it does
			// not match and the script refuses.
			meta = p.HMGet(ctx, k.meta(), "names", "user", "cooled")
			names = p.SMembers(ctx, k.names())
			return nil
		})
		return err
	})
	if err != nil {
		return structures{}, c.sessionError(ctx, id, err)
	}
	version, ok := meta.Val()[0].(string)
	user, _ := meta.Val()[1].(string)
	return structures{missing: !ok, user: user, cooled: meta.Val()[2] != nil, version: version, names: names.Val()}, nil
}

func checkLease(l store.Lease) error { return errors.Join(l.Session.Validate(), l.Replica.Validate()) }

func epochText(l store.Lease) string { return strconv.FormatUint(l.Epoch, 10) }

// milliseconds converts a duration for scripts. It returns at least 1, because 0 would mean
// no TTL.
func milliseconds(d time.Duration) int64 { return max(d.Milliseconds(), 1) }
