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

// Sender is the origin of a command. The gateway has checked its permissions.
type Sender struct {
	// Connection gets the refusals. Without one, as with a REST request, only
	// [Handle.DeliverAndWait] returns them.
	Connection wire.ConnectionID
	User       string
	// Monitor is the monitor that the connection subscribed to last. The window id of a message
	// without a monitor is searched there first.
	Monitor wire.MonitorID
	// Invited says that the sender has access to this session only, so its answers set no rule for
	// the user's other sessions.
	Invited bool
	// isAdmin says that the command is an admin action and not a client's.
	isAdmin bool
}

// Command is a client's message for the owner of the session.
type Command struct {
	From    Sender
	Message wire.Message
}

// Answer is the event that answers a command.
type Answer struct {
	// At is the position of the event. For EMIT it is that of the ACTIONS, also when the command is
	// a repetition.
	At   wire.Position
	Data wire.ServerPayload
}

// Handle is the access of one connection or request to one session. It works the same whether this
// replica owns the session or follows it.
type Handle struct {
	live     *liveSession
	registry *registry
	closed   atomic.Bool
}

// Session returns the id of the session.
func (hd *Handle) Session() wire.SessionID { return hd.live.id }

// Attach adds a tab, see [broadcast.Center.Attach], and updates the presence list.
func (hd *Handle) Attach(ctx context.Context, cfg broadcast.TabConfig) (*broadcast.Tab, error) {
	cfg.Who.Since = cmp.Or(cfg.Who.Since, wire.Millis(time.Now().UnixMilli()))
	t, err := hd.live.center.Attach(ctx, cfg)
	if err != nil {
		return nil, asError(err)
	}
	hd.live.tabChanges.add()
	hd.live.mailbox.signal()
	return t, nil
}

// Watch subscribes a tab to one more monitor, see [broadcast.Tab.Watch], and updates the presence
// list.
func (hd *Handle) Watch(t *broadcast.Tab, m wire.MonitorID) {
	t.Watch(m)
	hd.live.tabChanges.add()
	hd.live.mailbox.signal()
}

// MovePointer sends the position of a user's pointer to the tabs of other users, at all replicas. A tab that is slow
// misses it. It returns false for a position that it drops because the user sends too many.
func (hd *Handle) MovePointer(p wire.PointerMoved) bool {
	if !hd.live.center.MovePointer(p) {
		return false
	}
	hd.live.pointers.send(p)
	return true
}

// Leave removes a tab and updates the presence list.
func (hd *Handle) Leave(t *broadcast.Tab) {
	t.Detach()
	hd.live.tabChanges.add()
	hd.live.mailbox.signal()
}

// Deliver puts a command into the mailbox of the session, from where the owner takes it or a follower
// sends it on to the store's inbox. It blocks while the mailbox is full. The result of the command is
// in the log.
func (hd *Handle) Deliver(ctx context.Context, c Command) error {
	if c.Message.Data == nil {
		return refusal(wire.CodeInvalidMessage, "the message is empty")
	}
	return asError(hd.live.deliver(ctx, item{cmd: c}))
}

// DeliverAll delivers commands in order, as [Handle.Deliver] does, but wakes the owner once. It
// returns the number of delivered commands.
func (hd *Handle) DeliverAll(ctx context.Context, commands []Command) (int, error) {
	if anyEmpty(commands) {
		return 0, refusal(wire.CodeInvalidMessage, "a message is empty")
	}
	n, err := hd.live.deliverAll(ctx, commands)
	return n, asError(err)
}

// TryDeliver is DeliverAll without blocking. It returns the number of delivered commands; pass the
// rest to DeliverAll, which delivers them or returns the reason why not.
func (hd *Handle) TryDeliver(commands []Command) int {
	if anyEmpty(commands) {
		return 0
	}
	return hd.live.tryDeliver(commands)
}

func anyEmpty(commands []Command) bool {
	for i := range commands {
		if commands[i].Message.Data == nil {
			return true
		}
	}
	return false
}

// DeliverAndWait delivers a command that has an id and waits for the event that answers it. It
// takes USER_MESSAGE, WINDOW_MESSAGE, COMPONENT_ACTION, EMIT, REWIND, EDIT_MESSAGE, CONDENSE,
// RESTORE_CHECKPOINT and the commands for plans only: they are always answered, with ACTIONS,
// HISTORY_REWOUND, CHECKPOINT_RESTORED or MESSAGE_REPEATED, MESSAGE_ACCEPTED, MESSAGE_QUEUED or MESSAGE_REJECTED, or with an event of the
// plan.
func (hd *Handle) DeliverAndWait(ctx context.Context, c Command) (Answer, error) {
	id := c.Message.ID
	switch c.Message.Data.(type) {
	case wire.UserMessage, wire.WindowMessage, wire.ComponentAction, wire.Emit, wire.Rewind, wire.EditMessage, wire.Condense, wire.RestoreCheckpoint,
		wire.HITLPlanResponse, wire.HITLApprovalResponse, wire.HITLInputResponse, wire.HITLClarificationResponse,
		wire.ControlPause, wire.ControlResume, wire.ControlCancel, wire.ControlRetry, wire.ControlSkip:
	default:
		return Answer{}, refusal(wire.CodeInvalidMessage, "messages of this type have no answer to wait for")
	}
	if err := id.Validate(); err != nil {
		return Answer{}, asError(err)
	}
	if c.From.Connection == "" {
		c.From.Connection = wire.ConnectionID("ask-" + strings.ToLower(rand.Text())) // answers are matched by connection
	}
	answer := make(chan Answer, 1)
	waiter := replyWaiter{conn: c.From.Connection, to: answer}
	hd.live.replyWaiters.add(id, waiter)
	defer hd.live.replyWaiters.remove(id, waiter)
	if err := hd.Deliver(ctx, c); err != nil {
		return Answer{}, err
	}
	select {
	case a := <-answer:
		return a, nil
	case <-hd.live.done:
		return Answer{}, asError(errUnloaded)
	case <-ctx.Done():
		return Answer{}, ctx.Err()
	}
}

// Snapshot returns the state of some or all monitors. It is shared: the caller must not change it.
func (hd *Handle) Snapshot(ctx context.Context, monitors []wire.MonitorID) (wire.SessionState, error) {
	s, err := hd.live.tabSource.Snapshot(ctx, monitors)
	return s, asError(err)
}

// Read returns a page of the log.
func (hd *Handle) Read(ctx context.Context, after wire.Position, limit int) ([]store.Event, error) {
	events, err := hd.live.tabSource.Read(ctx, after, limit)
	return events, err
}

// Close releases the handle. It may be called more than once. The session stays loaded for a while.
func (hd *Handle) Close() {
	if !hd.closed.Swap(true) {
		hd.registry.releaseSession(hd.live)
	}
}
