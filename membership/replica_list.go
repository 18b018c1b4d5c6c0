package membership

import (
	"sync"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// maxDoubts bounds how many names are remembered that are on no list.
const maxDoubts = 4096

// replicaList is who was alive when that was last read.
type replicaList struct {
	ttl time.Duration

	mu    sync.Mutex // guards the following
	begun uint64     // numbers the readings
	read  uint64     // the number of the last one that ended well
	at    time.Time  // when that was
	// calm is when everybody who is alive has said so, after a time in which
	// nobody could.
	calm   time.Time
	listed map[wire.ReplicaID]bool
	crowds map[string]int // of all the others together
	// doubts are those who were asked for and not listed, with the number of the
	// last reading begun before: it is a later one that says whether they are
	// alive, since they may have come meanwhile.
	doubts map[wire.ReplicaID]uint64
}

func newReplicaList(ttl time.Duration) replicaList {
	return replicaList{ttl: ttl, listed: map[wire.ReplicaID]bool{}, crowds: map[string]int{}, doubts: map[wire.ReplicaID]uint64{}}
}

// begin is a reading that begins.
func (r *replicaList) begin() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun++
	return r.begun
}

// end is one that ended well, at the replica self.
func (r *replicaList) end(number uint64, self wire.ReplicaID, all []Card, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.at) > r.ttl/2 {
		r.calm = now.Add(r.ttl) // others may have been unable to say it, too
	}
	r.read, r.at = number, now
	clear(r.listed)
	clear(r.crowds)
	for _, c := range all {
		r.listed[c.ID] = true
		delete(r.doubts, c.ID)
		if c.ID == self {
			continue
		}
		for user, n := range c.UserConnections {
			r.crowds[user] += n
		}
	}
	if len(r.doubts) > maxDoubts {
		clear(r.doubts)
	}
}

// alive reports whether a replica is, as far as is known.
func (r *replicaList) alive(id wire.ReplicaID, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.listed[id] || r.at.IsZero() || now.Sub(r.at) > r.ttl || now.Before(r.calm) {
		return true
	}
	since, doubted := r.doubts[id]
	if !doubted {
		r.doubts[id] = r.begun
		return true
	}
	return r.read <= since
}

// elsewhere is how many connections a user has to others.
func (r *replicaList) elsewhere(user string, now time.Time) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.at) > r.ttl {
		return 0 // nobody knows
	}
	return r.crowds[user]
}
