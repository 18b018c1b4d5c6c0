package admin

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/everdesk/everdesk/audit"
	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/cmd/hub/internal/terminal"
	"github.com/everdesk/everdesk/wire"
)

// sendAction sends an action and prints its record in the audit log. Empty members of in are left
// out.
func (c *call) sendAction(ctx context.Context, method string, target *url.URL, in map[string]string) error {
	body := map[string]string{"reason": c.reason}
	for name, text := range in {
		if text != "" {
			body[name] = text
		}
	}
	var raw json.RawMessage
	if err := c.hub.SendAction(ctx, method, target, body, &raw); err != nil {
		return forAdmins(err)
	}
	if c.json {
		_, err := fmt.Fprintf(c.program.Stdout, "%s\n", raw)
		return err
	}
	var card auditCard
	if err := json.Unmarshal(raw, &card); err != nil {
		return fmt.Errorf("that is no answer of a hub: %w", err)
	}
	how := "recorded"
	if card.Result == string(audit.Begun) {
		how = "under way, recorded" // the audit log will have the outcome
	}
	_, err := fmt.Fprintf(c.program.Stdout, "%s of %s is %s as %s.\n", terminal.OneLine(card.Action), terminal.OneLine(card.Target), how, terminal.OneLine(card.ID))
	if err == nil && card.Detail != "" {
		_, err = fmt.Fprintf(c.program.Stdout, "%s\n", terminal.OneLine(card.Detail))
	}
	return err
}

func (c *call) interrupt(ctx context.Context) error {
	return c.sendAction(ctx, http.MethodPost, c.session("interrupt"), map[string]string{"agentId": c.flags.Last("agent"), "monitorId": c.flags.Last("monitor")})
}

func (c *call) cancel(ctx context.Context) error {
	return c.sendAction(ctx, http.MethodPost, c.session("messages", c.args[1], "cancel"), nil)
}

func (c *call) closeTab(ctx context.Context) error {
	return c.sendAction(ctx, http.MethodPost, c.session("tabs", c.args[1], "close"), nil)
}

func (c *call) handOver(ctx context.Context) error {
	return c.sendAction(ctx, http.MethodPost, c.session("handover"), map[string]string{"to": c.flags.Last("to")})
}

func (c *call) release(ctx context.Context) error {
	return c.sendAction(ctx, http.MethodPost, c.session("release"), nil)
}

func (c *call) reset(ctx context.Context) error {
	if err := c.confirm(ctx, "closes all windows of the session and deletes its conversations"); err != nil {
		return err
	}
	return c.sendAction(ctx, http.MethodPost, c.session("reset"), nil)
}

func (c *call) remove(ctx context.Context) error {
	if err := c.confirm(ctx, "deletes the session with everything in it"); err != nil {
		return err
	}
	return c.sendAction(ctx, http.MethodDelete, c.session(), nil)
}

func (c *call) drain(ctx context.Context) error { return c.drainOrNot(ctx, "drain", false) }

func (c *call) undrain(ctx context.Context) error { return c.drainOrNot(ctx, "undrain", true) }

// drainOrNot makes a replica drain or serve again, and waits for it if requested.
func (c *call) drainOrNot(ctx context.Context, verb string, undo bool) error {
	d := draining{hub: c.hub, replica: wire.ReplicaID(c.args[0]), undo: undo}
	if text := c.flags.Last("wait"); text != "" {
		var err error
		if d.wait, err = command.ParseDuration(text); err != nil {
			return command.UsageErrors{fmt.Sprintf("flag --wait: %v; got %q", err, text)}
		}
	}
	if err := c.sendAction(ctx, http.MethodPost, c.path("replicas", c.args[0], verb), nil); err != nil || d.wait == 0 {
		return err
	}
	out := c.program.Stdout
	if c.json {
		out = c.program.Stderr
	}
	return d.await(ctx, out)
}

// confirm asks the user at a terminal to type the session id before an irreversible action.
// Without a terminal it requires --yes.
func (c *call) confirm(ctx context.Context, what string) error {
	if c.flags.Has("yes") {
		return nil
	}
	stdin := c.program.Input()
	if !terminal.IsTerminal(stdin) {
		return command.UsageErrors{"that " + what + "; without a terminal, confirm with --yes"}
	}
	fmt.Fprintf(c.program.Stderr, "That %s.\nType %s to do it: ", what, c.args[0])
	typed := make(chan string, 1)
	go func() { // ends with the process: a read of the terminal cannot be interrupted
		line, _ := bufio.NewReader(stdin).ReadString('\n') // at the end of input the line is incomplete
		typed <- line
	}()
	select {
	case line := <-typed:
		if strings.TrimSpace(line) != c.args[0] {
			return errors.New("that is something else; nothing was done")
		}
		return nil
	case <-ctx.Done():
		fmt.Fprintln(c.program.Stderr)
		return errors.New("nothing was done")
	}
}
