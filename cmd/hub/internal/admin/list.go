package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/everdesk/everdesk/adminview"
)

// sessionLimit is the default of --limit for `hub admin sessions`.
const sessionLimit = 1000

// sessions lists the sessions of all replicas.
func (c *call) sessions(ctx context.Context) error {
	query := url.Values{}
	for _, name := range []string{"user", "status", "owner", "text", "sort"} {
		if c.flags.Has(name) {
			query.Set(name, c.flags.Last(name))
		}
	}
	for _, name := range []string{"stuck", "questions", "errors", "quarantined", "desc"} {
		if c.flags.Has(name) {
			query.Set(name, "true")
		}
	}
	if c.flags.Has("no-tabs") {
		query.Set("tabs", "0")
	}
	if c.limit == 0 {
		c.limit = sessionLimit
	}
	all, rest, err := c.list(ctx, "list sessions", c.path("sessions"), query, "rows")
	if err != nil {
		return err
	}
	if c.json {
		return c.printList("rows", all, rest)
	}
	rows := make([]adminview.Row, len(all))
	for i, raw := range all {
		if err := json.Unmarshal(raw, &rows[i]); err != nil {
			return fmt.Errorf("list sessions: that is no answer of a hub: %w", err)
		}
	}
	var total int
	_ = json.Unmarshal(rest["total"], &total) // 0 if it is absent: no line about further sessions
	return printRows(c.program.Stdout, rows, total, time.Now())
}

func printRows(out io.Writer, rows []adminview.Row, total int, now time.Time) error {
	if len(rows) == 0 {
		fmt.Fprintln(out, "No such sessions.")
		return nil
	}
	table := newTable(out)
	fmt.Fprintln(table, "SESSION\tUSER\tSTATUS\tOWNER\tTABS\tAGENTS\tQUEUED\tASKS\tERRORS\tBUDGET\tCOST\tCHANGED\tTITLE")
	for _, r := range rows {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d%%\t$%.2f\t%s\t%s\n",
			cell(string(r.SessionID), 64), cell(r.User, 32), statusOf(r), cell(string(r.Owner), 32), r.Tabs, r.Agents, r.Queued, r.Questions,
			r.Errors, r.Budget, r.Cost, ago(r.UpdatedAt, now), cell(r.Title, 40))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if more := total - len(rows); more > 0 {
		fmt.Fprintf(out, "… and %d more; --limit %d shows them.\n", more, total)
	}
	return nil
}

// statusOf returns the status of a session and, if it is stuck or cannot be owned, its activity
// and for how long.
func statusOf(r adminview.Row) string {
	s := cell(string(r.Status), 16)
	if r.Doing != "" {
		s += fmt.Sprintf(" (%s, %s)", cell(r.Doing, 24), span(time.Duration(r.DoingMS)*time.Millisecond))
	}
	return s
}

// overview prints the totals, the alerts and the state of each replica.
func (c *call) overview(ctx context.Context) error {
	var o adminview.Overview
	if shown, err := c.fetch(ctx, "look at the hubs", c.path("overview"), &o); err != nil || shown {
		return err
	}
	return printOverview(c.program.Stdout, o, time.Now())
}

func printOverview(out io.Writer, o adminview.Overview, now time.Time) error {
	t := o.Totals
	fmt.Fprintf(out, "%d sessions", t.Sessions)
	var parts []string
	for _, status := range slices.Sorted(maps.Keys(t.ByStatus)) {
		if n := t.ByStatus[status]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, cell(string(status), 16)))
		}
	}
	if len(parts) > 0 {
		fmt.Fprintf(out, ": %s", strings.Join(parts, ", "))
	}
	fmt.Fprintf(out, "\n%d tabs, %d of %d agents, %d messages wait, %d questions wait for people\n", t.Tabs, t.Agents, t.Limit, t.Queued, t.Questions)
	for _, a := range o.Alerts {
		where := ""
		if a.Where != "" {
			where = " at " + cell(string(a.Where), 64)
		}
		fmt.Fprintf(out, "! %s: %d%s\n", cell(a.Kind, 32), a.Count, where)
	}
	table := newTable(out)
	fmt.Fprintln(table, "\nREPLICA\tSTATE\tOWNED\tFOLLOWED\tTABS\tAGENTS\tEVENTS/S\tCOMMIT P50\tP99\tSTORE\tMEMORY\tUP\tSAID")
	for _, r := range o.Replicas {
		s := r.Sample
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\t%d\t%.1f\t%s\t%s\t%s\t%s\t%s\t%s\n", cell(string(r.ID), 64), cell(r.State, 16), r.Owned, r.Followed, r.Tabs,
			r.Agents, s.Events, millis(s.AppendP50), millis(s.AppendP99), millis(s.StoreRTT), size(s.ResidentBytes), ago(r.StartedAt, now), ago(r.SampledAt, now))
	}
	return table.Flush()
}
