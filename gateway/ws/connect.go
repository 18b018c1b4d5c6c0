package ws

import (
	"context"
	"errors"
	"time"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/wire"
)

// maxAuthFrameBytes bounds the first frame of an unauthenticated client.
const maxAuthFrameBytes = 4 << 10

// awaitAuth waits for the auth message of an unauthenticated client. The server looks nothing up
// for the client and sends nothing to it before.
func (c *conn) awaitAuth(ctx context.Context, r *connectRequest) bool {
	c.peer.limitRead(time.Now().Add(c.s.cfg.Timeouts.Auth))
	var m wire.Message
	var bad error
	err := c.readFrame(maxAuthFrameBytes, func(frame []byte) {
		m, bad = c.peer.decode(frame)
	})
	if c.closing() {
		return false
	}
	message, ok := m.Data.(wire.Auth)
	switch {
	case errors.Is(err, errFrameTooBig):
		// No valid credential is that long.
		c.peer.refuse(ctx, &refusal{code: wire.CodeAuthFailed})
		return false
	case httpio.IsTimeout(err), err == nil && (bad != nil || !ok):
		c.peer.refuse(ctx, &refusal{code: wire.CodeAuthRequired})
		return false
	case err != nil:
		return false
	}
	c.peer.limitRead(time.Time{})
	return c.acceptAuth(ctx, message, r)
}

// acceptAuth checks the credentials of an auth message and the client's access.
func (c *conn) acceptAuth(ctx context.Context, message wire.Auth, r *connectRequest) bool {
	limited, cancel := context.WithTimeout(ctx, access.OpenTimeout)
	defer cancel()
	r.credentialsChecked = time.Now()
	who, err := c.s.admission.authenticateMessage(limited, message)
	if err != nil {
		c.s.refused.Credentials.Add(1)
		c.peer.refuse(ctx, c.s.admission.refusalOf(ctx, err))
		return false
	}
	granted, err := c.s.admission.authorize(limited, who, r)
	if err != nil {
		c.peer.refuse(ctx, c.s.admission.refusalOf(ctx, err))
		return false
	}
	c.peer.admit(&who, granted, r)
	c.peer.send(ctx, authResult(who))
	return true
}

// attachSession opens the session and attaches the connection to it, which sends the snapshot.
func (c *conn) attachSession(ctx context.Context, r *connectRequest) bool {
	defer func() { r.releaseGate() }()
	if c.peer.protocol == protocolDesktop && !c.detectMonitorNaming(ctx, r) {
		return false
	}
	if c.closing() {
		return false
	}
	if c.s.rights.revocations.since(c.peer.identity.Load(), r.credentialsChecked) {
		c.peer.closeWith(signedOut())
		return false
	}
	if user := c.peer.identity.Load().User; !c.s.registry.reserve(&c.peer, c.s.admission.connectionLimit(user, r.reconnects)) {
		c.peer.refuse(ctx, c.s.admission.tooManyConnections(user))
		return false
	}
	limited, cancel := context.WithTimeout(ctx, access.OpenTimeout)
	defer cancel()
	handle, err := c.s.hub.Open(limited, c.peer.session)
	if err != nil {
		c.peer.refuse(ctx, c.s.admission.refusalOf(ctx, err))
		return false
	}
	c.inbox.handle = handle
	c.inbox.limits = c.s.limits.NewConnection(c.peer.identity.Load().User)
	c.inbox.from.User, c.inbox.from.Invited = c.peer.identity.Load().User, c.peer.identity.Load().Session != ""
	if len(r.monitors) > 0 {
		c.inbox.from.Monitor = r.monitors[len(r.monitors)-1]
	}
	cfg := broadcast.TabConfig{
		Conn: &c.peer.Socket, Form: c.peer.form(), Monitors: r.monitors, ResumeFrom: r.resumeFrom,
		Name: c.peer.name, Plain: c.peer.protocol == protocolPlain, Returning: r.knownSession, Closed: c.peer.closeWith,
		Who: wire.Connection{
			ConnectionID: c.inbox.from.Connection, ClientID: r.client, User: c.peer.identity.Load().User,
			Monitors: r.monitors, Since: wire.Millis(time.Now().UnixMilli()),
		},
	}
	tab, err := handle.Attach(limited, cfg)
	if err != nil {
		c.peer.refuse(ctx, c.s.admission.refusalOf(ctx, err))
		return false
	}
	c.peer.tab.Store(tab)
	if c.s.rights.version.Load() != r.rightsVersion {
		c.s.rights.recheck([]*peer{&c.peer}) // its access changed while it connected
	}
	return true
}
