package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"github.com/everdesk/everdesk/cmd/hub/internal/terminal"
)

// auditLimit is the default of --limit for `hub admin audit`.
const auditLimit = 100

// auditCard is a record of the audit log in the hub's answer.
type auditCard struct {
	ID     string `json:"id"`
	Time   moment `json:"time"`
	Who    string `json:"who"`
	Action string `json:"action"`
	Target string `json:"target"`
	Reason string `json:"reason"`
	Result string `json:"result"`
	// Detail says what was done, or why it failed.
	Detail string `json:"detail"`
}

// audit lists admin actions, or verifies the audit log.
func (c *call) audit(ctx context.Context) error {
	if len(c.args) > 0 {
		return c.verify(ctx)
	}
	query := url.Values{}
	for _, name := range []string{"who", "action", "target"} {
		if c.flags.Has(name) {
			query.Set(name, c.flags.Last(name))
		}
	}
	c.limit = cmp.Or(c.limit, auditLimit)
	all, rest, err := c.list(ctx, "list what admins did", c.path("audit"), query, "records")
	if err != nil {
		return err
	}
	if c.json {
		return c.printList("records", all, rest)
	}
	if len(all) == 0 {
		fmt.Fprintln(c.program.Stdout, "No such records.")
		return nil
	}
	table := newTable(c.program.Stdout)
	fmt.Fprintln(table, "TIME\tWHO\tACTION\tTARGET\tRESULT\tID\tREASON")
	for _, raw := range all {
		var r auditCard
		if err := json.Unmarshal(raw, &r); err != nil {
			return fmt.Errorf("list what admins did: that is no answer of a hub: %w", err)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Time.UTC().Format(time.DateTime), cell(r.Who, 32), cell(r.Action, 32), cell(r.Target, 96),
			cell(r.Result, 16), cell(r.ID, 64), cell(r.Reason, 80))
	}
	return table.Flush()
}

// verify makes the hub verify the chain of records. A broken chain is an error. It uses a call
// without --json for the request, because it needs the decoded answer also with --json.
func (c *call) verify(ctx context.Context) error {
	var raw json.RawMessage
	if _, err := (&call{program: c.program, hub: c.hub}).fetch(ctx, "check what admins did", c.path("audit", "verify"), &raw); err != nil {
		return err
	}
	var v struct {
		OK      bool   `json:"ok"`
		Records uint64 `json:"records"`
		Head    string `json:"head"`
		Broken  struct {
			Seq uint64 `json:"seq"`
			Why string `json:"why"`
		} `json:"broken"`
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return fmt.Errorf("check what admins did: that is no answer of a hub: %w", err)
	}
	switch {
	case c.json:
		fmt.Fprintf(c.program.Stdout, "%s\n", raw)
	case v.OK:
		fmt.Fprintf(c.program.Stdout, "All %d records are there and as they were written. The newest is %s.\n", v.Records, cell(v.Head, 96))
	}
	if !v.OK {
		return fmt.Errorf("the audit is broken at record %d: %s", v.Broken.Seq, terminal.OneLine(v.Broken.Why))
	}
	return nil
}
