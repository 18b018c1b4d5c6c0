package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// How much an owner remembers of what it has accepted and no second node is known to
// have. One order with all of it fits into an inbox.
const (
	unconfirmedItems = 256
	unconfirmedBytes = 768 << 10
	unconfirmedAge   = time.Minute
)

// acceptedItem is something that clients were told is kept: a message or an answer, the end
// of a turn, or what an agent did on the desktop.
type acceptedItem struct {
	at      wire.Position // where the log ended with it
	since   time.Time
	message wire.MessageID
	agent   wire.AgentID // of ends and actions; of a task it is that of the turn it works for
	isEnd   bool
	joined  bool   // the end is that of a message that joined the turn
	data    []byte // a parcel, or an event if there is an agent
}

// unconfirmed is the part of the log that a failover may lose. The owner alone knows it
// then: if another replica claims the session first, the owner sends it what is here.
type unconfirmed struct {
	items []acceptedItem
	bytes int
	// dropped is where the log ended with the newest that there was no room for, and
	// droppedAt when that was.
	dropped   wire.Position
	droppedAt time.Time
}

// add remembers something, and drops the oldest when there is no room.
func (u *unconfirmed) add(a acceptedItem) {
	u.items = append(u.items, a)
	u.bytes += len(a.data)
	for len(u.items) > unconfirmedItems || u.bytes > unconfirmedBytes {
		u.dropped, u.droppedAt = u.items[0].at, a.since
		u.drop()
	}
}

func (u *unconfirmed) drop() {
	u.bytes -= len(u.items[0].data)
	u.items[0] = acceptedItem{}
	u.items = u.items[1:]
}

// expire drops what is so old that a failover that lost it is over.
func (u *unconfirmed) expire(now time.Time) {
	for len(u.items) > 0 && now.Sub(u.items[0].since) >= unconfirmedAge {
		u.drop()
	}
	if len(u.items) == 0 {
		u.items = nil
	}
	if now.Sub(u.droppedAt) >= unconfirmedAge {
		u.dropped = wire.Position{}
	}
}

// due is when expire has something to do, so that an idle session holds nothing.
func (u *unconfirmed) due() time.Time {
	if len(u.items) == 0 {
		return time.Time{}
	}
	return u.items[0].since.Add(unconfirmedAge)
}

// relocate says that all of it is in the log again, up to a position.
func (u *unconfirmed) relocate(to wire.Position) {
	for i := range u.items {
		u.items[i].at = to
	}
	u.dropped = wire.Position{}
}

// recordUnconfirmed notes what the step that was just committed has accepted. When a second node
// has the step, it has everything before it as well. Until a rewrite is complete, the
// store may be without what was accepted before it.
func (l *owner) recordUnconfirmed(receipt store.Receipt, ends []wire.AgentResponse) {
	switch {
	case l.rewriting:
		return
	case receipt.Durable:
		l.unconfirmed = unconfirmed{}
		return
	}
	now := time.Now()
	l.unconfirmed.expire(now)
	for i := range l.items[l.committed:l.handled] {
		it := &l.items[l.committed+i]
		if it.order != nil || it.work != nil || it.poison != nil || !isAcknowledged(it.cmd.Message) {
			continue
		}
		if data, err := it.encode(); err == nil { // else no other owner could be sent it either
			l.unconfirmed.add(acceptedItem{at: receipt.Top, since: now, message: it.cmd.Message.ID, data: data})
		}
	}
	for _, e := range l.step.events {
		if p, ok := e.Data.(wire.Actions); ok && p.AgentID != "" {
			agent := p.AgentID
			if l.agents != nil {
				agent = l.agents.pool.Lead(agent)
			}
			l.unconfirmed.add(acceptedItem{at: receipt.Top, since: now, agent: agent, data: bytes.Clone(e.Frame)})
		}
	}
	for _, end := range ends {
		if end.MessageID == "" {
			continue // of a task, which ends within another turn
		}
		if end.Joined != "" {
			l.unconfirmed.add(acceptedItem{at: receipt.Top, since: now, message: end.MessageID, agent: end.AgentID, joined: true})
			continue
		}
		l.unconfirmed.add(acceptedItem{
			at: receipt.Top, since: now, message: end.MessageID, agent: end.AgentID, isEnd: true,
			data: wire.AppendEvent(nil, wire.Event{Session: l.live.id, Time: l.now, Data: end}),
		})
	}
}

// isAcknowledged reports whether the hub promises the sender that a message is kept: it is for an
// agent, or answers a question. A message that names a row or a place in a queue is not
// handed over, because another owner may have something else there.
func isAcknowledged(m wire.Message) bool {
	switch m.Data.(type) {
	case wire.DialogFeedback, wire.UserPromptResponse:
		return true // a question has one answer, also without a name
	case wire.UserMessage, wire.WindowMessage, wire.ComponentAction, wire.AskResponse,
		wire.HITLPlanResponse, wire.HITLApprovalResponse, wire.HITLInputResponse, wire.HITLClarificationResponse:
		return m.ID != ""
	}
	return false
}

// findLostItems is what the log lacks of what an owner here had accepted, as orders to the
// owner that the session has now.
func (k *liveSession) findLostItems(ctx context.Context, left *owner) ([]item, error) {
	if left == nil || left.leaseReleased || len(left.unconfirmed.items) == 0 {
		return nil, nil
	}
	u := &left.unconfirmed
	var failure error
	isLost := func(at wire.Position) bool {
		lost, err := k.logLacks(ctx, at)
		failure = errors.Join(failure, err)
		return lost
	}
	first := sort.Search(len(u.items), func(i int) bool { return isLost(u.items[i].at) })
	missing := 0
	if u.dropped != (wire.Position{}) && isLost(u.dropped) {
		missing = 1 // at least
	}
	if failure != nil {
		return nil, fmt.Errorf("find what the store has lost: %w", failure)
	}
	orders := lostOrders(left, u.items[first:])
	if missing > 0 {
		k.log.ErrorContext(ctx, "accepted messages are lost: the store lost more than the owner remembers", "log", u.dropped)
		orders = append(orders, &order{Kind: orderRestore, Lost: true})
	}
	if len(orders) > 0 {
		k.log.WarnContext(ctx, "the store has lost what was accepted here, sending it to the new owner",
			"orders", len(orders), "top", left.top)
	}
	items := make([]item, len(orders))
	for i, o := range orders {
		items[i] = item{order: o}
	}
	left.unconfirmed = unconfirmed{}
	return items, nil
}

// logLacks reports whether the log does not have a position that it had.
func (k *liveSession) logLacks(ctx context.Context, at wire.Position) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	_, err := k.hub.store.Read(ctx, k.id, at, 1)
	switch {
	case errors.Is(err, store.ErrUnknownPosition), errors.Is(err, store.ErrAhead):
		return true, nil
	case errors.Is(err, store.ErrTrimmed), errors.Is(err, store.ErrNotFound):
		return false, nil
	}
	return false, err
}

// lostOrders makes orders of what was lost: one for each turn that has ended, with the
// messages that it answered and what it did, and one for each other message. What turns
// did that have not ended is left out: the new owner runs them again.
func lostOrders(left *owner, lost []acceptedItem) []*order {
	ended := map[wire.AgentID]*order{}
	for _, a := range lost {
		if a.isEnd {
			ended[a.agent] = &order{Kind: orderRestore, End: a.data}
		}
	}
	var orders []*order
	for _, a := range lost {
		switch {
		case a.isEnd:
			orders = append(orders, ended[a.agent])
		case a.joined:
			if o := ended[a.agent]; o != nil {
				o.Joined = append(o.Joined, a.message)
			}
		case a.agent != "":
			if o := ended[a.agent]; o != nil {
				o.Actions = append(o.Actions, a.data)
			}
		default:
			known, _ := left.ledger.find(a.message)
			if o := ended[known.Reply.Agent]; o != nil && a.message != "" {
				o.Commands = append(o.Commands, json.RawMessage(a.data))
			} else if known.Reply.Verdict != verdictRejected {
				orders = append(orders, &order{Kind: orderRestore, Commands: []json.RawMessage{a.data}})
			}
		}
	}
	return orders
}
