package session

import (
	"context"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// logRegression describes a session whose log went back: the store was replaced by an older copy,
// as a failover to a lagging Redis replica does.
type logRegression struct {
	newestShown wire.Position // newest position that was published here
	// foundAt is when the log was found to end before position foundFor, the newestShown of that
	// time.
	foundAt  time.Time
	foundFor wire.Position
	// ownClaim is the newest claim of this replica that was published here without its answer.
	ownClaim wire.Position
}

// recordOwnClaim records that a followed session ends with a claim of this replica, whose answer was
// lost. Nothing was committed under it, so it does not say that the log is complete.
func (lr *logRegression) recordOwnClaim(state *desktop.State, replica wire.ReplicaID) {
	if at := state.At(); at.Seq == 0 && state.Owner() == replica {
		lr.ownClaim = at
	}
}

// recordShown updates newestShown, before the Center goes back. There may be no Center yet.
func (lr *logRegression) recordShown(center *broadcast.Center) {
	if center == nil {
		return
	}
	if head := center.Head(); head != lr.ownClaim && head.Compare(lr.newestShown) > 0 {
		lr.newestShown = head
	}
}

// leaveToOwner returns [store.OwnedError] for one lease after this replica found that the log ends
// before what it has published. In the older copy of the store the lease may have expired although
// the owner is alive and has all the missing data: it could not renew the lease while the store was
// unavailable. A replica that claimed the session first would make the owner drop data that only
// the owner has.
//
// A claim of any replica ends the wait, because its epoch is above everything published.
func (ls *liveSession) leaveToOwner(ctx context.Context) error {
	ls.regression.recordShown(ls.center)
	if ls.regression.newestShown == (wire.Position{}) {
		return nil
	}
	info, err := ls.env.store.Session(ctx, ls.id)
	if err != nil {
		return fmt.Errorf("compare the log with what was shown: %w", err)
	}
	if info.Top.Compare(ls.regression.newestShown) >= 0 {
		ls.regression.foundAt, ls.regression.foundFor = time.Time{}, wire.Position{}
		return nil
	}
	now := time.Now()
	if ls.regression.foundFor != ls.regression.newestShown { // also if the log went back again since
		ls.regression.foundAt, ls.regression.foundFor = now, ls.regression.newestShown
		ls.log.WarnContext(ctx, "log ends before what was shown, waiting one lease for the owner",
			"log", info.Top, "shown", ls.regression.newestShown, "owner", string(info.Owner), "lease", ls.env.cfg.Lease)
	}
	if left := ls.regression.foundAt.Add(ls.env.cfg.Lease).Sub(now); left > 0 {
		return &store.OwnedError{By: info.Owner, For: left}
	}
	return nil
}
