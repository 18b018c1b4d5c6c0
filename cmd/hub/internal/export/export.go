package export

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/cmd/hub/internal/remote"
	"github.com/everdesk/everdesk/sessionfile"
	"github.com/everdesk/everdesk/wire"
)

// logTimeout is the timeout of transferring a session file.
const logTimeout = 10 * time.Minute

// Command returns `hub export`, which writes a session to a file.
func Command() command.Command {
	return command.Command{
		Name: "export", Args: "[flags] SESSION", Help: "write a session to a file: conversations, desktop, files; not a running plan",
		Flags: `--server URL      the hub; the local one by default
			--token TOKEN     your token, also as HUB_TOKEN
			--out FILE        the file; SESSION.zip by default, - for standard output
			--force           replace an existing file
			--checkpoints     with the checkpoints of the session's files
			--with-workspaces with these, and with those of its workspaces`,
		Run: exportSession,
	}
}

// ImportCommand returns `hub import`, which creates a session from a file.
func ImportCommand() command.Command {
	return command.Command{
		Name: "import", Args: "[flags] FILE|FOLDER", Help: "create a session from an exported file, or sessions from tasks of Roo-Code, and print ids",
		Flags: `--server URL      the hub; the local one by default
			--token TOKEN     your token, also as HUB_TOKEN
			--policy POLICY   full, main_and_selected_windows or summarize_old_windows
			--window ID       a window to restore; may be repeated
			--title TITLE     title of the session; that of the file by default
			--no-checkpoints  without the checkpoints that the file has`,
		Run: importSession,
	}
}

func exportSession(ctx context.Context, p command.Call) error {
	var wrong command.UsageErrors
	hub, flags, rest := remote.Parse(p, map[string]command.Arity{"out": command.Value, "force": command.NoValue, "checkpoints": command.NoValue, "with-workspaces": command.NoValue}, &wrong)
	if len(rest) == 0 {
		wrong.Add("say which session")
		return wrong.OrNil()
	}
	id := wire.SessionID(rest[0])
	if err := id.Validate(); err != nil {
		wrong.Add("session %q: %v", rest[0], err)
	}
	wrong.Refuse(rest[1:])
	if err := wrong.OrNil(); err != nil {
		return err
	}
	name := cmp.Or(flags.Last("out"), string(id)+".zip")
	if _, err := os.Lstat(name); err == nil && name != "-" && !flags.Has("force") {
		return fmt.Errorf("export %s: %s is there already; --force replaces it", id, name)
	}
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	from := hub.URL.JoinPath("api", "sessions", string(id), "export")
	switch {
	case flags.Has("with-workspaces"):
		from.RawQuery = "checkpoints=workspaces"
	case flags.Has("checkpoints"):
		from.RawQuery = "checkpoints=true"
	}
	res, err := hub.Transfer(ctx, http.MethodGet, from, nil, 0)
	if err != nil {
		return fmt.Errorf("export %s: %w", id, err)
	}
	defer res.Body.Close()
	if name == "-" {
		_, err := io.Copy(p.Stdout, res.Body)
		return err
	}
	size, err := saveWhole(name, res.Body)
	if err != nil {
		return fmt.Errorf("export %s: %w", id, err)
	}
	fmt.Fprintf(p.Stdout, "%s: %d bytes\n", name, size)
	return nil
}

// saveWhole writes a file atomically: to a temporary file in the same folder, which it renames.
func saveWhole(name string, from io.Reader) (size int64, err error) {
	f, err := os.CreateTemp(filepath.Dir(name), ".export-*")
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	size, err = io.Copy(f, from)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return 0, err
	}
	return size, os.Rename(f.Name(), name)
}

func importSession(ctx context.Context, p command.Call) error {
	var wrong command.UsageErrors
	hub, flags, rest := remote.Parse(p, map[string]command.Arity{"policy": command.Value, "window": command.Value, "title": command.Value, "no-checkpoints": command.NoValue}, &wrong)
	if len(rest) == 0 {
		wrong.Add("say which file")
		return wrong.OrNil()
	}
	wrong.Refuse(rest[1:])
	policy := sessionfile.Policy{Kind: sessionfile.PolicyKind(flags.Last("policy"))}
	for _, id := range flags["window"] {
		policy.Windows = append(policy.Windows, wire.WindowID(id))
	}
	if err := policy.Check(); err != nil {
		wrong.Add("%v", err)
	}
	if err := wrong.OrNil(); err != nil {
		return err
	}
	f, err := os.Open(rest[0])
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	defer func() { _ = f.Close() }() // opened for reading only
	about, err := f.Stat()
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	if about.IsDir() {
		if len(flags["policy"])+len(flags["window"])+len(flags["title"]) > 0 {
			wrong.Add("--policy, --window and --title are for exported files, and %s is a folder", rest[0])
			return wrong.OrNil()
		}
		return importTasks(ctx, p, hub, rest[0])
	}
	q := url.Values{}
	for _, name := range []string{"policy", "title"} {
		if v := flags.Last(name); v != "" {
			q.Set(name, v)
		}
	}
	q["window"] = flags["window"]
	if flags.Has("no-checkpoints") {
		q.Set("checkpoints", "false")
	}
	id, err := upload(ctx, hub, f, about.Size(), q)
	if err != nil {
		return fmt.Errorf("import %s: %w", rest[0], err)
	}
	fmt.Fprintln(p.Stdout, id)
	return nil
}

// upload sends a session file to the hub and returns the session that it became.
func upload(ctx context.Context, hub *remote.Hub, f io.Reader, size int64, q url.Values) (wire.SessionID, error) {
	target := hub.URL.JoinPath("api", "sessions", "import")
	target.RawQuery = q.Encode()
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	res, err := hub.Transfer(ctx, http.MethodPost, target, f, size)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	var made struct {
		SessionID wire.SessionID `json:"sessionId"`
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(&made); err != nil || made.SessionID.Validate() != nil {
		return "", fmt.Errorf("%s did not answer like a hub", hub.URL.Host)
	}
	return made.SessionID, nil
}
