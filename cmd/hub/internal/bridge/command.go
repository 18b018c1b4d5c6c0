package bridge

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/cmd/hub/internal/remote"
	"github.com/everdesk/everdesk/wire"
)

// Command returns `hub mcp`.
func Command() command.Command {
	return command.Command{
		Name: "mcp", Args: "[flags] SESSION", Help: "let an MCP client use the tools of a session, over standard input and output",
		Flags: `--server URL       the hub; the local one by default
			--token TOKEN      your token, also as HUB_TOKEN
			--token-file FILE  an MCP token of the session, also as HUB_MCP_TOKEN; by default one is made
			--lease DURATION   how long the made token outlives this program if it is killed; 3m by default
			--name NAME        the name under which the session shows the calls; hub mcp by default
			--profile PROFILE  the tools: default, web, code, app, all or main; default by default
			--monitor ID       the monitor to act on; monitor-0 by default`,
		Run: run,
	}
}

func run(ctx context.Context, p command.Call) error {
	var wrong command.UsageErrors
	hub, flags, rest := remote.Parse(p, map[string]command.Arity{
		"token-file": command.Value, "name": command.Value, "profile": command.Value, "monitor": command.Value, "lease": command.Value,
	}, &wrong)
	if len(rest) == 0 {
		wrong.Add("say which session")
		return wrong.OrNil()
	}
	id := wire.SessionID(rest[0])
	if err := id.Validate(); err != nil {
		wrong.Add("session %q: %v", rest[0], err)
	}
	lease, err := time.ParseDuration(cmp.Or(flags.Last("lease"), defaultLease.String()))
	if err != nil || lease < minLease || lease > tokenLife {
		wrong.Add("--lease %s: want a duration from %v to %v", flags.Last("lease"), minLease, tokenLife)
	}
	wrong.Refuse(rest[1:])
	if err := wrong.OrNil(); err != nil {
		return err
	}
	tokens := &tokenSource{
		hub: hub, session: id, given: strings.TrimSpace(p.Env(command.MCPTokenVariable)),
		name: cmp.Or(flags.Last("name"), "hub mcp"), profile: flags.Last("profile"), monitor: flags.Last("monitor"), lease: lease,
	}
	if file := flags.Last("token-file"); file != "" {
		text, err := os.ReadFile(file) //nolint:gosec // the file that the user names
		if err != nil {
			return fmt.Errorf("read MCP token: %w", err)
		}
		tokens.given = strings.TrimSpace(string(text))
	}
	b := newBridge(hub.URL.JoinPath("mcp").String(), tokens, p.Stdout, p.Stderr)
	defer tokens.revoke(ctx, b.logf)
	return b.run(ctx, p.Input())
}
