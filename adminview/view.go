package adminview

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/everdesk/everdesk/membership"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// overdueAfter is the time a session may wait for the user before it is overdue.
const overdueAfter = time.Minute

// view is the merged state at one moment. It is immutable once published.
type view struct {
	number   uint64
	overview Overview
	scanned  time.Time // time of the directory
	total    int       // sessions in the store
	rows     []Row     // sorted by id
	// changed and gone are the difference to the previous view.
	changed []Row
	gone    []wire.SessionID
	details map[wire.SessionID]Detail
	logRead map[wire.SessionID]bool // sessions whose log was read
	// histories holds the points of each replica.
	histories [][]Point
	// complete is set if all replicas have reported.
	complete bool
}

// collect merges the rows of all owners. If two replicas report the same session, the
// higher epoch wins, then the replica that owns it over one that cannot.
func collect(into map[wire.SessionID]*Row, lists ...[]Row) {
	clear(into)
	for _, rows := range lists {
		for i := range rows {
			r := &rows[i]
			if was, ok := into[r.SessionID]; !ok || r.precedes(was) {
				into[r.SessionID] = r
			}
		}
	}
}

// precedes reports whether r takes precedence over the other row of the same session.
func (r *Row) precedes(other *Row) bool {
	if r.Epoch != other.Epoch {
		return r.Epoch > other.Epoch
	}
	if vacant := r.vacant(); vacant != other.vacant() {
		return !vacant
	}
	return r.Owner < other.Owner // arbitrary, but always the same
}

// vacant reports whether the replica uses the session but cannot own it.
func (r *Row) vacant() bool {
	return r.Doing == session.ActivityClaim || r.Doing == session.ActivityClosed
}

// merge builds the rows of all sessions from the reports of owners and the directory. alive
// holds the live replicas.
func merge(by map[wire.SessionID]entry, reported map[wire.SessionID]*Row, alive map[wire.ReplicaID]bool) []Row {
	ids := slices.AppendSeq(make([]wire.SessionID, 0, max(len(by), len(reported))), maps.Keys(by))
	for id := range reported {
		if _, known := by[id]; !known {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids) // ids are smaller to sort than rows
	rows := make([]Row, len(ids))
	for i, id := range ids {
		e := by[id]
		if r, ok := reported[id]; ok && r.Epoch >= e.row.Epoch {
			rows[i] = owned(r, &e)
		} else {
			rows[i] = unreported(&e, alive)
		}
	}
	return rows
}

// owned returns the row of a session that its owner reports.
func owned(r *Row, e *entry) Row {
	row := *r
	row.User, row.Title = cmp.Or(row.User, e.row.User), cmp.Or(row.Title, e.row.Title)
	row.CreatedAt = e.row.CreatedAt
	row.UpdatedAt = cmp.Or(row.UpdatedAt, e.row.UpdatedAt)
	row.Reason = e.row.Reason
	if row.Reason != "" {
		row.Status = Quarantined
	}
	return row
}

// unreported returns the row of a session that only the directory knows.
func unreported(e *entry, alive map[wire.ReplicaID]bool) Row {
	row := e.row
	ownerless := !e.held || !alive[row.Owner]
	switch {
	case row.Reason != "":
		row.Status = Quarantined
	case e.working && ownerless:
		row.Status = Orphaned
	case e.working:
		row.Status = Working
	case ownerless:
		row.Status = Dormant
	default:
		row.Status = Idle
	}
	return row
}

// quiet reports whether a session has had no event for overdueAfter.
func quiet(r *Row, now time.Time) bool {
	return r.UpdatedAt > 0 && now.UnixMilli()-int64(r.UpdatedAt) > overdueAfter.Milliseconds()
}

// diff returns the changed rows and removed ids between two sorted lists.
func diff(before, after []Row) (changed []Row, gone []wire.SessionID) {
	i := 0
	for j := range after {
		for i < len(before) && before[i].SessionID < after[j].SessionID {
			gone = append(gone, before[i].SessionID)
			i++
		}
		if i < len(before) && before[i].SessionID == after[j].SessionID {
			if before[i] != after[j] {
				changed = append(changed, after[j])
			}
			i++
			continue
		}
		changed = append(changed, after[j])
	}
	for ; i < len(before); i++ {
		gone = append(gone, before[i].SessionID)
	}
	return changed, gone
}

// measured is a replica with its measurements.
type measured struct {
	card   membership.Card
	self   bool
	sample Sample
	at     time.Time // zero before its first report
	silent bool
	recent recent
}

// overviewOf computes the totals and alerts. total is the number of sessions in the store; those
// without a row are dormant.
func overviewOf(rows []Row, total int, replicas []measured, now time.Time) Overview {
	unlisted := max(total-len(rows), 0)
	o := Overview{
		Time: wire.Millis(now.UnixMilli()), Replicas: make([]Replica, 0, len(replicas)), Alerts: []Alert{},
		Totals: Totals{Sessions: len(rows) + unlisted, ByStatus: map[Status]int{}},
	}
	if unlisted > 0 {
		o.Totals.ByStatus[Dormant] = unlisted
	}
	overdue := 0
	for i := range rows {
		r := &rows[i]
		o.Totals.ByStatus[r.Status]++
		o.Totals.Tabs += r.Tabs
		o.Totals.Agents += r.Agents
		o.Totals.Queued += r.Queued
		o.Totals.Questions += r.Questions
		if r.Status == Waiting && quiet(r, now) {
			overdue++
		}
	}
	for _, s := range []Status{Stuck, Orphaned, Stalled, Quarantined} {
		if n := o.Totals.ByStatus[s]; n > 0 {
			o.Alerts = append(o.Alerts, Alert{Kind: string(s), Count: n})
		}
	}
	if overdue > 0 {
		o.Alerts = append(o.Alerts, Alert{Kind: "overdue", Count: overdue})
	}
	for i := range replicas {
		m := &replicas[i]
		o.Totals.Limit = max(o.Totals.Limit, m.card.Load.AgentLimit)
		o.Replicas = append(o.Replicas, m.replica())
		o.Alerts = append(o.Alerts, m.alerts()...)
	}
	if t := &o.Totals; t.Limit > 0 && t.Agents >= t.Limit && t.Queued > 0 {
		o.Alerts = append(o.Alerts, Alert{Kind: "agentsFull", Count: t.Queued})
	}
	return o
}

// replica converts the measurements for the API.
func (m *measured) replica() Replica {
	shown := Replica{
		ID: m.card.ID, State: string(m.card.State), Version: m.card.Version, URL: m.card.URL,
		Owned: m.card.Load.Owned, Followed: m.card.Load.Followed, Tabs: m.card.Load.Tabs,
		Agents: m.card.Load.Agents, AgentLimit: m.card.Load.AgentLimit, Self: m.self, Sample: m.sample,
	}
	if !m.card.Started.IsZero() {
		shown.StartedAt = wire.Millis(m.card.Started.UnixMilli())
	}
	if !m.at.IsZero() {
		shown.SampledAt = wire.Millis(m.at.UnixMilli())
	}
	return shown
}

// alerts returns the alerts about a replica.
func (m *measured) alerts() []Alert {
	list := m.recent.alerts(m.card.ID)
	if m.silent {
		list = append(list, Alert{Kind: "silentReplica", Count: 1, Where: m.card.ID})
	}
	return list
}
