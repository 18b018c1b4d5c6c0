package session

import (
	"context"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// rewound is what a replica knows of a session whose log went back: the store was
// replaced by an older copy of itself, as a failover to a replica that lags does.
type rewound struct {
	shown wire.Position // the newest position that was shown here
	// since is when the log was found to end before that position, which was from then.
	since time.Time
	from  wire.Position
}

// noteShown remembers how far the log was shown here, before the Center goes back.
func (k *liveSession) noteShown() {
	if k.center == nil {
		return
	}
	if head := k.center.Head(); head.Compare(k.rewound.shown) > 0 {
		k.rewound.shown = head
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
	k.noteShown()
	if k.rewound.shown == (wire.Position{}) {
		return nil
	}
	info, err := k.hub.store.Session(ctx, k.id)
	if err != nil {
		return fmt.Errorf("compare the log with what was shown: %w", err)
	}
	if info.Top.Compare(k.rewound.shown) >= 0 {
		k.rewound.since, k.rewound.from = time.Time{}, wire.Position{}
		return nil
	}
	now := time.Now()
	if k.rewound.from != k.rewound.shown { // also if the log went back again since
		k.rewound.since, k.rewound.from = now, k.rewound.shown
		k.log.WarnContext(ctx, "the log has gone back, leaving the session to its owner for a lease",
			"log", info.Top, "shown", k.rewound.shown, "owner", string(info.Owner), "lease", k.hub.cfg.Lease)
	}
	if left := k.rewound.since.Add(k.hub.cfg.Lease).Sub(now); left > 0 {
		return &store.OwnedError{By: info.Owner, For: left}
	}
	return nil
}
