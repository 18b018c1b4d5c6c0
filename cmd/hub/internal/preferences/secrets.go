package preferences

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"text/tabwriter"

	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/cmd/hub/internal/terminal"
)

// SecretsCommand returns `hub secrets`.
func SecretsCommand() command.Command {
	return command.Command{
		Name: "secrets", Args: "[list|set NAME|unset NAME|rotate] [flags]",
		Help: "list and set secrets, such as keys of models; set reads standard input",
		Flags: `--scope SCOPE     user for yourself, the default, or hub for all users
			--json            the JSON answer of the hub
			--server URL      the hub; the local one by default
			--token TOKEN     your token, also as HUB_TOKEN`,
		Run: runSecrets,
	}
}

// secretVerbs holds the number of arguments of each verb.
func secretVerbs() map[string]int {
	return map[string]int{"list": 0, "set": 1, "unset": 1, "rotate": 0}
}

func runSecrets(ctx context.Context, p command.Call) error {
	var wrong command.UsageErrors
	c, args := parse(p, nil, &wrong)
	verb := "list"
	if len(args) > 0 {
		verb, args = args[0], args[1:]
	}
	n, ok := secretVerbs()[verb]
	switch {
	case !ok:
		wrong.Add("unknown verb %q; want list, set, unset or rotate", verb)
	case verb == "set" && len(args) > 1: // other users can see the arguments of a process
		wrong.Add("set: want only the name; the secret itself is read from standard input")
	case len(args) != n:
		wrong.Add("%s: want %d arguments, got %d", verb, n, len(args))
	}
	if err := wrong.OrNil(); err != nil {
		return err
	}
	switch verb {
	case "set":
		return c.setSecret(ctx, args[0])
	case "unset":
		if err := c.hub.Ask(ctx, http.MethodDelete, c.target("secrets", args[0]), nil, nil); err != nil {
			return fmt.Errorf("remove %s: %w", args[0], err)
		}
		return nil
	case "rotate":
		return c.rotate(ctx)
	}
	return c.listSecrets(ctx)
}

// maxSecret bounds what is read of standard input.
const maxSecret = 16 << 10

// setSecret reads a secret from the first line of standard input and stores it.
func (c *call) setSecret(ctx context.Context, name string) error {
	restore := c.promptHidden("Type the secret " + name)
	text, err := bufio.NewReader(io.LimitReader(c.Input(), maxSecret)).ReadString('\n')
	restore()
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the secret: %w", err)
	}
	text = strings.TrimSpace(text)
	if text == "" {
		return errors.New("standard input has no secret")
	}
	if err := c.hub.Ask(ctx, http.MethodPut, c.target("secrets", name), map[string]string{"value": text}, nil); err != nil {
		return fmt.Errorf("set %s: %w", name, err)
	}
	return nil
}

func (c *call) listSecrets(ctx context.Context) error {
	var raw json.RawMessage
	if err := c.hub.Ask(ctx, http.MethodGet, c.target("secrets"), nil, &raw); err != nil {
		return fmt.Errorf("list secrets: %w", err)
	}
	if c.asJSON {
		_, err := fmt.Fprintf(c.Stdout, "%s\n", raw)
		return err
	}
	var list secretList
	if err := json.Unmarshal(raw, &list); err != nil {
		return fmt.Errorf("%s did not answer like a hub", c.hub.URL.Host)
	}
	out := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "NAME\tSTATE\tCHANGED")
	for _, s := range list.Secrets {
		state := "not set"
		switch {
		case s.Pinned != "":
			state = "pinned: " + s.Pinned
		case s.Unreadable != "":
			state = "cannot be read: " + s.Unreadable
		case s.Set:
			state = strings.TrimSpace("set " + strings.Repeat("…", min(len(s.LastFour), 1)) + s.LastFour)
		}
		fmt.Fprintf(out, "%s\t%s\t%s\n", terminal.OneLine(s.Name), terminal.OneLine(state), terminal.OneLine(s.ChangedAt))
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if list.Refusal != "" {
		fmt.Fprintln(c.Stderr, terminal.OneLine(list.Refusal))
	}
	return nil
}

func (c *call) rotate(ctx context.Context) error {
	var done struct {
		Sealed, Unreadable int
		Key                string
	}
	if err := c.hub.Ask(ctx, http.MethodPost, c.hub.URL.JoinPath("api", "secrets", "rotate"), nil, &done); err != nil {
		return fmt.Errorf("rotate secrets: %w", err)
	}
	_, err := fmt.Fprintf(c.Stdout, "%d secrets encrypted with the key %s, %d cannot be read\n", done.Sealed, terminal.OneLine(done.Key), done.Unreadable)
	return err
}
