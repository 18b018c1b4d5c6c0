package membership

import (
	"sync"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// maxUnlisted bounds the unlisted ids that are kept.
const maxUnlisted = 4096

// replicaList holds the live replicas as of the last read.
type replicaList struct {
	ttl time.Duration

	mu        sync.Mutex // guards the fields below
	lastBegun uint64     // number of the last read that began
	lastRead  uint64     // number of the last read that succeeded
	readAt    time.Time  // time of that read
	// allAnnouncedAt is the time at which, after an outage of the store, every live replica has
	// had the time to announce itself again.
	allAnnouncedAt  time.Time
	listed          map[wire.ReplicaID]bool
	readPacks       bool           // all of them can read packed sessions
	readCold        bool           // and those that were moved out of the store
	userConnections map[string]int // connections of users, of all other replicas together
	// unlisted maps ids that were queried but not listed to the number of the last read
	// that had begun before. Only a later read can show that they are dead, because they
	// may have been announced meanwhile.
	unlisted map[wire.ReplicaID]uint64
}

func newReplicaList(ttl time.Duration) replicaList {
	return replicaList{ttl: ttl, listed: map[wire.ReplicaID]bool{}, userConnections: map[string]int{}, unlisted: map[wire.ReplicaID]uint64{}}
}

// begin starts a read and returns its number.
func (r *replicaList) begin() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lastBegun++
	return r.lastBegun
}

// end records a successful read by the replica self.
func (r *replicaList) end(number uint64, self wire.ReplicaID, all []Card, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.readAt) > r.ttl/2 {
		r.allAnnouncedAt = now.Add(r.ttl) // other replicas may have been unable to announce themselves
	}
	r.lastRead, r.readAt = number, now
	clear(r.listed)
	clear(r.userConnections)
	r.readPacks, r.readCold = true, true
	for _, c := range all {
		r.readPacks, r.readCold = r.readPacks && c.ReadsPacks, r.readCold && c.ReadsCold
		r.listed[c.ID] = true
		delete(r.unlisted, c.ID)
		if c.ID == self {
			continue
		}
		for user, n := range c.UserConnections {
			r.userConnections[user] += n
		}
	}
	if len(r.unlisted) > maxUnlisted {
		clear(r.unlisted)
	}
}

// alive reports whether a replica is listed, or its state is unknown.
func (r *replicaList) alive(id wire.ReplicaID, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.listed[id] || r.readAt.IsZero() || now.Sub(r.readAt) > r.ttl || now.Before(r.allAnnouncedAt) {
		return true
	}
	since, doubted := r.unlisted[id]
	if !doubted {
		r.unlisted[id] = r.lastBegun
		return true
	}
	return r.lastRead <= since
}

// allReadPacks reports whether all listed replicas can read packed sessions, and no other one
// may be alive.
func (r *replicaList) allReadPacks(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.readPacks && r.isComplete(now)
}

// allReadCold is allReadPacks for sessions that were moved out of the store.
func (r *replicaList) allReadCold(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.readCold && r.isComplete(now)
}

// isComplete reports whether no replica may be alive that is not listed. The caller holds mu.
func (r *replicaList) isComplete(now time.Time) bool {
	return now.Sub(r.readAt) <= r.ttl && !now.Before(r.allAnnouncedAt)
}

// connectionsElsewhere returns the number of connections of a user to other replicas.
func (r *replicaList) connectionsElsewhere(user string, now time.Time) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.readAt) > r.ttl {
		return 0 // unknown
	}
	return r.userConnections[user]
}
