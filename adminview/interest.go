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

// How long an interest lasts.
const (
	// interestAgain is how often it is said again.
	interestAgain = 2 * time.Second
	// interestFor is how long it counts when it is not.
	interestFor = 6 * time.Second
	// interestTTL is how long the document stays when nobody looks any more.
	interestTTL = 10 * time.Second
	// maxLookers bounds the replicas that are looked through at once.
	maxLookers = 256
)

// interests is the one document that says who looks at what.
type interests struct {
	Format  int                       `json:"v"`
	Lookers map[wire.ReplicaID]looker `json:"lookers,omitempty"`
}

// looker is a replica that somebody looks through.
type looker struct {
	// Beat changes as long as it does. Clocks of replicas differ, so it is no
	// time for others.
	Beat     string           `json:"beat"`
	Sessions []wire.SessionID `json:"sessions,omitempty"`
}

func readInterests(data []byte) (interests, error) {
	var i interests
	if err := json.Unmarshal(data, &i); err != nil {
		return interests{}, fmt.Errorf("%w: %w", errForeign, err)
	}
	if i.Format != format || len(i.Lookers) > maxLookers {
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

// lookout is what a replica knows of who looks. It belongs to the goroutine of Run.
type lookout struct {
	version uint64 // of the document; 0 when there is none
	now     interests
	seen    map[wire.ReplicaID]beat
	said    looker // what we said last
	saidAt  time.Time
}

// beat is when a beat was seen first.
type beat struct {
	value string
	at    time.Time
}

// read looks who looks. Without an answer it is as it was.
func (o *lookout) read(ctx context.Context, s Store, now time.Time) error {
	d, err := s.Get(ctx, collection, interestName)
	switch {
	case errors.Is(err, store.ErrNotFound):
		o.version, o.now = 0, interests{}
	case err != nil:
		return fmt.Errorf("look who looks: %w", err)
	default:
		o.version = d.Version
		if o.now, err = readInterests(d.Data); err != nil {
			o.now = interests{} // it is overwritten by the next who looks
		}
	}
	if o.seen == nil {
		o.seen = map[wire.ReplicaID]beat{}
	}
	maps.DeleteFunc(o.seen, func(id wire.ReplicaID, _ beat) bool { return o.now.Lookers[id].Beat == "" })
	for id, l := range o.now.Lookers {
		if o.seen[id].value != l.Beat {
			o.seen[id] = beat{l.Beat, now}
		}
	}
	return nil
}

// others says whether somebody looks through another replica, and at which sessions:
// first what comes first for each of them.
func (o *lookout) others(self wire.ReplicaID, now time.Time) (bool, []wire.SessionID) {
	looked, most := false, 0
	var lists [][]wire.SessionID
	for _, id := range slices.Sorted(maps.Keys(o.now.Lookers)) {
		if id != self && now.Sub(o.seen[id].at) < interestFor {
			sessions := o.now.Lookers[id].Sessions
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

// say writes down what is looked at through this replica, unless that is known.
// Without wants nobody looks any more.
func (o *lookout) say(ctx context.Context, s Store, self wire.ReplicaID, wants bool, sessions []wire.SessionID, now time.Time) error {
	mine, there := o.now.Lookers[self]
	switch {
	case !wants && !there:
		return nil
	case wants && there && mine.Beat == o.said.Beat && slices.Equal(mine.Sessions, sessions) && now.Sub(o.saidAt) < interestAgain:
		return nil
	}
	for range 3 {
		next := interests{Format: format, Lookers: map[wire.ReplicaID]looker{}}
		for id, l := range o.now.Lookers {
			if id != self && now.Sub(o.seen[id].at) < interestFor {
				next.Lookers[id] = l
			}
		}
		if wants {
			next.Lookers[self] = looker{Beat: strconv.FormatInt(now.UnixNano(), 10), Sessions: sessions}
		}
		data, err := json.Marshal(next)
		if err != nil {
			panic(err) // it is made of texts
		}
		version, err := s.Put(ctx, store.Document{
			Collection: collection, Name: interestName, Data: data, Version: o.version, TTL: interestTTL,
		})
		if err == nil {
			o.version, o.now, o.said, o.saidAt = version, next, next.Lookers[self], now
			return nil
		}
		if !errors.Is(err, store.ErrConflict) {
			return fmt.Errorf("say what is looked at: %w", err)
		}
		if err := o.read(ctx, s, now); err != nil {
			return err
		}
	}
	return nil // the others were quicker; the next time
}
