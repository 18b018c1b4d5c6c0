package adminview

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Lifetimes of an interest.
const (
	// interestRenewal is the renewal interval.
	interestRenewal = 2 * time.Second
	// interestLifetime is how long an interest counts without renewal.
	interestLifetime = 6 * time.Second
	// interestTTL is the TTL of the document.
	interestTTL = 10 * time.Second
	// maxInterestedReplicas bounds the replicas in the document.
	maxInterestedReplicas = 256
)

// interests is the one document that names the replicas through which admins look, and the
// sessions.
type interests struct {
	Format  int                                  `json:"v"`
	Lookers map[wire.ReplicaID]interestedReplica `json:"lookers,omitempty"`
}

// interestedReplica is a replica through which an admin looks.
type interestedReplica struct {
	// Renewal has another value after every renewal. It is not a time for other replicas, because clocks
	// differ.
	Renewal  string           `json:"beat"`
	Sessions []wire.SessionID `json:"sessions,omitempty"`
}

func readInterests(data []byte) (interests, error) {
	var i interests
	if err := json.Unmarshal(data, &i); err != nil {
		return interests{}, fmt.Errorf("%w: %w", errForeign, err)
	}
	if i.Format != format || len(i.Lookers) > maxInterestedReplicas {
		return interests{}, errForeign
	}
	for id, l := range i.Lookers {
		if id.Validate() != nil {
			return interests{}, errForeign
		}
		l.Sessions = l.Sessions[:min(len(l.Sessions), maxParts)]
		l.Sessions = slices.DeleteFunc(l.Sessions, func(s wire.SessionID) bool { return s.Validate() != nil })
		i.Lookers[id] = l
	}
	return i, nil
}

// interestTracker tracks the interests of all replicas. The goroutine of Run owns it.
type interestTracker struct {
	version     uint64 // of the document; 0 if there is none
	now         interests
	seen        map[wire.ReplicaID]renewal
	published   interestedReplica // the last published interest of this replica
	publishedAt time.Time
}

// renewal is a value of looker.Renewal and the time at which it was first seen.
type renewal struct {
	value string
	at    time.Time
}

// read reads the document. After an error the interests stay as they were.
func (lo *interestTracker) read(ctx context.Context, s Documents, now time.Time) error {
	d, err := s.Get(ctx, collection, interestName)
	switch {
	case errors.Is(err, store.ErrNotFound):
		lo.version, lo.now = 0, interests{}
	case err != nil:
		return fmt.Errorf("read interests: %w", err)
	default:
		lo.version = d.Version
		if lo.now, err = readInterests(d.Data); err != nil {
			lo.now = interests{} // the next publish overwrites it
		}
	}
	if lo.seen == nil {
		lo.seen = map[wire.ReplicaID]renewal{}
	}
	maps.DeleteFunc(lo.seen, func(id wire.ReplicaID, _ renewal) bool { return lo.now.Lookers[id].Renewal == "" })
	for id, l := range lo.now.Lookers {
		if lo.seen[id].value != l.Renewal {
			lo.seen[id] = renewal{l.Renewal, now}
		}
	}
	return nil
}

// interestsOfOthers reports whether an admin looks through another replica, and at which sessions:
// first the first ones of each replica.
func (lo *interestTracker) interestsOfOthers(self wire.ReplicaID, now time.Time) (bool, []wire.SessionID) {
	looked, most := false, 0
	var lists [][]wire.SessionID
	for _, id := range slices.Sorted(maps.Keys(lo.now.Lookers)) {
		if id != self && now.Sub(lo.seen[id].at) < interestLifetime {
			sessions := lo.now.Lookers[id].Sessions
			lists = append(lists, sessions)
			looked, most = true, max(most, len(sessions))
		}
	}
	var all []wire.SessionID
	known := map[wire.SessionID]bool{}
	for i := range most {
		for _, sessions := range lists {
			if i < len(sessions) && !known[sessions[i]] {
				known[sessions[i]] = true
				all = append(all, sessions[i])
			}
		}
	}
	return looked, all
}

// publish writes the interest of this replica, unless the document has it. Without wants it
// removes the interest.
func (lo *interestTracker) publish(ctx context.Context, s Documents, self wire.ReplicaID, wants bool, sessions []wire.SessionID, now time.Time) error {
	mine, there := lo.now.Lookers[self]
	switch {
	case !wants && !there:
		return nil
	case wants && there && mine.Renewal == lo.published.Renewal && slices.Equal(mine.Sessions, sessions) && now.Sub(lo.publishedAt) < interestRenewal:
		return nil
	}
	for range 3 {
		next := interests{Format: format, Lookers: map[wire.ReplicaID]interestedReplica{}}
		for id, l := range lo.now.Lookers {
			if id != self && now.Sub(lo.seen[id].at) < interestLifetime {
				next.Lookers[id] = l
			}
		}
		if wants {
			next.Lookers[self] = interestedReplica{Renewal: strconv.FormatInt(now.UnixNano(), 10), Sessions: sessions}
		}
		data, err := json.Marshal(next)
		if err != nil {
			panic(err) // a document of strings always encodes
		}
		version, err := s.Put(ctx, store.Document{
			Collection: collection, Name: interestName, Data: data, Version: lo.version, TTL: interestTTL,
		})
		if err == nil {
			lo.version, lo.now, lo.published, lo.publishedAt = version, next, next.Lookers[self], now
			return nil
		}
		if !errors.Is(err, store.ErrConflict) {
			return fmt.Errorf("publish interest: %w", err)
		}
		if err := lo.read(ctx, s, now); err != nil {
			return err
		}
	}
	return nil // other replicas won every attempt; retried in the next round
}
