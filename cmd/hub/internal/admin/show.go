package admin

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/everdesk/everdesk/adminview"
	"github.com/everdesk/everdesk/wire"
)

// showSession prints one session in detail.
func (c *call) showSession(ctx context.Context) error {
	var d adminview.Detail
	if shown, err := c.fetch(ctx, "look at the session", c.session(), &d); err != nil || shown {
		return err
	}
	return printDetail(c.program.Stdout, d, time.Now())
}

func printDetail(out io.Writer, d adminview.Detail, now time.Time) error {
	r := d.Row
	table := newTable(out)
	line := func(name, format string, args ...any) { fmt.Fprintf(table, name+"\t"+format+"\n", args...) }
	line("session", "%s", cell(string(r.SessionID), 64))
	line("title", "%s", cell(r.Title, 80))
	line("user", "%s", cell(r.User, 64))
	line("status", "%s", statusOf(r))
	if r.Reason != "" {
		line("quarantined", "%s", cell(r.Reason, 200))
	}
	line("owner", "%s, epoch %d", cell(string(r.Owner), 64), r.Epoch)
	line("newest event", "%s, %s ago", r.Top, ago(r.UpdatedAt, now))
	line("created", "%s ago", ago(r.CreatedAt, now))
	line("tokens", "%d, $%.4f", r.Tokens, r.Cost)
	line("errors", "%d, last %s", r.Errors, cell(r.LastError, 32))
	line("budget", "%d%%", r.Budget)
	if !d.Known {
		line("", "Its owner has not reported yet; the following is from the log.")
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, part := range []func(io.Writer, adminview.Detail, time.Time) error{
		printMonitors, printAgents, printAsks, printTabs, printWindows, printOwners, printMessages,
	} {
		if err := part(out, d, now); err != nil {
			return err
		}
	}
	return nil
}

// part prints a table with the given header, or nothing if it has no rows.
func part[T any](out io.Writer, head string, all []T, row func(*tabwriter.Writer, T)) error {
	if len(all) == 0 {
		return nil
	}
	table := newTable(out)
	fmt.Fprintf(table, "\n%s\n", head)
	for _, one := range all {
		row(table, one)
	}
	return table.Flush()
}

func printMonitors(out io.Writer, d adminview.Detail, now time.Time) error {
	err := part(out, "MONITOR\tNAME\tQUEUED\tBUDGET", d.Monitors, func(w *tabwriter.Writer, m adminview.Monitor) {
		budget := "-"
		if m.Budget.Bounded {
			budget = fmt.Sprintf("%d%%", m.Budget.Used)
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\n", cell(string(m.ID), 64), cell(m.Name, 32), len(m.Queue), budget)
	})
	if err != nil {
		return err
	}
	type waiting struct {
		monitor wire.MonitorID
		adminview.Queued
	}
	var queue []waiting
	for _, m := range d.Monitors {
		for _, q := range m.Queue {
			queue = append(queue, waiting{m.ID, q})
		}
	}
	return part(out, "QUEUED\tPLACE\tMONITOR\tWINDOW\tSINCE\tTEXT", queue, func(w *tabwriter.Writer, q waiting) {
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\n", cell(string(q.MessageID), 64), q.Place, cell(string(q.monitor), 32), cell(string(q.WindowID), 32), ago(q.Since, now), cell(q.Text, 60))
	})
}

func printAgents(out io.Writer, d adminview.Detail, now time.Time) error {
	return part(out, "AGENT\tKIND\tSTATUS\tMONITOR\tWINDOW\tPARENT\tPROVIDER\tMESSAGE\tTOOL\tFOR\tATTEMPT", d.Agents, func(w *tabwriter.Writer, a adminview.Agent) {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\n", cell(string(a.ID), 64), cell(string(a.Kind), 16), cell(string(a.Status), 16),
			cell(string(a.MonitorID), 32), cell(string(a.WindowID), 32), cell(string(a.Parent), 64), cell(a.Provider, 32), cell(string(a.MessageID), 64),
			cell(a.Tool, 32), ago(a.StartedAt, now), a.Attempt)
	})
}

func printAsks(out io.Writer, d adminview.Detail, now time.Time) error {
	return part(out, "QUESTION\tKIND\tAGENT\tLEFT\tTITLE", d.Asks, func(w *tabwriter.Writer, a adminview.Ask) {
		left := "-"
		if a.Deadline != 0 {
			left = span(time.UnixMilli(int64(a.Deadline)).Sub(now))
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", cell(a.ID, 64), cell(a.Kind, 16), cell(string(a.AgentID), 64), left, cell(a.Title, 60))
	})
}

func printTabs(out io.Writer, d adminview.Detail, now time.Time) error {
	return part(out, "TAB\tCLIENT\tUSER\tREPLICA\tFOR\tBEHIND\tFORM", d.Tabs, func(w *tabwriter.Writer, t adminview.Tab) {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%s\n", cell(string(t.ConnectionID), 64), cell(string(t.ClientID), 64), cell(t.User, 32), cell(string(t.Replica), 32),
			ago(t.Since, now), t.Lag, cell(t.Form, 16))
	})
}

func printWindows(out io.Writer, d adminview.Detail, _ time.Time) error {
	return part(out, "WINDOW\tMONITOR\tKIND\tLOCKED BY\tTITLE", d.Windows, func(w *tabwriter.Writer, v adminview.Window) {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", cell(string(v.ID), 64), cell(string(v.MonitorID), 32), cell(v.Renderer, 16), cell(string(v.LockedBy), 64), cell(v.Title, 60))
	})
}

func printOwners(out io.Writer, d adminview.Detail, now time.Time) error {
	return part(out, "OWNED BY\tEPOCH\tSINCE", d.Owners, func(w *tabwriter.Writer, o adminview.Owner) {
		fmt.Fprintf(w, "%s\t%d\t%s\n", cell(string(o.Replica), 64), o.Epoch, ago(o.At, now))
	})
}

func printMessages(out io.Writer, d adminview.Detail, now time.Time) error {
	return part(out, "MESSAGE\tVERDICT\tSTATE\tCODE\tAGENT\tAGE", d.Messages, func(w *tabwriter.Writer, m adminview.Message) {
		code := ""
		if m.Code != 0 {
			code = fmt.Sprint(m.Code)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", cell(string(m.MessageID), 64), cell(m.Verdict, 16), cell(m.State, 16), cell(code, 16), cell(string(m.AgentID), 64), ago(m.Time, now))
	})
}
