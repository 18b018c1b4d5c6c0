package session

import (
	"cmp"
	"context"
	"crypto/rand"
	"strings"
	"sync/atomic"
	"time"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Sender is who sends a command. The door has checked that it may.
type Sender struct {
	// Connection is the one that refusals are shown to. Without one, as with a
	// request that has no socket, only [Handle.DeliverAndWait] learns of them.
	Connection wire.ConnectionID
	User       string
	// Monitor is the one the connection subscribed to last; window ids of
	// messages without a monitor are looked for there first.
	Monitor wire.MonitorID
	// Invited says that the sender may be in this session only, so that it
	// decides nothing for the others of the same user.
	Invited bool
	// isAdmin says that it is an admin, who is no client of the session.
	isAdmin bool
}

// Command is a client's message on its way to the owner of the session.
type Command struct {
	From    Sender
	Message wire.Message
}

// Answer is the event that answers a command.
type Answer struct {
	// At is its position; that of the ACTIONS for EMIT, also when it was sent
	// again.
	At   wire.Position
	Data wire.ServerPayload
}

// Handle is a door's hold on one session: to watch it, to say something in it. It
// works the same whether this replica owns the session or follows it.
type Handle struct {
	live   *liveSession
	closed atomic.Bool
}

// Session is the session's id.
func (r *Handle) Session() wire.SessionID { return r.live.id }

// Attach adds a tab, see [broadcast.Center.Attach], and tells the others.
func (r *Handle) Attach(ctx context.Context, cfg broadcast.TabConfig) (*broadcast.Tab, error) {
	cfg.Who.Since = cmp.Or(cfg.Who.Since, wire.Millis(time.Now().UnixMilli()))
	t, err := r.live.center.Attach(ctx, cfg)
	if err != nil {
		return nil, asError(err)
	}
	r.live.tabChanges.add()
	r.live.mailbox.signal()
	return t, nil
}

// Watch shows a tab one more monitor, see [broadcast.Tab.Watch], and tells the
// others.
func (r *Handle) Watch(t *broadcast.Tab, m wire.MonitorID) {
	t.Watch(m)
	r.live.tabChanges.add()
	r.live.mailbox.signal()
}

// Leave takes a tab away again and tells the others.
func (r *Handle) Leave(t *broadcast.Tab) {
	t.Detach()
	r.live.tabChanges.add()
	r.live.mailbox.signal()
}

// Deliver gives the owner a command: into its mailbox when it is here, else into
// the store's inbox. It waits while the owner has too much to do. What becomes of
// the command is told by the log.
func (r *Handle) Deliver(ctx context.Context, c Command) error {
	if c.Message.Data == nil {
		return refusal(wire.CodeInvalidMessage, "the message is empty")
	}
	return asError(r.live.deliver(ctx, item{cmd: c}))
}

// DeliverAll delivers commands after each other, as [Handle.Deliver] does but
// together, so that the owner is woken once. It returns how many were delivered.
func (r *Handle) DeliverAll(ctx context.Context, commands []Command) (int, error) {
	if anyEmpty(commands) {
		return 0, refusal(wire.CodeInvalidMessage, "a message is empty")
	}
	n, err := r.live.deliverAll(ctx, commands)
	return n, asError(err)
}

// TryDeliver is DeliverAll for those who must not wait. What it does not deliver,
// DeliverAll can, or says why not.
func (r *Handle) TryDeliver(commands []Command) int {
	if anyEmpty(commands) {
		return 0
	}
	return r.live.tryDeliver(commands)
}

func anyEmpty(commands []Command) bool {
	for i := range commands {
		if commands[i].Message.Data == nil {
			return true
		}
	}
	return false
}

// DeliverAndWait delivers a command that has an id and waits for what the log says about
// it. Only USER_MESSAGE, WINDOW_MESSAGE, COMPONENT_ACTION, EMIT, REWIND, EDIT_MESSAGE,
// CONDENSE and what is for the plan can be asked about: they are always answered, with
// ACTIONS, HISTORY_REWOUND or MESSAGE_REPEATED, MESSAGE_ACCEPTED, MESSAGE_QUEUED or
// MESSAGE_REJECTED, or what the plan makes of it.
func (r *Handle) DeliverAndWait(ctx context.Context, c Command) (Answer, error) {
	id := c.Message.ID
	switch c.Message.Data.(type) {
	case wire.UserMessage, wire.WindowMessage, wire.ComponentAction, wire.Emit, wire.Rewind, wire.EditMessage, wire.Condense,
		wire.HITLPlanResponse, wire.HITLApprovalResponse, wire.HITLInputResponse, wire.HITLClarificationResponse,
		wire.ControlPause, wire.ControlResume, wire.ControlCancel, wire.ControlRetry, wire.ControlSkip:
	default:
		return Answer{}, refusal(wire.CodeInvalidMessage, "that message has no answer to wait for")
	}
	if err := id.Validate(); err != nil {
		return Answer{}, asError(err)
	}
	if c.From.Connection == "" {
		c.From.Connection = wire.ConnectionID("ask-" + strings.ToLower(rand.Text())) // answers are told by it
	}
	answer := make(chan Answer, 1)
	who := replyWaiter{conn: c.From.Connection, to: answer}
	r.live.replyWaiters.add(id, who)
	defer r.live.replyWaiters.remove(id, who)
	if err := r.Deliver(ctx, c); err != nil {
		return Answer{}, err
	}
	select {
	case a := <-answer:
		return a, nil
	case <-r.live.done:
		return Answer{}, asError(errUnloaded)
	case <-ctx.Done():
		return Answer{}, ctx.Err()
	}
}

// Snapshot is the state of some or all monitors. It is shared with others: who
// gets it must not change what is in it.
func (r *Handle) Snapshot(ctx context.Context, monitors []wire.MonitorID) (wire.SessionState, error) {
	s, err := r.live.Snapshot(ctx, monitors)
	return s, asError(err)
}

// Read is a page of the log.
func (r *Handle) Read(ctx context.Context, after wire.Position, limit int) ([]store.Event, error) {
	events, err := r.live.Read(ctx, after, limit)
	return events, err
}

// Close gives the hold back. The session stays loaded for a while.
func (r *Handle) Close() {
	if !r.closed.Swap(true) {
		r.live.hub.releaseSession(r.live)
	}
}
