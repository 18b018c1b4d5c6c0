package ws

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// rights changes what connected clients may do, when access to a session or a credential has changed.
type rights struct {
	registry *registry
	sessions *access.Sessions
	auth     *auth.Authority
	// version counts the changes of access rights made on this replica, so that a client that is
	// connecting meanwhile notices one.
	version     atomic.Uint64
	revocations revocations
	mu          sync.Mutex // held while a connection's identity and access change together
}

// recheckSession looks up the access of a session's connections after this replica has changed it.
// Other replicas notice with their periodic recheck.
func (r *rights) recheckSession(id wire.SessionID) {
	r.version.Add(1) // first: a connection without a tab compares it later
	r.recheck(slices.DeleteFunc(r.registry.all(), func(c *peer) bool { return c.tab.Load() == nil || c.session != id }))
}

// recheck looks up the access of connections and applies changes. If the store does not answer, the
// access stays as it was.
func (r *rights) recheck(conns []*peer) {
	type key struct {
		user, roles, link string
		session           wire.SessionID
	}
	type answer struct {
		level access.Level
		err   error
	}
	known := make(map[key]answer)
	for _, c := range conns {
		if c.tab.Load() == nil {
			continue
		}
		who := c.identity.Load()
		k := key{who.User, strings.Join(authResult(*who).Roles, " "), who.Link, c.session}
		a, ok := known[k]
		if !ok {
			ctx, cancel := context.WithTimeout(r.registry.ctx, access.OpenTimeout)
			a.level, _, a.err = r.sessions.Access(ctx, *who, c.session)
			if a.err == nil && who.Link != "" { // it gives access as long as it exists, and its revocation may be lost
				a.err = r.auth.Links.Check(ctx, who.Session, who.Link)
			}
			cancel()
			known[k] = a
		}
		if e, ok := errors.AsType[*session.Error](a.err); ok && e.Code == wire.CodeSessionNotFound {
			c.sendToTab(e.Code.Notice(""))
			c.closeWith(wire.CloseNotFound, "no longer allowed")
		}
		if _, ended := errors.AsType[*auth.Error](a.err); ended {
			c.closeWith(signedOut())
		}
		if a.err == nil {
			r.update(c, who, who, a.level)
		}
	}
}

// update stores a connection's identity and access, unless its identity has been replaced
// meanwhile.
func (r *rights) update(c *peer, from, to *auth.Identity, granted access.Level) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.identity.CompareAndSwap(from, to) {
		c.access.Store(uint32(granted))
	}
}

// closeCookie closes the connections that were opened with a cookie. The time of issue
// distinguishes it from other cookies of the user.
func (r *rights) closeCookie(cookie auth.Identity) {
	for _, c := range r.registry.all() {
		if who := c.identity.Load(); who != nil && who.Cookie && who.User == cookie.User && who.Since.Equal(cookie.Since) {
			c.closeWith(signedOut())
		}
	}
}

// revoke closes the connections whose credential a revocation ends.
func (r *rights) revoke(v auth.Revocation) {
	r.revocations.record(v)
	for _, c := range r.registry.all() {
		if who := c.identity.Load(); who != nil && v.Ends(*who) {
			c.closeWith(signedOut())
		}
	}
}

func signedOut() (wire.CloseCode, string) { return wire.CloseLoggedOut, "signed out" }
