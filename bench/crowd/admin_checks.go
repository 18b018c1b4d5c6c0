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

// get reads a path of the admin API through a hub and decodes the answer into into.
func (c *checker) get(ctx context.Context, hub int, path string, into any) error {
	return c.env.api(hub, c.env.token).Do(ctx, http.MethodGet, "/api/admin/"+path, nil, into)
}

// post requests an admin action through a hub and returns the id of its audit record.
func (c *checker) post(ctx context.Context, hub int, path string, in map[string]string) (id string, err error) {
	var record struct {
		ID string `json:"id"`
	}
	err = c.env.api(hub, c.env.token).Do(ctx, http.MethodPost, "/api/admin/"+path, in, &record)
	return record.ID, err
}

// checkAll checks the admin views through every hub, then runs admin actions and checks their
// records. It stops after two check timeouts per hub and two more, when most checks fail.
func (c *checker) checkAll(ctx context.Context) error {
	limit := checkTimeout * time.Duration(2*(len(c.env.hubs)+1))
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the checks did not finish within %v", limit))
	defer cancel()
	for i, h := range c.env.hubs {
		if err := c.checkOverview(ctx, i, h.name); err != nil {
			return err
		}
		if err := c.checkTable(ctx, i, h.name); err != nil {
			return err
		}
		if err := c.checkFilters(ctx, i, h.name); err != nil {
			return err
		}
		if err := c.checkDetail(ctx, i, h.name); err != nil {
			return err
		}
	}
	return c.checkActions(ctx)
}

func (c *checker) checkOverview(ctx context.Context, hub int, name wire.ReplicaID) error {
	return c.retry(ctx, fmt.Sprintf("%s: the overview has all hubs and sessions", name), func(ctx context.Context) (bool, error) {
		var o adminview.Overview
		if err := c.get(ctx, hub, "overview", &o); err != nil {
			return false, err
		}
		reporting := 0
		for _, r := range o.Replicas {
			if r.SampledAt != 0 {
				reporting++
			}
		}
		if reporting < len(c.env.hubs) || o.Totals.Sessions < len(c.sessions) {
			return false, fmt.Errorf("%d hubs and %d sessions", reporting, o.Totals.Sessions)
		}
		if n := alertCount(o, "stalled"); c.expectStalled && n < stalledCount {
			return false, fmt.Errorf("%d sessions are reported as stalled", n)
		}
		return true, nil
	})
}

// alertCount returns the number of sessions in the alerts of a kind.
func alertCount(o adminview.Overview, kind string) (n int) {
	for _, alert := range o.Alerts {
		if alert.Kind == kind {
			n += alert.Count
		}
	}
	return n
}

// listSessions returns the sessions that a query selects, from all pages.
func (c *checker) listSessions(ctx context.Context, hub int, query url.Values) (map[wire.SessionID]adminview.Row, error) {
	const page, pages = 500, 1000
	query.Set("limit", strconv.Itoa(page))
	query.Set("sort", "user") // users of sessions do not change during the listing
	all := map[wire.SessionID]adminview.Row{}
	for range pages {
		var p adminview.Page
		if err := c.get(ctx, hub, "sessions?"+query.Encode(), &p); err != nil {
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

// checkListed checks that the result of a query contains all given sessions.
func (c *checker) checkListed(ctx context.Context, hub int, what string, query url.Values, sessions []simSession) error {
	return c.retry(ctx, what, func(ctx context.Context) (bool, error) {
		query.Del("after")
		rows, err := c.listSessions(ctx, hub, query)
		if err != nil {
			return false, err
		}
		absent := 0
		for _, d := range sessions {
			if _, ok := rows[d.id]; !ok {
				absent++
			}
		}
		if absent > 0 {
			return false, fmt.Errorf("%d of %d sessions are not among the %d listed ones", absent, len(sessions), len(rows))
		}
		return true, nil
	})
}

func (c *checker) checkTable(ctx context.Context, hub int, name wire.ReplicaID) error {
	return c.checkListed(ctx, hub, fmt.Sprintf("%s: all sessions are listed", name), url.Values{}, c.sessions)
}

func (c *checker) checkFilters(ctx context.Context, hub int, name wire.ReplicaID) error {
	var ofUser []simSession
	for _, d := range c.sessions {
		if d.user == hub {
			ofUser = append(ofUser, d)
		}
	}
	type part struct {
		query    url.Values
		sessions []simSession
	}
	parts := map[string]part{
		"sessions with a question": {url.Values{"questions": {"true"}}, c.waitingSessions()},
		"waiting sessions":         {url.Values{"status": {string(adminview.Waiting)}}, c.waitingSessions()},
		"sessions with errors":     {url.Values{"errors": {"true"}}, c.failingSessions()},
		"sessions of one user":     {url.Values{"user": {userName(hub)}}, ofUser},
		"a session by its title":   {url.Values{"text": {"Session " + strconv.Itoa(len(c.sessions))}}, c.sessions[len(c.sessions)-1:]},
	}
	if c.expectStalled {
		parts["stalled sessions"] = part{url.Values{"status": {string(adminview.Stalled)}}, c.stalledSessions()}
	}
	for what, part := range parts {
		if err := c.checkListed(ctx, hub, fmt.Sprintf("%s: %s", name, what), part.query, part.sessions); err != nil {
			return err
		}
	}
	return c.retry(ctx, fmt.Sprintf("%s: every session has an owner", name), func(ctx context.Context) (bool, error) {
		owned := 0
		for _, h := range c.env.hubs {
			var p adminview.Page
			if err := c.get(ctx, hub, "sessions?limit=1&owner="+string(h.name), &p); err != nil {
				return false, err
			}
			owned += p.Total
		}
		if owned < len(c.sessions) {
			return false, fmt.Errorf("%d of %d sessions have an owner", owned, len(c.sessions))
		}
		return true, nil
	})
}

// detailOf returns the detail of a session.
func (c *checker) detailOf(ctx context.Context, hub int, d simSession) (out adminview.Detail, err error) {
	err = c.get(ctx, hub, "sessions/"+string(d.id), &out)
	return out, err
}

func (c *checker) checkDetail(ctx context.Context, hub int, name wire.ReplicaID) error {
	err := c.retry(ctx, fmt.Sprintf("%s: the detail of a session has its question", name), func(ctx context.Context) (bool, error) {
		d, err := c.detailOf(ctx, hub, c.waitingSessions()[hub%len(c.waitingSessions())])
		return d.Known && len(d.Asks) > 0 && d.Row.Questions > 0, err
	})
	if err != nil {
		return err
	}
	return c.retry(ctx, fmt.Sprintf("%s: the detail of a session has its silent agent", name), func(ctx context.Context) (bool, error) {
		d, err := c.detailOf(ctx, hub, c.stalledSessions()[stalledCount-1])
		return d.Known && len(d.Agents) > 0 && (d.Row.Status == adminview.Working || d.Row.Status == adminview.Stalled), err
	})
}

// checkActions interrupts an agent and moves a session, each through a hub that does not own the
// session, and checks the audit records.
func (c *checker) checkActions(ctx context.Context) error {
	hubs := len(c.env.hubs)
	stuck, quiet := c.stalledSessions()[0], c.activeSessions()[len(c.activeSessions())-1]
	var interrupted, moved string
	err := c.retry(ctx, "an agent is interrupted through another hub", func(ctx context.Context) (ok bool, err error) {
		d, err := c.detailOf(ctx, 0, stuck)
		if err != nil {
			return false, err
		}
		if interrupted == "" {
			interrupted, err = c.post(ctx, c.otherHub(d.Row.Owner), "sessions/"+string(stuck.id)+"/interrupt", map[string]string{"reason": "no output"})
		}
		return err == nil && d.Row.Status == adminview.Idle, err
	})
	if err != nil {
		return err
	}
	if hubs > 1 {
		var to wire.ReplicaID
		err = c.retry(ctx, "a session is handed over", func(ctx context.Context) (ok bool, err error) {
			d, err := c.detailOf(ctx, 0, quiet)
			if err != nil {
				return false, err
			}
			if moved == "" {
				to = c.env.hubs[c.otherHub(d.Row.Owner)].name
				moved, err = c.post(ctx, 0, "sessions/"+string(quiet.id)+"/handover", map[string]string{"reason": "check", "to": string(to)})
			}
			return err == nil && d.Row.Owner == to, err
		})
		if err != nil {
			return err
		}
	}
	return c.checkAudit(ctx, interrupted, moved)
}

// otherHub returns the index of a hub with another name, or 0 if there is only one hub.
func (c *checker) otherHub(name wire.ReplicaID) int {
	for i, h := range c.env.hubs {
		if h.name != name {
			return i
		}
	}
	return 0
}

// checkAudit checks that the audit log has the results of the actions and that its chain is intact.
func (c *checker) checkAudit(ctx context.Context, ids ...string) error {
	last := len(c.env.hubs) - 1
	err := c.retry(ctx, "the audit log has both actions with their results", func(ctx context.Context) (bool, error) {
		var list struct {
			Records []struct {
				ID     string `json:"id"`
				Result string `json:"result"`
			} `json:"records"`
		}
		if err := c.get(ctx, last, "audit", &list); err != nil {
			return false, err
		}
		done := map[string]bool{"": len(c.env.hubs) == 1}
		for _, r := range list.Records {
			done[r.ID] = done[r.ID] || r.Result == "done"
		}
		for _, id := range ids {
			if !done[id] {
				return false, fmt.Errorf("%q has no result", id)
			}
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	return c.retry(ctx, "the chain of the audit log is intact", func(ctx context.Context) (bool, error) {
		var v struct {
			OK      bool `json:"ok"`
			Records int  `json:"records"`
		}
		err := c.get(ctx, last, "audit/verify", &v)
		return v.OK && v.Records >= len(ids), err
	})
}
