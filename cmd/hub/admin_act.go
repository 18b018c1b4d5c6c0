package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/everdesk/everdesk/audit"
	"github.com/everdesk/everdesk/wire"
)

// sendAction sends an admin action with a new idempotency key. If the answer is lost, or is
// 503, it sends the action once more with the same key, so that the hub executes it once.
func (r *remote) sendAction(ctx context.Context, method string, target *url.URL, in map[string]string, out any) error {
	r.key = "adm-" + rand.Text()
	err := r.ask(ctx, method, target, in, out)
	if no, ok := errors.AsType[*refusedError](err); err != nil && ctx.Err() == nil && (!ok || no.status == http.StatusServiceUnavailable) {
		err = r.ask(ctx, method, target, in, out)
	}
	return err
}

// act sends an action and prints its record in the audit log. Empty members of in are left
// out.
func (c *adminCall) act(ctx context.Context, method string, target *url.URL, in map[string]string) error {
	body := map[string]string{"reason": c.reason}
	for name, text := range in {
		if text != "" {
			body[name] = text
		}
	}
	var raw json.RawMessage
	if err := c.sendAction(ctx, method, target, body, &raw); err != nil {
		return forAdmins(err)
	}
	if c.json {
		_, err := fmt.Fprintf(c.stdout, "%s\n", raw)
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
	_, err := fmt.Fprintf(c.stdout, "%s of %s is %s as %s.\n", oneLine(card.Action), oneLine(card.Target), how, oneLine(card.ID))
	if err == nil && card.Detail != "" {
		_, err = fmt.Fprintf(c.stdout, "%s\n", oneLine(card.Detail))
	}
	return err
}

func (c *adminCall) interrupt(ctx context.Context) error {
	return c.act(ctx, http.MethodPost, c.session("interrupt"), map[string]string{"agentId": c.own.last("agent"), "monitorId": c.own.last("monitor")})
}

func (c *adminCall) cancel(ctx context.Context) error {
	return c.act(ctx, http.MethodPost, c.session("messages", c.args[1], "cancel"), nil)
}

func (c *adminCall) closeTab(ctx context.Context) error {
	return c.act(ctx, http.MethodPost, c.session("tabs", c.args[1], "close"), nil)
}

func (c *adminCall) handOver(ctx context.Context) error {
	return c.act(ctx, http.MethodPost, c.session("handover"), map[string]string{"to": c.own.last("to")})
}

func (c *adminCall) release(ctx context.Context) error {
	return c.act(ctx, http.MethodPost, c.session("release"), nil)
}

func (c *adminCall) reset(ctx context.Context) error {
	if err := c.confirm(ctx, "closes all windows of the session and forgets its conversations"); err != nil {
		return err
	}
	return c.act(ctx, http.MethodPost, c.session("reset"), nil)
}

func (c *adminCall) remove(ctx context.Context) error {
	if err := c.confirm(ctx, "deletes the session with everything in it"); err != nil {
		return err
	}
	return c.act(ctx, http.MethodDelete, c.session(), nil)
}

func (c *adminCall) drain(ctx context.Context) error { return c.drainOrNot(ctx, "drain", false) }

func (c *adminCall) undrain(ctx context.Context) error { return c.drainOrNot(ctx, "undrain", true) }

// drainOrNot makes a replica drain or serve again, and waits for it if requested.
func (c *adminCall) drainOrNot(ctx context.Context, verb string, undo bool) error {
	d := draining{remote: c.remote, replica: wire.ReplicaID(c.args[0]), undo: undo}
	if text := c.own.last("wait"); text != "" {
		var err error
		if d.wait, err = parseDuration(text); err != nil {
			return complaints{fmt.Sprintf("flag --wait: %v; got %q", err, text)}
		}
	}
	if err := c.act(ctx, http.MethodPost, c.path("replicas", c.args[0], verb), nil); err != nil || d.wait == 0 {
		return err
	}
	p := c.program
	if c.json {
		p.stdout = p.stderr
	}
	return d.await(ctx, p)
}

// confirm asks the user at a terminal to type the session id before an irreversible action.
// Without a terminal it requires --yes.
func (c *adminCall) confirm(ctx context.Context, what string) error {
	if c.own.has("yes") {
		return nil
	}
	var stdin io.Reader = os.Stdin
	if c.stdin != nil {
		stdin = c.stdin
	}
	if !isTerminal(stdin) {
		return complaints{"that " + what + "; say --yes where nobody can be asked"}
	}
	fmt.Fprintf(c.stderr, "That %s.\nType %s to do it: ", what, c.args[0])
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
		fmt.Fprintln(c.stderr)
		return errors.New("nothing was done")
	}
}
