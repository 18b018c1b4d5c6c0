package states

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/cmd/hub/internal/remote"
	"github.com/everdesk/everdesk/cmd/hub/internal/terminal"
	"github.com/everdesk/everdesk/wire"
)

const serverFlags = `--server URL      the hub; the local one by default
			--token TOKEN     your token, also as HUB_TOKEN`

// Command returns `hub checkpoints`, which lists the checkpoints of a session or switches them.
func Command() command.Command {
	return command.Command{
		Name: "checkpoints", Args: "[flags] SESSION [on|off]", Help: "list the checkpoints of a session's files, or switch them on or off",
		Flags: serverFlags, Run: list,
	}
}

// DiffCommand returns `hub diff`, which compares checkpoints.
func DiffCommand() command.Command {
	return command.Command{
		Name: "diff", Args: "[flags] SESSION FROM [TO]", Help: "compare a checkpoint with another one, or with the present files",
		Flags: serverFlags + `
			--file PATH       show the difference of this file`,
		Run: diff,
	}
}

// RestoreCommand returns `hub restore`, which restores a checkpoint.
func RestoreCommand() command.Command {
	return command.Command{
		Name: "restore", Args: "[flags] SESSION CHECKPOINT", Help: "restore the files and windows of a checkpoint, and print how to undo it",
		Flags: serverFlags, Run: restore,
	}
}

// parse reads the arguments that all commands have in common: a session, and between least and most
// others.
func parse(p command.Call, own map[string]command.Arity, least, most int, want string) (*remote.Hub, command.Flags, wire.SessionID, []string, error) {
	var wrong command.UsageErrors
	hub, flags, rest := remote.Parse(p, own, &wrong)
	if len(rest) < 1+least {
		wrong.Add("%s", want)
		return nil, nil, "", nil, wrong.OrNil()
	}
	id := wire.SessionID(rest[0])
	if err := id.Validate(); err != nil {
		wrong.Add("session %q: %v", rest[0], err)
	}
	rest = rest[1:]
	if len(rest) > most {
		wrong.Refuse(rest[most:])
	}
	return hub, flags, id, rest, wrong.OrNil()
}

func path(hub *remote.Hub, id wire.SessionID, more ...string) *url.URL {
	return hub.URL.JoinPath(append([]string{"api", "sessions", string(id), "checkpoints"}, more...)...)
}

func list(ctx context.Context, p command.Call) error {
	hub, _, id, rest, err := parse(p, nil, 0, 1, "say which session")
	if err != nil {
		return err
	}
	if len(rest) == 1 {
		return set(ctx, p, hub, id, rest[0])
	}
	var got struct {
		Available   bool   `json:"available"`
		Reason      string `json:"reason"`
		Checkpoints []struct {
			Hash    string `json:"hash"`
			Number  int    `json:"number"`
			SavedAt string `json:"savedAt"`
			Reason  string `json:"reason"`
		} `json:"checkpoints"`
	}
	if err := hub.Ask(ctx, http.MethodGet, path(hub, id), nil, &got); err != nil {
		return fmt.Errorf("checkpoints of %s: %w", id, err)
	}
	if !got.Available {
		return fmt.Errorf("checkpoints of %s: %s", id, terminal.OneLine(got.Reason))
	}
	for _, c := range got.Checkpoints {
		fmt.Fprintf(p.Stdout, "%4d  %.12s  %s  %s\n", c.Number, terminal.OneLine(c.Hash), terminal.OneLine(c.SavedAt), terminal.OneLine(c.Reason))
	}
	return nil
}

func set(ctx context.Context, p command.Call, hub *remote.Hub, id wire.SessionID, state string) error {
	if state != "on" && state != "off" {
		var wrong command.UsageErrors
		wrong.Add("%q: want on or off", state)
		return wrong.OrNil()
	}
	if err := hub.Ask(ctx, http.MethodPut, path(hub, id), map[string]bool{"enabled": state == "on"}, nil); err != nil {
		return fmt.Errorf("checkpoints of %s: %w", id, err)
	}
	fmt.Fprintf(p.Stdout, "checkpoints of %s are %s\n", id, state)
	return nil
}

func diff(ctx context.Context, p command.Call) error {
	hub, flags, id, rest, err := parse(p, map[string]command.Arity{"file": command.Value}, 1, 2, "say which session and which checkpoint")
	if err != nil {
		return err
	}
	q := url.Values{"from": {rest[0]}}
	if len(rest) == 2 {
		q.Set("to", rest[1])
	}
	if file := flags.Last("file"); file != "" {
		q.Set("path", file)
	}
	target := path(hub, id, "diff")
	target.RawQuery = q.Encode()
	var got struct {
		Files []struct {
			Path    string `json:"path"`
			Kind    string `json:"kind"`
			Added   int    `json:"added"`
			Removed int    `json:"removed"`
			Binary  bool   `json:"binary"`
		} `json:"files"`
		Patch string `json:"patch"`
		Cut   bool   `json:"cut"`
	}
	if err := hub.Ask(ctx, http.MethodGet, target, nil, &got); err != nil {
		return fmt.Errorf("compare checkpoints of %s: %w", id, err)
	}
	if flags.Last("file") != "" {
		fmt.Fprint(p.Stdout, terminal.Plain(got.Patch))
		if got.Cut {
			fmt.Fprintln(p.Stdout, "… the rest is left out")
		}
		return nil
	}
	for _, f := range got.Files {
		lines := fmt.Sprintf("+%d -%d", f.Added, f.Removed)
		if f.Binary {
			lines = "binary"
		}
		fmt.Fprintf(p.Stdout, "%-8s %-12s %s\n", f.Kind, lines, terminal.OneLine(f.Path))
	}
	return nil
}

func restore(ctx context.Context, p command.Call) error {
	hub, _, id, rest, err := parse(p, nil, 1, 1, "say which session and which checkpoint")
	if err != nil {
		return err
	}
	var done struct {
		Hash    string `json:"hash"`
		Safety  string `json:"safety"`
		Files   int    `json:"files"`
		Windows int    `json:"windows"`
	}
	if err := hub.Ask(ctx, http.MethodPost, path(hub, id, "restore"), map[string]string{"hash": rest[0]}, &done); err != nil {
		return fmt.Errorf("restore %s of %s: %w", rest[0], id, err)
	}
	fmt.Fprintf(p.Stdout, "restored %.12s: %d files and %d windows changed\nundo: hub restore %s %.12s\n",
		terminal.OneLine(done.Hash), done.Files, done.Windows, id, terminal.OneLine(done.Safety))
	return nil
}
