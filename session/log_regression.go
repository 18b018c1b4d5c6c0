package session

import (
	"context"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// logRegression is what a replica knows of a session whose log went back: the store was
// replaced by an older copy of itself, as a failover to a replica that lags does.
type logRegression struct {
	newestShown wire.Position // the newest position that was shown here
	// foundAt is when the log was found to end before that position, which was from then.
	foundAt  time.Time
	foundFor wire.Position
}

// recordShown remembers how far the log was shown here, before the Center goes back.
func (k *liveSession) recordShown() {
	if k.center == nil {
		return
	}
	if head := k.center.Head(); head.Compare(k.regression.newestShown) > 0 {
		k.regression.newestShown = head
	}
}

// leaveToOwner is [store.OwnedError] for about a lease after this replica found that
// the log ends before what it has shown. The lease in the older copy may have run out
// although its owner lives and has everything that is missing: the owner could not
// renew it while the store was away. Whoever claimed the session first would make the
// owner drop what only the owner knows.
//
// A claim of any replica ends the wait, because its epoch is above all that was shown.
func (k *liveSession) leaveToOwner(ctx context.Context) error {
	k.recordShown()
	if k.regression.newestShown == (wire.Position{}) {
		return nil
	}
	info, err := k.hub.store.Session(ctx, k.id)
	if err != nil {
		return fmt.Errorf("compare the log with what was shown: %w", err)
	}
	if info.Top.Compare(k.regression.newestShown) >= 0 {
		k.regression.foundAt, k.regression.foundFor = time.Time{}, wire.Position{}
		return nil
	}
	now := time.Now()
	if k.regression.foundFor != k.regression.newestShown { // also if the log went back again since
		k.regression.foundAt, k.regression.foundFor = now, k.regression.newestShown
		k.log.WarnContext(ctx, "log ends before what was shown, waiting one lease for the owner",
			"log", info.Top, "shown", k.regression.newestShown, "owner", string(info.Owner), "lease", k.hub.cfg.Lease)
	}
	if left := k.regression.foundAt.Add(k.hub.cfg.Lease).Sub(now); left > 0 {
		return &store.OwnedError{By: info.Owner, For: left}
	}
	return nil
}
