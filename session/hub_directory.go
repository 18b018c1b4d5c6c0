package session

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Info is what the directory knows of a session that need not be loaded.
type Info struct {
	ID    wire.SessionID
	User  string
	Title string
	// Name is the id that the client chose for the session, or empty.
	Name   wire.SessionID
	Shares map[string]Share
	// Former are the newest users to whom the session belonged before, the last one last.
	Former []string
	// UserChanges counts how often the session was given to another user.
	UserChanges int
	Created     time.Time
	Updated     time.Time
	Working     bool
	Owner       wire.ReplicaID
	Top         wire.Position
	// Epoch is that of the last claim, and Until when its lease expires.
	Epoch uint64
	Until time.Time
	// Oldest is the position of the oldest event in the log.
	Oldest wire.Position
	// Quarantined is why the session is quarantined, or empty.
	Quarantined string
	// Importing says that the import of the session is not finished, see [Hub.BeginImport].
	Importing bool
	// Stale says that the store is unavailable: the Info is from when the session was loaded here,
	// without shares.
	Stale bool
}

// Share is the right of another user in a session.
type Share string

// The rights that can be shared.
const (
	ShareViewer   Share = "viewer"
	ShareOperator Share = "operator"
)

// NewSession describes a session to create.
type NewSession struct {
	// ID is chosen by the hub if empty.
	ID    wire.SessionID
	User  string
	Title string
	// Importing creates the session for [Hub.BeginImport].
	Importing bool
	// Name is the id that the client chose for the session, if it did.
	Name wire.SessionID
}

// idPrefix begins the ids that hubs choose.
const idPrefix = "ses-"

// IsName reports whether a client may use id as the name of a session: it must not look like an id
// that a hub chose.
func IsName(id wire.SessionID) bool {
	return id.Validate() == nil && !strings.HasPrefix(string(id), idPrefix)
}

// Create creates a session. The error is [*Error] or the store's.
func (h *Hub) Create(ctx context.Context, n NewSession) (Info, error) {
	if n.ID == "" {
		n.ID = wire.SessionID(idPrefix + strings.ToLower(rand.Text()))
	}
	if err := n.ID.Validate(); err != nil {
		return Info{}, asError(err)
	}
	if n.Name != "" && n.Name.Validate() != nil {
		return Info{}, refusal(wire.CodeInvalidMessage, "%q cannot be the name of a session", n.Name)
	}
	if err := checkUser(n.User); err != nil {
		return Info{}, err
	}
	if err := checkTitle(n.Title); err != nil {
		return Info{}, err
	}
	kept := card{Title: n.Title, Name: n.Name, Importing: n.Importing}
	if err := h.env.store.Create(ctx, store.NewSession{ID: n.ID, User: n.User, Card: kept.encode()}); err != nil {
		return Info{}, asError(err)
	}
	return h.Info(ctx, n.ID)
}

// Info looks a session up. While the store is unavailable it returns what was loaded here, marked
// [Info.Stale].
func (h *Hub) Info(ctx context.Context, id wire.SessionID) (Info, error) {
	i, err := h.env.store.Session(ctx, id)
	if err != nil && isStoreUnavailable(err) {
		if ls := h.registry.lookup(id); ls != nil && ls.isReady() && ls.cachedInfo.Load() != nil {
			return *ls.cachedInfo.Load(), nil
		}
	}
	if err != nil {
		return Info{}, asError(err)
	}
	return asInfo(i), nil
}

// List returns a page of the sessions of a user, or of all users if q.User is empty. It leaves out
// unfinished imports, except from the total, and deletes abandoned ones.
func (h *Hub) List(ctx context.Context, q store.Query) (store.Page[Info], error) {
	found, err := h.env.store.Sessions(ctx, q)
	if err != nil {
		return store.Page[Info]{}, asError(err)
	}
	page := store.Page[Info]{Items: make([]Info, 0, len(found.Items)), Next: found.Next, Total: found.Total}
	for _, item := range found.Items {
		info := asInfo(item)
		if !info.Importing {
			page.Items = append(page.Items, info)
		} else if info.isAbandoned(time.Now()) {
			h.sweeper.dropImport(ctx, item)
		}
	}
	return page, nil
}

// Rename sets the title of a session.
func (h *Hub) Rename(ctx context.Context, id wire.SessionID, title string) error {
	if err := checkTitle(title); err != nil {
		return err
	}
	return h.runOrder(ctx, id, &order{Kind: orderRename, Title: title})
}

// Share grants a user a right in a session; an empty share revokes it.
func (h *Hub) Share(ctx context.Context, id wire.SessionID, user string, s Share) error {
	if err := checkUser(user); err != nil {
		return err
	}
	if err := checkShare(s); err != nil {
		return err
	}
	return h.runOrder(ctx, id, &order{Kind: orderShare, User: user, Share: s})
}

// ChangeUser gives a session of the user from to another one, with whom it is shared. In one commit the session
// belongs to the new user, and the one before becomes an operator. The error is [*Error] with
// [wire.CodeInvalidMessage] if the session is not shared with the user, and with
// [wire.CodeSessionInvalidState] while its agents are at work.
func (h *Hub) ChangeUser(ctx context.Context, id wire.SessionID, from, user string) error {
	if err := checkUser(user); err != nil {
		return err
	}
	return h.runOrder(ctx, id, &order{Kind: orderUser, User: user, From: from})
}

// runOrder has the owner of a session execute an order that changes its card, and waits for that.
func (h *Hub) runOrder(ctx context.Context, id wire.SessionID, o *order) error {
	hd, err := h.Open(ctx, id)
	if err != nil {
		return err
	}
	defer hd.Close()
	o.ID = cmp.Or(o.ID, rand.Text()[:12])
	done := make(chan error, 1)
	if err := hd.live.deliver(ctx, item{order: o, done: done}); err != nil {
		return asError(err)
	}
	// The owner may be at another replica, or move there, and cannot reply from there: the
	// directory shows the result.
	return poll(ctx, done, func() (bool, error) {
		i, err := h.env.store.Session(ctx, id)
		if err != nil {
			return false, asError(err)
		}
		now, err := readCard(i.Card)
		if err != nil {
			return false, err
		}
		wanted, refused := now.apply(o)
		if refused != nil {
			return false, refused
		}
		if why := now.refusal(o); why != nil {
			return false, why
		}
		return now.has(o) || (o.Kind == orderRename || o.Kind == orderShare) && wanted.equal(now), nil
	})
}

// Delete deletes a session with everything in it. Its tabs are closed with code 4410.
func (h *Hub) Delete(ctx context.Context, id wire.SessionID) error {
	if err := id.Validate(); err != nil {
		return asError(err)
	}
	d := deletion{h: h, id: id}
	if gone, err := d.try(ctx); err != nil {
		return asError(err)
	} else if !gone {
		err := poll(ctx, nil, func() (bool, error) {
			gone, err := d.try(ctx)
			if errors.Is(err, store.ErrNotFound) {
				return true, nil
			}
			return gone, asError(err)
		})
		if err != nil {
			return err
		}
	}
	if ls := h.registry.lookup(id); ls != nil {
		select {
		case <-ls.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// deletion is the state of deleting a session, which its owner does.
type deletion struct {
	h  *Hub
	id wire.SessionID
	// The live session here or the remote owner that has got the order.
	notified      *liveSession
	notifiedOwner wire.ReplicaID
}

// try makes one attempt and reports whether the session is deleted. It is called until it is,
// because an owner may die before it executes the order.
func (d *deletion) try(ctx context.Context) (bool, error) {
	h, o := d.h, &order{Kind: orderDelete}
	if ls := h.registry.lookup(d.id); ls != nil && ls.activeOwner.Load() != nil {
		// Claiming the session here would only make its live session claim it again.
		if d.notified == ls {
			_, err := h.env.store.Session(ctx, d.id)
			return false, err
		}
		if ls.mailbox.put(ctx, item{order: o}) == nil {
			d.notified = ls
		} // else it is about to end
		return false, ctx.Err()
	}
	lease, err := h.env.store.Claim(ctx, d.id, h.env.cfg.Replica, h.env.cfg.Lease)
	if err == nil {
		h.env.endKernelsOfDeleted(ctx, d.id)
		err = h.env.store.Delete(ctx, lease)
		if errors.Is(err, store.ErrFenced) {
			return false, nil // a live session here has claimed it in between
		}
		return err == nil, err
	}
	owned, is := errors.AsType[*store.OwnedError](err)
	if !is || d.notifiedOwner == owned.By {
		if is {
			err = nil
		}
		return false, err
	}
	d.notifiedOwner = owned.By
	return false, h.env.sendOrder(ctx, d.id, o)
}

// poll calls condition with growing pauses until it returns true or an error, or done has a result.
func poll(ctx context.Context, done <-chan error, condition func() (bool, error)) error {
	for wait := pollFirst; ; wait = min(2*wait, pollLast) {
		select {
		case err := <-done:
			return err
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
		if ok, err := condition(); ok || err != nil {
			return err
		}
	}
}

// The pause of poll grows from pollFirst to pollLast.
const (
	pollFirst = 5 * time.Millisecond
	pollLast  = 500 * time.Millisecond
)
