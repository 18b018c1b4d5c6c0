package preferences

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/cmd/hub/internal/terminal"
	"github.com/everdesk/everdesk/modes"
	"github.com/everdesk/everdesk/profiles"
	"github.com/everdesk/everdesk/secrets"
	"github.com/everdesk/everdesk/settingsfile"
	"github.com/everdesk/everdesk/wire"
)

// ReadStore parses the flags in args, and the environment, as settings of the hub. It returns what reads the
// settings of a user from the store of these settings, with the secrets, and the arguments that are not flags.
type ReadStore func(p command.Call, args []string, wrong *command.UsageErrors) (read func(ctx context.Context, user string) (settingsfile.Content, error), rest []string)

// secretList is the hub's answer about secrets.
type secretList struct {
	Secrets []struct {
		Name, LastFour, ChangedAt, Unreadable, Pinned string
		Set                                           bool
	}
	Refusal string
}

// modelProfile is a profile in the hub's answer.
type modelProfile struct {
	profiles.Profile
	Pinned string `json:"pinned"`
}

type profileList struct {
	Profiles []modelProfile           `json:"profiles"`
	Roles    map[profiles.Role]string `json:"roles"`
}

// exportSettings writes the settings of the user to a file.
func (c *call) exportSettings(ctx context.Context) error {
	var content settingsfile.Content
	var phrase string
	var err error
	if c.flags.Has("secrets") {
		if phrase, err = c.passphrase(c.flags.Last("passphrase-file")); err != nil {
			return err
		}
		content, err = c.readStore(ctx, c.flags.Last("user"))
	} else {
		content, err = c.content(ctx)
	}
	if err != nil {
		return fmt.Errorf("export settings: %w", err)
	}
	data, err := settingsfile.Encode(content, settingsfile.Passphrase{Text: phrase}, time.Now())
	if err != nil {
		return fmt.Errorf("export settings: %w", err)
	}
	if out := c.flags.Last("out"); out == "" || out == "-" {
		_, err = c.Stdout.Write(data)
	} else {
		err = writeNew(out, data, c.flags.Has("force"))
	}
	if err != nil {
		return fmt.Errorf("export settings: %w", err)
	}
	if phrase == "" {
		for _, name := range slices.Sorted(maps.Keys(content.Secrets)) {
			fmt.Fprintf(c.Stderr, "left out  secrets.%s: the hub gives no secret away; see hub help settings, --secrets\n", terminal.OneLine(name))
		}
	}
	return nil
}

// writeNew writes a file that only its owner can read, in one step. It replaces an existing one only with force.
func writeNew(name string, data []byte, force bool) (err error) {
	if _, err := os.Lstat(name); err == nil && !force {
		return fmt.Errorf("%s: %w; --force replaces it", name, fs.ErrExist)
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".settings-*") // with mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// content reads the settings of the user from the hub, and the names of the secrets.
func (c *call) content(ctx context.Context) (settingsfile.Content, error) {
	content := settingsfile.Content{Settings: map[string]json.RawMessage{}, Secrets: map[string]secrets.Value{}}
	v, _, err := c.read(ctx)
	if err != nil {
		return content, err
	}
	for _, s := range v.Settings {
		if s.Source == "user" {
			content.Settings[s.Name] = s.Value
		}
	}
	list, err := c.modelProfiles(ctx)
	if err != nil {
		return content, err
	}
	for _, p := range list.Profiles {
		if p.Pinned == "" {
			content.Profiles = append(content.Profiles, p.Profile)
		}
	}
	content.Roles = list.Roles
	if content.Modes, content.Approval, err = c.ownModes(ctx); err != nil {
		return content, err
	}
	var all secretList
	if err := c.hub.Ask(ctx, http.MethodGet, c.target("secrets"), nil, &all); err != nil {
		return content, fmt.Errorf("list secrets: %w", err)
	}
	for _, s := range all.Secrets {
		if s.Set {
			content.Secrets[s.Name] = secrets.Value{}
		}
	}
	return content, nil
}

// modeList is the hub's answer about modes.
type modeList struct {
	Modes []struct {
		modes.Mode
		Shipped    bool `json:"shipped"`
		Overridden bool `json:"overridden"`
	} `json:"modes"`
}

func (c *call) modes(ctx context.Context) (list modeList, err error) {
	if err := c.hub.Ask(ctx, http.MethodGet, c.target("modes"), nil, &list); err != nil {
		return list, fmt.Errorf("list modes: %w", err)
	}
	return list, nil
}

// ownModes returns the modes that the user has added or overridden, and the default auto-approval rules.
func (c *call) ownModes(ctx context.Context) (own []modes.Mode, rules *wire.AutoApproval, err error) {
	list, err := c.modes(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, m := range list.Modes {
		if !m.Shipped || m.Overridden {
			own = append(own, m.Mode)
		}
	}
	var approval struct {
		Rules wire.AutoApproval `json:"rules"`
		IsSet bool              `json:"isSet"`
	}
	if err := c.hub.Ask(ctx, http.MethodGet, c.target("auto-approval"), nil, &approval); err != nil {
		return nil, nil, fmt.Errorf("read the default of auto-approval: %w", err)
	}
	if approval.IsSet {
		rules = &approval.Rules
	}
	return own, rules, nil
}

func (c *call) modelProfiles(ctx context.Context) (list profileList, err error) {
	if err := c.hub.Ask(ctx, http.MethodGet, c.target("model-profiles"), nil, &list); err != nil {
		return list, fmt.Errorf("list model profiles: %w", err)
	}
	return list, nil
}

// readFile reads a settings file, or standard input for -.
func (c *call) readFile(name string) ([]byte, error) {
	if name == "-" {
		var data bytes.Buffer
		_, err := data.ReadFrom(limited(c.Input()))
		return data.Bytes(), err
	}
	f, err := os.Open(name) //nolint:gosec // the caller's own file
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	var data bytes.Buffer
	_, err = data.ReadFrom(limited(f))
	return data.Bytes(), err
}

// checkFileFlags adds what is wrong with the flags of export and import.
func (c *call) checkFileFlags(verb string, wrong *command.UsageErrors) {
	allowed := map[string][]string{
		"out": {"export"}, "force": {"export"}, "secrets": {"export"}, "user": {"export"}, "passphrase-file": {"export", "import"},
		"dry-run": {"import"}, "session": {"import"},
	}
	for _, name := range slices.Sorted(maps.Keys(allowed)) {
		if c.flags.Has(name) && !slices.Contains(allowed[name], verb) {
			wrong.Add("flag --%s: it is for %s", name, strings.Join(allowed[name], " and "))
		}
	}
	switch {
	case verb != "export" && verb != "import":
	case c.scope == "hub":
		wrong.Add("flag --scope: %s is for the settings of a user", verb)
	case verb == "export" && c.flags.Has("secrets") && c.flags.Last("user") == "":
		wrong.Add("flag --user: say whose secrets to export; local is the user of a hub without accounts")
	case verb == "export" && c.flags.Has("secrets") && c.flags.Has("server"):
		wrong.Add("flag --secrets: no hub gives secrets away; run it where the store and the key of the hub are")
	case verb == "export" && !c.flags.Has("secrets") && (c.flags.Has("user") || c.flags.Has("passphrase-file")):
		wrong.Add("flags --user and --passphrase-file: they are for --secrets")
	}
}
