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

// Bounds of the accepted items that an owner keeps because no second store node is known to have them.
// One order with all of it fits into an inbox.
const (
	unconfirmedItems = 256
	unconfirmedBytes = 768 << 10
	unconfirmedAge   = time.Minute
)

// acceptedItem is something that was acknowledged to clients: a message or an answer, the end of a
// turn, or an agent's action on the desktop.
type acceptedItem struct {
	at      wire.Position // end of the log with it
	since   time.Time
	message wire.MessageID
	agent   wire.AgentID // of ends and actions; for a task it is the agent of the turn that it works for
	isEnd   bool
	joined  bool   // the end of a message that joined the turn of another
	data    []byte // an inboxItem, or an event if agent is set
}

// unconfirmed is the part of the log that a failover of the store may lose. After such a loss only
// this owner has it: if another replica claims the session first, the owner sends it these items.
type unconfirmed struct {
	items []acceptedItem
	bytes int
	// dropped is the end of the log with the newest item that was dropped for lack of space, and
	// droppedAt when that happened.
	dropped   wire.Position
	droppedAt time.Time
}

// add adds an item and drops the oldest ones while there are too many.
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

// expire drops items that are so old that a failover cannot lose them any more.
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

// due is when expire has something to do, so that an idle session keeps no items.
func (u *unconfirmed) due() time.Time {
	if len(u.items) == 0 {
		return time.Time{}
	}
	return u.items[0].since.Add(unconfirmedAge)
}

// relocate records that all items are in the log again, before position to.
func (u *unconfirmed) relocate(to wire.Position) {
	for i := range u.items {
		u.items[i].at = to
	}
	u.dropped = wire.Position{}
}

// isAcknowledged reports whether the hub acknowledges to the sender that a message is stored: it is
// for an agent, or answers a question. A message that names a row or a place in a queue is left
// out, because another owner may have something else there.
func isAcknowledged(m wire.Message) bool {
	switch m.Data.(type) {
	case wire.DialogFeedback, wire.UserPromptResponse:
		return true // a question has one answer, also without a message id
	case wire.UserMessage, wire.WindowMessage, wire.ComponentAction, wire.AskResponse,
		wire.HITLPlanResponse, wire.HITLApprovalResponse, wire.HITLInputResponse, wire.HITLClarificationResponse:
		return m.ID != ""
	}
	return false
}

// findLostItems returns the items that the previous owner here had accepted and the log lacks, as
// orders for the present owner of the session.
func (ls *liveSession) findLostItems(ctx context.Context, prev *owner) ([]item, error) {
	if prev == nil || prev.held.status.is(leaseReleased) || len(prev.committer.unconfirmed.items) == 0 {
		return nil, nil
	}
	u := &prev.committer.unconfirmed
	var failure error
	isLost := func(at wire.Position) bool {
		lost, err := ls.env.reader.logLacks(ctx, ls.id, at)
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
	orders := lostOrders(prev, u.items[first:])
	if missing > 0 {
		ls.log.ErrorContext(ctx, "accepted messages lost: the store lost more than the owner has kept", "log", u.dropped)
		orders = append(orders, &order{Kind: orderRestore, Lost: true})
	}
	if len(orders) > 0 {
		ls.log.WarnContext(ctx, "store lost accepted messages, sending them to the new owner",
			"orders", len(orders), "top", prev.w.top)
	}
	items := make([]item, len(orders))
	for i, o := range orders {
		items[i] = item{order: o}
	}
	prev.committer.unconfirmed = unconfirmed{}
	return items, nil
}

// lostOrders makes orders of lost items: one for each turn that has ended, with the messages that
// it answered and its actions, and one for each other message. Actions of turns that have not ended
// are left out: the new owner runs these turns again.
func lostOrders(prev *owner, lost []acceptedItem) []*order {
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
			known, _ := prev.commands.replies.ledger.find(a.message)
			if o := ended[known.Reply.Agent]; o != nil && a.message != "" {
				o.Commands = append(o.Commands, json.RawMessage(a.data))
			} else if known.Reply.Verdict != verdictRejected {
				orders = append(orders, &order{Kind: orderRestore, Commands: []json.RawMessage{a.data}})
			}
		}
	}
	return orders
}

// recordUnconfirmed keeps what the step that was just committed has accepted. When a second
// node has the step, it also has everything before it, and nothing needs to be kept. During a
// rewrite nothing changes: until it is complete the store may lack what was accepted before.
func (cm *committer) recordUnconfirmed(receipt store.Receipt, ends []wire.AgentResponse) {
	switch {
	case !cm.storeCopy.may(copyRecords):
		return
	case receipt.Durable:
		cm.unconfirmed = unconfirmed{}
		return
	}
	now := time.Now()
	cm.unconfirmed.expire(now)
	for i := range cm.items[cm.committed:cm.handled] {
		it := &cm.items[cm.committed+i]
		if it.order != nil || it.work != nil || it.poison != nil || !isAcknowledged(it.cmd.Message) {
			continue
		}
		if data, err := it.encode(); err == nil { // else it could not be sent to another owner either
			cm.unconfirmed.add(acceptedItem{at: receipt.Top, since: now, message: it.cmd.Message.ID, data: data})
		}
	}
	for _, e := range cm.w.step.events {
		if p, ok := e.Data.(wire.Actions); ok && p.AgentID != "" {
			agent := p.AgentID
			if cm.agents != nil {
				agent = cm.agents.pool.View.RootAgent(agent)
			}
			cm.unconfirmed.add(acceptedItem{at: receipt.Top, since: now, agent: agent, data: bytes.Clone(e.Frame)})
		}
	}
	for _, end := range ends {
		if end.MessageID == "" {
			continue // the end of a task, which is part of another turn
		}
		if end.Joined != "" {
			cm.unconfirmed.add(acceptedItem{at: receipt.Top, since: now, message: end.MessageID, agent: end.AgentID, joined: true})
			continue
		}
		cm.unconfirmed.add(acceptedItem{
			at: receipt.Top, since: now, message: end.MessageID, agent: end.AgentID, isEnd: true,
			data: wire.AppendEvent(nil, wire.Event{Session: cm.live.id, Time: cm.w.now, Data: end}),
		})
	}
}
