package session

import (
	"context"

	"github.com/everdesk/everdesk/wire"
)

// PublishFiles notifies the tabs of a session, on all replicas, that files have changed. It does
// nothing if no replica has the session loaded: there are no tabs then, and those that
// connect later read the files anyway.
func (h *Hub) PublishFiles(ctx context.Context, id wire.SessionID, changes []wire.FileChange) error {
	o := &order{Kind: orderFiles, Files: changes}
	if live := h.registry.lookup(id); live != nil {
		return asError(live.deliver(ctx, item{order: o}))
	}
	i, err := h.env.store.Session(ctx, id)
	if err != nil || i.Owner == "" {
		return asError(err)
	}
	return asError(h.env.sendOrder(ctx, id, o))
}
