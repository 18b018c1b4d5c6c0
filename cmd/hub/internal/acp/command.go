package acp

import (
	"context"

	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/cmd/hub/internal/remote"
	"github.com/everdesk/everdesk/wire"
)

// Command returns `hub acp`. Version is that of the program.
func Command(version string) command.Command {
	return command.Command{
		Name: "acp", Args: "[flags]", Help: "let an editor use sessions over the Agent Client Protocol, on standard input and output",
		Flags: `--server URL    the hub; the local one by default
			--token TOKEN   your token, also as HUB_TOKEN
			--session NAME  open your session of this name for new conversations, instead of a new session for each`,
		Run: func(ctx context.Context, p command.Call) error {
			var wrong command.UsageErrors
			hub, flags, rest := remote.Parse(p, map[string]command.Arity{"session": command.Value}, &wrong)
			name := wire.SessionID(flags.Last("session"))
			if name == "new" {
				name = ""
			}
			if name != "" && name.Validate() != nil {
				wrong.Add("--session %q: %v", name, name.Validate())
			}
			wrong.Refuse(rest)
			if err := wrong.OrNil(); err != nil {
				return err
			}
			return newServer(hub, name, version, p.Stdout, p.Stderr).run(ctx, p.Input())
		},
	}
}
