package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/adminview"
	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/wire"
)

// auditRecord is a record of the audit log as JSON.
type auditRecord struct {
	Seq                                     uint64
	Time                                    int64
	ID, Who, Action, Target, Reason, Result string
}

// auditList is the output of hub admin audit --json.
type auditList struct{ Records []auditRecord }

// done runs an action of hub admin with --json, and returns its record in the audit log.
func (f *adminReplicas) done(t *testing.T, args ...string) auditRecord {
	t.Helper()
	card := read[auditRecord](t, f, args...)
	if card.ID == "" || card.Action == "" || card.Reason == "" || card.Result != "done" || card.Time == 0 {
		t.Errorf("record of hub admin %s: got %+v, want it done with id, action, reason and time", strings.Join(args, " "), card)
	}
	return card
}

// hang starts a turn that never ends.
func (f *adminReplicas) hang(t *testing.T, x *terminal, id string) {
	t.Helper()
	x.say(t, fmt.Sprintf(`{"type":"USER_MESSAGE","data":{"messageId":%q,"content":"/nosteer\n/say %s\n/hang"}}`, id, id))
	x.until(t, `"delta":"`+id+`"`)
}

// Through a hub that does not own the session, an admin stops agents, cancels queued messages and
// closes tabs. The audit log has two records of each action: its begin and its result.
func TestAdminReplicasAct(t *testing.T) {
	t.Parallel()
	f := newAdminReplicas(t, "--max-agents", "1") // so that messages wait
	session := f.session(t, f.one, f.ann, "busy")
	id := string(session)
	x := attachTo(t, f.one, session, "--json", "--token", f.ann)
	x.until(t, `"type":"session_state"`)
	f.hang(t, x, "first")
	x.say(t, `{"type":"USER_MESSAGE","data":{"messageId":"second","content":"/say never"}}`)
	d := f.show(t, session, func(d adminview.Detail) bool {
		return d.Known && len(d.Monitors) == 1 && len(d.Monitors[0].Queue) == 1 && len(d.Tabs) == 1 && len(d.Agents) > 0
	})
	if d.Row.Owner != "one" || d.Monitors[0].Queue[0].MessageID != "second" || d.Row.Queued != 1 {
		t.Errorf("detail: got %+v, want the owner one and the message second queued", d)
	}
	f.fails(t, command.ExitFailure, "hub answered 404: ", "cancel", id, "third", "--reason", "x")
	f.fails(t, command.ExitUsage, "say why with --reason", "cancel", id, "second")
	if card := f.done(t, "cancel", id, "second", "--reason", "not that"); card.Action != "message.cancel" || card.Target != id+"/second" || card.Reason != "not that" {
		t.Errorf("record of the cancel: got %+v, want message.cancel of %s/second: not that", card, id)
	}
	f.show(t, session, func(d adminview.Detail) bool { return d.Row.Queued == 0 && d.Row.Status == adminview.Working })
	if out := f.ok(t, "interrupt", id, "--reason", "it burns money"); !strings.HasPrefix(out, "session.interrupt of "+id+" is recorded as adm-") ||
		!strings.HasSuffix(out, ".\nagents stopped: 1 of 1 at work\n") {
		t.Errorf("output of interrupt: got %q, want the record of session.interrupt and one of one agents stopped", out)
	}
	x.until(t, `"isComplete":true.*"outcome":"interrupted"`)
	f.show(t, session, func(d adminview.Detail) bool { return d.Row.Status == adminview.Idle })
	f.hang(t, x, "fourth")
	f.done(t, "interrupt", id, "--monitor", string(d.Monitors[0].ID), "--reason", "that one")
	x.until(t, `"isComplete":true.*"outcome":"interrupted"`)
	f.fails(t, command.ExitFailure, "hub answered 400: ", "interrupt", id, "--agent", "agent-1", "--monitor", "monitor-0", "--reason", "x")

	connection := string(d.Tabs[0].ConnectionID)
	f.fails(t, command.ExitFailure, "hub answered 404: ", "close-tab", id, "con-unknown", "--reason", "x")
	if card := f.done(t, "close-tab", id, connection, "--reason", "who is that"); card.Target != id+"/"+connection {
		t.Errorf("record of close-tab: got %+v, want the target %s/%s", card, id, connection)
	}
	x.ends(t)
	f.show(t, session, func(d adminview.Detail) bool { return len(d.Tabs) == 0 })
	f.audited(t, id)
}

// ends waits until the terminal has exited.
func (x *terminal) ends(t *testing.T) {
	t.Helper()
	deadline := time.After(waitTimeout)
	for {
		select {
		case line, ok := <-x.lines:
			if !ok {
				return
			}
			x.seen = append(x.seen, line)
		case <-deadline:
			t.Fatal("terminal: got no end until the deadline, want one")
		}
	}
}

// audited checks that the audit log has the actions with their results.
func (f *adminReplicas) audited(t *testing.T, id string) {
	t.Helper()
	list := read[auditList](t, f, "audit")
	results := map[string]string{}
	for i, r := range list.Records {
		if i > 0 && r.Seq >= list.Records[i-1].Seq {
			t.Errorf("audit: got record %d after %d, want the newest first", r.Seq, list.Records[i-1].Seq)
		}
		if r.Action == "message.cancel" || r.Action == "session.interrupt" || r.Action == "tab.close" {
			results[r.ID] = r.Result + " " + results[r.ID]
		}
	}
	good, bad := 0, 0
	for _, result := range results {
		switch result {
		case "begun done ":
			good++
		case "begun failed ":
			bad++
		default:
			t.Errorf("results of one action: got %q, want begun, then done or failed", result)
		}
	}
	if good != 4 || bad != 2 {
		t.Errorf("actions: got %d done and %d failed, want 4 and 2: %+v", good, bad, list)
	}
	for args, want := range map[string]int{
		"--action tab.close":                           4,
		"--target " + id + "/second":                   2,
		"--action message.cancel --target " + id:       4,
		"--who unknown":                                0,
		"--action session.interrupt --limit 3":         3,
		"--who " + list.Records[0].Who + " --limit 10": 10,
	} {
		if got := read[auditList](t, f, append([]string{"audit"}, strings.Fields(args)...)...); len(got.Records) != want {
			t.Errorf("audit %s has %d records, want %d", args, len(got.Records), want)
		}
	}
	if out := f.ok(t, "audit", "--action", "session.interrupt"); !strings.Contains(out, "it burns money") || strings.Count(out, "\n") != 5 {
		t.Errorf("audit of interrupts: got\n%s\nwant five lines with the reason it burns money", out)
	}
	if out := f.ok(t, "audit", "verify"); out != fmt.Sprintf("All %d records are there and as they were written. The newest is %s.\n", len(list.Records), verified(t, f, len(list.Records))) {
		t.Errorf("audit verify: got %q, want all %d records as they were written", out, len(list.Records))
	}
}

// verified verifies that the audit log is complete and has the given number of records, and returns
// its newest hash.
func verified(t *testing.T, f *adminReplicas, records int) string {
	t.Helper()
	v := read[struct {
		OK      bool
		Records int
		Head    string
	}](t, f, "audit", "verify")
	if !v.OK || v.Records != records || v.Head == "" {
		t.Errorf("the audit is %+v, want %d records", v, records)
	}
	return v.Head
}

// A session is handed over to another hub during an agent's answer, and then once more by draining
// that hub: a client receives the whole answer.
func TestAdminReplicasMove(t *testing.T) {
	t.Parallel()
	f := newAdminReplicas(t)
	session := f.session(t, f.one, f.ann, "on the move")
	heard := make(chan wire.AgentResponse, 4096)
	c, err := client.New(client.Config{URL: f.one.url, Session: session, Token: f.ann, OnEvent: func(_ context.Context, e client.Event) {
		if r, ok := e.Data.(wire.AgentResponse); ok {
			heard <- r
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- c.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ran })
	<-c.Ready()
	const words = 200
	if _, err := c.Send(t.Context(), wire.UserMessage{Content: fmt.Sprintf("/stream %d 100", words)}); err != nil {
		t.Fatal(err)
	}
	said, cuts := (<-heard).Delta, 0
	if owner := f.show(t, session, func(d adminview.Detail) bool { return d.Known }).Row.Owner; owner != "one" {
		t.Fatalf("owner: got %q, want one", owner)
	}
	f.fails(t, command.ExitUsage, "--to", "handover", string(session), "--reason", "x")
	f.fails(t, command.ExitFailure, "hub answered 4", "handover", string(session), "--to", "nowhere", "--reason", "x")
	f.done(t, "handover", string(session), "--to", "two", "--reason", "to make room")
	f.show(t, session, func(d adminview.Detail) bool { return d.Row.Owner == "two" && len(d.Owners) == 2 })
	deadline := time.After(waitTimeout)
	for over := false; !over; {
		select {
		case r := <-heard:
			if r.Delta != "" && r.Offset != len(said) {
				cuts++ // the interrupted text is generated again
			}
			if r.Delta != "" && r.Offset <= len(said) {
				said = said[:r.Offset] + r.Delta
			}
			if over = r.IsComplete; over && r.Outcome != wire.OutcomeCompleted {
				t.Errorf("outcome of the turn: got %q, want %q", r.Outcome, wire.OutcomeCompleted)
			}
		case <-deadline:
			t.Fatalf("the turn did not end; so far: %s", said)
		}
	}
	if all := strings.Fields(said); len(all) != words || all[words-1] != "w"+strconv.Itoa(words) || cuts > 1 {
		t.Errorf("text of the agent: got %q with %d cuts, want %d words with at most one cut", said, cuts, words)
	}

	if out := f.ok(t, "drain", "two", "--wait", "20s", "--reason", "upgrade"); !strings.HasPrefix(out, "replica.drain of two is recorded as adm-") || !strings.HasSuffix(out, "two is drained.\n") {
		t.Errorf("output of drain: got %q, want the record of replica.drain and two is drained", out)
	}
	if out := f.ok(t, "replicas"); !strings.Contains(out, "two      drained") {
		t.Errorf("replicas: got\n%s\nwant two drained", out)
	}
	f.show(t, session, func(d adminview.Detail) bool { return d.Row.Owner == "one" })
	code, out, stderr := f.run(t.Context(), f.one, f.admin, "undrain", "two", "--wait", "20s", "--reason", "done", "--json")
	if code != command.ExitOK || strings.Count(out, "\n") != 1 || !strings.Contains(out, `"replica.undrain"`) || stderr != "two is serving.\n" {
		t.Errorf("undrain --json: got code %d, %q, %q, want code %d, one line of replica.undrain and two is serving", code, out, stderr, command.ExitOK)
	}
	f.fails(t, command.ExitFailure, "hub answered 404: ", "drain", "nowhere", "--reason", "x")
}
