package settingsfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/everdesk/everdesk/modes"
	"github.com/everdesk/everdesk/profiles"
	"github.com/everdesk/everdesk/secrets"
	"github.com/everdesk/everdesk/wire"
)

// Format and Version identify the files that this package writes.
const (
	Format  = "everdesk-settings"
	Version = 1
)

// MaxBytes bounds a file.
const MaxBytes = 4 << 20

// ErrFormat means that a file is no settings file.
var ErrFormat = errors.New("want a settings file of Everdesk or Roo-Code")

// Content is what a file holds.
type Content struct {
	// Settings are the values that the user has set, by name.
	Settings map[string]json.RawMessage
	Profiles []profiles.Profile
	// Roles are the default profiles of roles, by id.
	Roles map[profiles.Role]string
	// Modes are the modes that the user has added or overridden, and Approval the auto-approval rules of
	// sessions without rules of their own; nil if there are none.
	Modes    []modes.Mode
	Approval *wire.AutoApproval
	// Secrets are the secrets by name. A file without a passphrase has only their names.
	Secrets map[string]secrets.Value
}

// file is the JSON form of [Content].
type file struct {
	Format     string                     `json:"format"`
	Version    int                        `json:"version"`
	ExportedAt time.Time                  `json:"exportedAt"`
	Settings   map[string]json.RawMessage `json:"settings"`
	Profiles   []profiles.Profile         `json:"modelProfiles"`
	Roles      map[profiles.Role]string   `json:"roles"`
	Modes      []modes.Mode               `json:"modes"`
	Approval   *wire.AutoApproval         `json:"autoApproval,omitempty"`
	Secrets    *fileSecrets               `json:"secrets,omitempty"`
}

type fileSecrets struct {
	Names  []string `json:"names"`
	Sealed string   `json:"sealed,omitempty"`
}

// Encode returns a file. Without a passphrase it has the names of the secrets only.
func Encode(c Content, passphrase Passphrase, at time.Time) ([]byte, error) {
	f := file{
		Format: Format, Version: Version, ExportedAt: at.UTC().Truncate(time.Second),
		Settings: c.Settings, Profiles: c.Profiles, Roles: c.Roles, Modes: c.Modes, Approval: c.Approval,
	}
	if f.Settings == nil {
		f.Settings = map[string]json.RawMessage{}
	}
	if f.Profiles == nil {
		f.Profiles = []profiles.Profile{}
	}
	if f.Roles == nil {
		f.Roles = map[profiles.Role]string{}
	}
	if f.Modes == nil {
		f.Modes = []modes.Mode{}
	}
	if len(c.Secrets) > 0 {
		f.Secrets = &fileSecrets{Names: slices.Sorted(maps.Keys(c.Secrets))}
		if passphrase.Text != "" {
			sealed, err := seal(c.Secrets, passphrase)
			if err != nil {
				return nil, fmt.Errorf("encrypt the secrets: %w", err)
			}
			f.Secrets.Sealed = sealed
		}
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(f); err != nil {
		return nil, fmt.Errorf("encode the settings: %w", err)
	}
	return out.Bytes(), nil
}
