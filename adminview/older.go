package adminview

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// pageOf returns the page of a query. The view has the sessions that are in use or changed last.
// Others are read from the store where the store can find them: those of a user, the one with an
// id, and further pages by last change.
func (w *Watcher) pageOf(ctx context.Context, q *Query, v *view) (Page, error) {
	rows := v.rows
	if v.total > len(rows) {
		more, err := w.namedRows(ctx, q)
		if err != nil {
			return Page{}, err
		}
		rows = v.withRows(more)
	}
	p, err := q.page(rows)
	if err != nil || v.total <= len(rows) || !q.isPlain() {
		return p, err
	}
	p.Total = v.total
	if len(p.Rows) == q.limit() {
		if p.Next == "" {
			p.Next, err = q.key(&p.Rows[len(p.Rows)-1]).encode()
		}
		return p, err
	}
	return p, w.addOlder(ctx, q, v, &p)
}

// isPlain reports whether the query selects all sessions, the newest first, as the store lists them.
func (q *Query) isPlain() bool {
	all := Query{Sort: q.Sort, Descending: true, Limit: q.Limit, After: q.After, Titles: q.Titles}
	return q.Sort == "updated" && *q == all
}

// withRows returns the rows of the view and further ones that it does not have.
func (v *view) withRows(more []Row) []Row {
	rows := v.rows
	for _, r := range more {
		if !v.has(r.SessionID) {
			rows = append(slices.Clip(rows), r)
		}
	}
	return rows
}

func (v *view) has(id wire.SessionID) bool {
	_, found := slices.BinarySearchFunc(v.rows, id, func(r Row, id wire.SessionID) int { return cmp.Compare(r.SessionID, id) })
	return found
}

// namedRows reads the newest sessions of the user that the query names, as user or text, and the
// session whose id is the text.
func (w *Watcher) namedRows(ctx context.Context, q *Query) ([]Row, error) {
	var rows []Row
	if id := wire.SessionID(q.Text); q.Text != "" && id.Validate() == nil {
		info, err := w.hub.Info(ctx, id)
		if err == nil {
			rows = append(rows, storedRow(info))
		} else if refused, ok := errors.AsType[*session.Error](err); !ok || refused.Code != wire.CodeSessionNotFound {
			return nil, err
		}
	}
	for _, user := range []string{q.User, q.Text} {
		if user == "" || store.CheckName("user", user) != nil {
			continue
		}
		page, err := w.hub.List(ctx, store.Query{User: user, Recent: true, Limit: 1000})
		if err != nil {
			return nil, err
		}
		for _, i := range page.Items {
			rows = append(rows, storedRow(i))
		}
	}
	slices.SortFunc(rows, func(a, b Row) int { return cmp.Compare(a.SessionID, b.SessionID) })
	return slices.CompactFunc(rows, func(a, b Row) bool { return a.SessionID == b.SessionID }), nil
}

// storedRow returns the row of a session that no replica reports.
func storedRow(i session.Info) Row {
	e := entryOf(i, time.Now())
	return unreported(&e, map[wire.ReplicaID]bool{i.Owner: true})
}

// addOlder fills a page by last change with sessions from the store that are older than those of
// the view.
func (w *Watcher) addOlder(ctx context.Context, q *Query, v *view, p *Page) error {
	list := store.Query{Recent: true, Limit: q.limit()}
	last, err := q.cursor()
	if err != nil {
		return err
	}
	if n := len(p.Rows); n > 0 {
		k := q.key(&p.Rows[n-1])
		last = &k
	}
	if last != nil {
		// From the whole second on: the store orders the sessions of a second by id.
		list.After = store.RecentCursor{Second: int64(last.Number)/1000 + 1, ID: "-"}.String()
	}
	for p.Next = ""; ; {
		page, err := w.hub.List(ctx, list)
		if err != nil {
			return err
		}
		for _, i := range page.Items {
			row := storedRow(i)
			k := q.key(&row)
			if v.has(i.ID) || last != nil && (k.Number > last.Number || k.Number == last.Number && k.ID >= last.ID) {
				continue
			}
			if len(p.Rows) == q.limit() {
				p.Next, err = q.key(&p.Rows[len(p.Rows)-1]).encode()
				return err
			}
			p.Rows = append(p.Rows, row)
		}
		if list.After = page.Next; list.After == "" {
			return nil
		}
	}
}
