//go:build linux

package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/everdesk/everdesk/adminview"
	"github.com/everdesk/everdesk/wire"
)

// ask asks the admin API through a hub.
func (a *auditor) ask(ctx context.Context, hub int, path string, into any) error {
	return a.stage.door(hub, a.stage.token).Ask(ctx, http.MethodGet, "/api/admin/"+path, nil, into)
}

// act does something through a hub and returns the id of its record.
func (a *auditor) act(ctx context.Context, hub int, path string, in map[string]string) (id string, err error) {
	var record struct {
		ID string `json:"id"`
	}
	err = a.stage.door(hub, a.stage.token).Ask(ctx, http.MethodPost, "/api/admin/"+path, in, &record)
	return record.ID, err
}

// all looks at everything through every hub, then does something and looks again. It
// is given up when almost nothing is as it should be.
func (a *auditor) all(ctx context.Context) error {
	patience := soon * time.Duration(2*(len(a.stage.hubs)+1))
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not everything could be looked at within %v", patience))
	defer cancel()
	for i, h := range a.stage.hubs {
		if err := a.overview(ctx, i, h.name); err != nil {
			return err
		}
		if err := a.table(ctx, i, h.name); err != nil {
			return err
		}
		if err := a.filters(ctx, i, h.name); err != nil {
			return err
		}
		if err := a.detail(ctx, i, h.name); err != nil {
			return err
		}
	}
	return a.actions(ctx)
}

func (a *auditor) overview(ctx context.Context, hub int, name wire.ReplicaID) error {
	return a.until(ctx, fmt.Sprintf("%s: the overview has all hubs and sessions", name), func(ctx context.Context) (bool, error) {
		var o adminview.Overview
		if err := a.ask(ctx, hub, "overview", &o); err != nil {
			return false, err
		}
		said := 0
		for _, r := range o.Replicas {
			if r.SampledAt != 0 {
				said++
			}
		}
		if said < len(a.stage.hubs) || o.Totals.Sessions < len(a.desks) {
			return false, fmt.Errorf("%d hubs and %d sessions", said, o.Totals.Sessions)
		}
		if n := alarmed(o, "stalled"); a.stalls && n < stalled {
			return false, fmt.Errorf("%d sessions are said to be stalled", n)
		}
		return true, nil
	})
}

// alarmed is how many an overview warns of.
func alarmed(o adminview.Overview, kind string) (n int) {
	for _, alert := range o.Alerts {
		if alert.Kind == kind {
			n += alert.Count
		}
	}
	return n
}

// list is all sessions that a query selects.
func (a *auditor) list(ctx context.Context, hub int, query url.Values) (map[wire.SessionID]adminview.Row, error) {
	const page, pages = 500, 1000
	query.Set("limit", strconv.Itoa(page))
	query.Set("sort", "user") // which does not change meanwhile
	all := map[wire.SessionID]adminview.Row{}
	for range pages {
		var p adminview.Page
		if err := a.ask(ctx, hub, "sessions?"+query.Encode(), &p); err != nil {
			return nil, err
		}
		for _, r := range p.Rows {
			if _, twice := all[r.SessionID]; twice {
				return nil, fmt.Errorf("%s is listed twice", r.SessionID)
			}
			all[r.SessionID] = r
		}
		if p.Next == "" {
			return all, nil
		}
		query.Set("after", p.Next)
	}
	return nil, fmt.Errorf("the list does not end after %d pages", pages)
}

// has looks until a list has all of some desks.
func (a *auditor) has(ctx context.Context, hub int, what string, query url.Values, desks []desk) error {
	return a.until(ctx, what, func(ctx context.Context) (bool, error) {
		query.Del("after")
		rows, err := a.list(ctx, hub, query)
		if err != nil {
			return false, err
		}
		absent := 0
		for _, d := range desks {
			if _, ok := rows[d.id]; !ok {
				absent++
			}
		}
		if absent > 0 {
			return false, fmt.Errorf("%d of %d are not among the %d that are listed", absent, len(desks), len(rows))
		}
		return true, nil
	})
}

func (a *auditor) table(ctx context.Context, hub int, name wire.ReplicaID) error {
	return a.has(ctx, hub, fmt.Sprintf("%s: all sessions are listed", name), url.Values{}, a.desks)
}

func (a *auditor) filters(ctx context.Context, hub int, name wire.ReplicaID) error {
	var mine []desk
	for _, d := range a.desks {
		if d.owner == hub {
			mine = append(mine, d)
		}
	}
	type part struct {
		query url.Values
		desks []desk
	}
	parts := map[string]part{
		"those with a question": {url.Values{"questions": {"true"}}, a.askers()},
		"those that wait":       {url.Values{"status": {string(adminview.Waiting)}}, a.askers()},
		"those that failed":     {url.Values{"errors": {"true"}}, a.unlucky()},
		"those of one person":   {url.Values{"user": {nameOf(hub)}}, mine},
		"one by its title":      {url.Values{"text": {"Desk " + strconv.Itoa(len(a.desks))}}, a.desks[len(a.desks)-1:]},
	}
	if a.stalls {
		parts["those with a silent agent"] = part{url.Values{"status": {string(adminview.Stalled)}}, a.silent()}
	}
	for what, part := range parts {
		if err := a.has(ctx, hub, fmt.Sprintf("%s: %s", name, what), part.query, part.desks); err != nil {
			return err
		}
	}
	return a.until(ctx, fmt.Sprintf("%s: every session has an owner, and those of all are all", name), func(ctx context.Context) (bool, error) {
		owned := 0
		for _, h := range a.stage.hubs {
			var p adminview.Page
			if err := a.ask(ctx, hub, "sessions?limit=1&owner="+string(h.name), &p); err != nil {
				return false, err
			}
			owned += p.Total
		}
		if owned < len(a.desks) {
			return false, fmt.Errorf("%d of %d", owned, len(a.desks))
		}
		return true, nil
	})
}

// look is the detail of a session.
func (a *auditor) look(ctx context.Context, hub int, d desk) (out adminview.Detail, err error) {
	err = a.ask(ctx, hub, "sessions/"+string(d.id), &out)
	return out, err
}

func (a *auditor) detail(ctx context.Context, hub int, name wire.ReplicaID) error {
	err := a.until(ctx, fmt.Sprintf("%s: the question of a session is seen", name), func(ctx context.Context) (bool, error) {
		d, err := a.look(ctx, hub, a.askers()[hub%len(a.askers())])
		return d.Known && len(d.Asks) > 0 && d.Row.Questions > 0, err
	})
	if err != nil {
		return err
	}
	return a.until(ctx, fmt.Sprintf("%s: the silent agent of a session is seen", name), func(ctx context.Context) (bool, error) {
		d, err := a.look(ctx, hub, a.silent()[stalled-1])
		return d.Known && len(d.Agents) > 0 && (d.Row.Status == adminview.Working || d.Row.Status == adminview.Stalled), err
	})
}

// actions stops an agent and moves a session, each through a hub that has nothing to do
// with it, and looks for the records.
func (a *auditor) actions(ctx context.Context) error {
	hubs := len(a.stage.hubs)
	stuck, quiet := a.silent()[0], a.lively()[len(a.lively())-1]
	var interrupted, moved string
	err := a.until(ctx, "an agent is stopped through another hub", func(ctx context.Context) (ok bool, err error) {
		d, err := a.look(ctx, 0, stuck)
		if err != nil {
			return false, err
		}
		if interrupted == "" {
			interrupted, err = a.act(ctx, a.other(d.Row.Owner), "sessions/"+string(stuck.id)+"/interrupt", map[string]string{"reason": "it says nothing"})
		}
		return err == nil && d.Row.Status == adminview.Idle, err
	})
	if err != nil {
		return err
	}
	if hubs > 1 {
		var to wire.ReplicaID
		err = a.until(ctx, "a session is handed over", func(ctx context.Context) (ok bool, err error) {
			d, err := a.look(ctx, 0, quiet)
			if err != nil {
				return false, err
			}
			if moved == "" {
				to = a.stage.hubs[a.other(d.Row.Owner)].name
				moved, err = a.act(ctx, 0, "sessions/"+string(quiet.id)+"/handover", map[string]string{"reason": "to see it move", "to": string(to)})
			}
			return err == nil && d.Row.Owner == to, err
		})
		if err != nil {
			return err
		}
	}
	return a.records(ctx, interrupted, moved)
}

// other is a hub that is not the one of that name, if there is one.
func (a *auditor) other(name wire.ReplicaID) int {
	for i, h := range a.stage.hubs {
		if h.name != name {
			return i
		}
	}
	return 0
}

// records looks for the ends of actions in the audit, and whether it is whole.
func (a *auditor) records(ctx context.Context, ids ...string) error {
	last := len(a.stage.hubs) - 1
	err := a.until(ctx, "both are in the audit, with their end", func(ctx context.Context) (bool, error) {
		var list struct {
			Records []struct {
				ID     string `json:"id"`
				Result string `json:"result"`
			} `json:"records"`
		}
		if err := a.ask(ctx, last, "audit", &list); err != nil {
			return false, err
		}
		done := map[string]bool{"": len(a.stage.hubs) == 1}
		for _, r := range list.Records {
			done[r.ID] = done[r.ID] || r.Result == "done"
		}
		for _, id := range ids {
			if !done[id] {
				return false, fmt.Errorf("%q is not there", id)
			}
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	return a.until(ctx, "the audit is whole", func(ctx context.Context) (bool, error) {
		var v struct {
			OK      bool `json:"ok"`
			Records int  `json:"records"`
		}
		err := a.ask(ctx, last, "audit/verify", &v)
		return v.OK && v.Records >= len(ids), err
	})
}
