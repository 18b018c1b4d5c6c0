package adminview

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/internal/truncation"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// titleRunes bounds the length of a title, in characters.
const titleRunes = 200

// detailOf converts the owner's inspection of a session.
func detailOf(i *session.Inspection) Detail {
	d := Detail{
		Monitors: []Monitor{}, Agents: []Agent{}, Windows: []Window{}, Asks: []Ask{},
		Tabs: []Tab{}, Owners: []Owner{}, Messages: []Message{},
	}
	for _, m := range i.Monitors {
		shown := Monitor{ID: m.MonitorID, Queue: []Queued{}, Budget: Budget{Bounded: m.Bounded, Used: m.Used}}
		for _, q := range m.Queue {
			shown.Queue = append(shown.Queue, Queued{MessageID: q.ID, Place: q.Place, Since: q.Since, WindowID: q.Window, Text: q.Text})
		}
		d.Monitors = append(d.Monitors, shown)
	}
	for _, a := range i.Agents {
		d.Agents = append(d.Agents, Agent{
			ID: a.Role, Kind: a.Kind, Parent: a.Parent, MonitorID: a.MonitorID, WindowID: a.WindowID, Status: a.Status,
			Provider: a.Provider, MessageID: a.MessageID, Tool: a.Tool, StartedAt: a.StartedAt, Attempt: a.Attempt,
		})
	}
	for _, w := range i.Windows {
		d.Windows = append(d.Windows, Window{
			ID: w.ID, MonitorID: w.Monitor, Title: firstRunes(w.Title), Renderer: w.Renderer, LockedBy: w.Lock,
		})
	}
	for _, q := range i.Dialogs {
		d.Asks = append(d.Asks, Ask{
			ID: string(q.DialogID), Kind: "approval", AgentID: q.AgentID, Deadline: q.Deadline, Title: firstRunes(q.Title),
		})
	}
	for _, q := range i.Prompts {
		d.Asks = append(d.Asks, Ask{
			ID: string(q.ID), Kind: "prompt", AgentID: q.AgentID, Deadline: q.Deadline, Title: firstRunes(q.Title),
		})
	}
	for _, q := range i.Requests {
		d.Asks = append(d.Asks, askOf(q))
	}
	for _, m := range i.Messages {
		d.Messages = append(d.Messages, Message{MessageID: m.ID, Time: m.Time, Verdict: m.Verdict, State: m.State, Code: m.Code, AgentID: m.Agent})
	}
	return d
}

// askOf converts a question of a plan.
func askOf(q wire.HITLRequest) Ask {
	a := Ask{Kind: "plan", Deadline: q.Deadline().ExpiresAt}
	switch q := q.(type) {
	case wire.HITLPlanReview:
		a.ID, a.Title = string(q.RequestID), q.Message
	case wire.HITLApprovalRequest:
		a.ID, a.Title = string(q.RequestID), q.Reason
	case wire.HITLInputRequest:
		a.ID, a.Title = string(q.RequestID), q.Question
	case wire.HITLClarification:
		a.ID, a.Title = string(q.RequestID), q.Question
	}
	a.Title = firstRunes(a.Title)
	return a
}

// tabsOf converts the connections that follow a session on a replica.
func tabsOf(viewers []broadcast.Viewer, replica wire.ReplicaID) []Tab {
	tabs := make([]Tab, len(viewers))
	for i, v := range viewers {
		tabs[i] = Tab{
			ConnectionID: v.ConnectionID, ClientID: v.ClientID, User: v.User, Replica: replica, Monitors: v.Monitors,
			Since: v.Since, Lag: v.Lag, Form: v.Form.String(),
		}
	}
	return tabs
}

// assemble merges the replicas' parts of a session. The part of the owner with the highest
// epoch counts; without one, stored is used, if there is any.
func assemble(row Row, parts []part, stored *Detail, owners []Owner) Detail {
	d := detailOf(&session.Inspection{})
	if stored != nil {
		d = *stored
	}
	var tabs []Tab
	var epoch uint64
	known := false
	for _, p := range parts {
		tabs = append(tabs, p.Detail.Tabs...)
		if p.Owner && (!known || p.Epoch > epoch) {
			known, epoch = true, p.Epoch
			d = p.Detail
		}
	}
	slices.SortFunc(tabs, func(a, b Tab) int {
		return cmp.Or(cmp.Compare(a.Since, b.Since), cmp.Compare(a.ConnectionID, b.ConnectionID))
	})
	if current := row.Owner != "" && row.Epoch > 0 && !row.vacant(); current && (len(owners) == 0 || owners[0].Epoch < row.Epoch) {
		// The event of the current owner is trimmed or not read yet. Epochs are times in
		// milliseconds.
		owners = slices.Insert(slices.Clone(owners), 0, Owner{Replica: row.Owner, Epoch: row.Epoch, At: wire.Millis(row.Epoch)}) //nolint:gosec // milliseconds
	}
	d.Row, d.Known, d.Tabs, d.Owners = row, known, tabs, owners
	if d.Tabs == nil {
		d.Tabs = []Tab{}
	}
	if d.Owners == nil {
		d.Owners = []Owner{}
	}
	return d
}

// ownersShown bounds the list of a session's owners.
const ownersShown = 50

// readOwners reads the owners of a session from its log, newest first. oldest is the oldest
// event of the log, where reading starts if earlier events were trimmed.
func readOwners(ctx context.Context, s Log, id wire.SessionID, oldest wire.Position) ([]Owner, error) {
	const page = 200 // events may be large
	var after wire.Position
	name := []byte(wire.TypeOf(wire.OwnerChanged{}))
	var owners []Owner
	for {
		events, err := s.Read(ctx, id, after, page)
		if errors.Is(err, store.ErrTrimmed) && after.Compare(oldest) < 0 {
			after = oldest
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the owners of the session: %w", err)
		}
		for _, e := range events {
			after = e.At
			if e.At.Seq != 0 || !bytes.Contains(e.Frame, name) {
				continue // owner_changed is always the first event of an epoch
			}
			read, err := wire.Native{}.DecodeEvent(e.Frame)
			if err != nil {
				continue
			}
			if o, ok := read.Data.(wire.OwnerChanged); ok {
				owners = append(owners, Owner{Replica: o.Replica, Epoch: o.Epoch, At: wire.Millis(read.Time.UnixMilli())})
			}
		}
		if len(events) < page {
			break
		}
	}
	slices.Reverse(owners)
	return owners[:min(len(owners), ownersShown)], nil
}

// firstRunes truncates a text to titleRunes characters.
func firstRunes(text string) string {
	return truncation.RunesMarked(text, titleRunes, "…")
}
