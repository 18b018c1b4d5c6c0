package session

import (
	"cmp"
	"context"
	"iter"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/sessionfile"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Export returns the committed state of a session for a session file. The caller adds the uploaded
// files. The error is [*Error] or the store's.
func (h *Hub) Export(ctx context.Context, id wire.SessionID) (sessionfile.Source, error) {
	got, err := h.env.reader.load(ctx, id, "")
	if err != nil {
		return sessionfile.Source{}, asError(err)
	}
	now := got.state.Snapshot()
	threads, err := contextpool.LoadThreads(got.tables, got.lists, now.Windows, func(list string) ([][]byte, error) {
		return h.env.reader.readList(ctx, id, list)
	})
	if err != nil {
		return sessionfile.Source{}, asError(err)
	}
	last, _ := got.state.LastRow()
	return sessionfile.Source{
		Meta: sessionfile.Metadata{
			SessionID: id, Title: asInfo(got.info).Title, Provider: cmp.Or(now.Provider, h.env.cfg.Provider),
			CreatedAt: got.info.Created.UTC(), LastActivity: got.info.Updated.UTC(), Position: got.state.At(),
		},
		Desktop: now, Threads: threads,
		Rows: func(m wire.MonitorID) iter.Seq2[wire.UIRow, error] {
			return h.env.reader.rowsUpTo(ctx, id, m, last, got.state.Rows().On(m))
		},
	}, nil
}

// importOps returns the ops that fill an empty session from a session file. The desktop state comes
// first: it contains the highest row id.
func importOps(id wire.SessionID, title string, l *sessionfile.Log, at wire.Position) []store.Op {
	var archived []store.Op
	var all []wire.UIRow
	for _, m := range l.Desktop.Monitors {
		rows := l.Rows[m.MonitorID]
		archive, made := history.NewArchive(m.MonitorID, rows)
		archived = append(append(archived, made...), archive.SaveOp())
		all = append(all, rows...)
	}
	slices.SortFunc(all, func(a, b wire.UIRow) int { return cmp.Compare(a.TS, b.TS) })
	state := importedState(id, title, l, all)
	var ops []store.Op
	for _, c := range state.All() {
		ops = append(ops, opOf(c))
	}
	return slices.Concat(ops, archived, importKeyframe(state, at), contextpool.ImportOps(l.Desktop.Provider, l.Threads, all))
}

// importedState returns the desktop of an imported session; rows are those of all conversations, by time.
func importedState(id wire.SessionID, title string, l *sessionfile.Log, rows []wire.UIRow) *desktop.State {
	state, err := desktop.Restore(id, wire.Position{}, nil)
	if err != nil {
		panic(err) // empty tables are always valid
	}
	now := l.Desktop
	now.Title, now.RecentMessages = title, rows[max(len(rows)-desktop.MaxRows, 0):]
	now.Plan = relocatePlan(now.Plan, l.Meta.SessionID, id)
	now.Windows = slices.Clone(now.Windows)
	for i := range now.Windows {
		now.Windows[i].Content = desktop.WithoutExecutions(now.Windows[i].Content)
	}
	state.Apply(wire.Event{Session: id, Data: now})
	return state
}

// relocatePlan returns a plan that has ended for use in another session. It cannot be resumed
// there. Links to files of the old session are replaced by links to the imported files; other links
// are dropped.
func relocatePlan(p *wire.PlanState, from, to wire.SessionID) *wire.PlanState {
	if p == nil {
		return nil
	}
	out := *p
	if p.Failed != nil {
		failed := *p.Failed
		failed.Error.Recoverable = false
		out.Failed = &failed
	}
	if p.Complete != nil {
		end := *p.Complete
		end.ReportPaths, end.Response.Attachments = []string{}, []wire.PlanAttachment{}
		for _, address := range p.Complete.ReportPaths {
			if address, ok := relocateFile(address, from, to); ok {
				end.ReportPaths = append(end.ReportPaths, address)
			}
		}
		for _, a := range p.Complete.Response.Attachments {
			if address, ok := relocateFile(a.URL, from, to); ok {
				a.URL = address
				end.Response.Attachments = append(end.Response.Attachments, a)
			}
		}
		out.Complete = &end
	}
	return &out
}

// relocateFile converts the address of a file of one session into that of another.
func relocateFile(address string, from, to wire.SessionID) (string, bool) {
	u, err := url.Parse(address)
	if err != nil || path.Clean(u.Path) != u.Path {
		return "", false
	}
	name, ok := strings.CutPrefix(address, "/api/sessions/"+string(from)+"/files/")
	return "/api/sessions/" + string(to) + "/files/" + name, ok
}
