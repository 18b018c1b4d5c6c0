package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/modes"
	"github.com/everdesk/everdesk/profiles"
	"github.com/everdesk/everdesk/secrets"
	"github.com/everdesk/everdesk/settings"
	"github.com/everdesk/everdesk/settingsfile"
	"github.com/everdesk/everdesk/wire"
)

// storeTimeout bounds reading the settings of a user from the store.
const storeTimeout = 30 * time.Second

// storedSettings reads the settings of `hub settings export --secrets`, which opens the store itself: a running
// hub gives no secrets away.
func storedSettings(p command.Call, args []string, wrong *command.UsageErrors) (func(ctx context.Context, user string) (settingsfile.Content, error), []string) {
	flags, rest := parseFlags(args, wrong)
	cfg, _ := load(flags, p.Environ, wrong)
	cfg.logging.level = max(cfg.logging.level, slog.LevelWarn)
	log := cfg.logging.logger(p.Stderr)
	return func(ctx context.Context, user string) (_ settingsfile.Content, err error) {
		ctx, cancel := context.WithTimeout(ctx, storeTimeout)
		defer cancel()
		store, err := cfg.store.open(ctx, log)
		if err != nil {
			return settingsfile.Content{}, err
		}
		defer func() { err = errors.Join(err, store.close()) }()
		values, err := openSettings(cfg, process{log: log}, store.documents)
		if err != nil {
			return settingsfile.Content{}, err
		}
		all, err := openSecrets(cfg, store.documents, func(context.Context, string, ...string) {})
		if err != nil {
			return settingsfile.Content{}, err
		}
		c, err := readContent(ctx, log, user, values, profiles.New(store.documents, profiles.Config{}), all)
		if err == nil {
			c.Modes, c.Approval, err = readModes(ctx, user, modes.New(store.documents, nil))
		}
		if err == nil && len(c.Settings)+len(c.Profiles)+len(c.Roles)+len(c.Secrets)+len(c.Modes) == 0 && c.Approval == nil {
			err = fmt.Errorf("the store has no settings of the user %q", user)
		}
		return c, err
	}, rest
}

// readModes reads the modes that a user has added or overridden, and the default auto-approval rules.
func readModes(ctx context.Context, user string, all *modes.Store) ([]modes.Mode, *wire.AutoApproval, error) {
	set, err := all.Read(ctx, user)
	if err != nil {
		return nil, nil, err
	}
	own := slices.DeleteFunc(set.Modes, func(m modes.Mode) bool { return m.Shipped && !m.Overridden })
	return own, set.Approval, nil
}

// readContent reads the settings, profiles, roles and secrets of a user. Secrets that cannot be read are left out.
func readContent(ctx context.Context, log *slog.Logger, user string, values *settings.Store, models *profiles.Store, all *secrets.Store) (settingsfile.Content, error) {
	c := settingsfile.Content{Settings: map[string]json.RawMessage{}, Secrets: map[string]secrets.Value{}}
	now, err := values.Read(ctx, settings.Subject{User: user})
	if err != nil {
		return c, err
	}
	for _, s := range now {
		if s.Source == settings.Source(settings.ScopeUser) {
			c.Settings[s.Setting.Name] = s.Value
		}
	}
	set, err := models.ReadStored(ctx, user)
	if err != nil {
		return c, err
	}
	c.Profiles, c.Roles = set.Profiles, set.Roles
	of := secrets.Owner{User: user}
	list, err := all.List(ctx, of)
	if err != nil {
		return c, err
	}
	for _, s := range list {
		v, err := all.Reveal(ctx, of, s.Name)
		if errors.Is(err, secrets.ErrUnreadable) {
			log.WarnContext(ctx, "secret cannot be read and is left out", "secret", s.Name, "err", err)
			continue
		}
		if err != nil {
			return c, fmt.Errorf("secret %s: %w", s.Name, err)
		}
		c.Secrets[s.Name] = v
	}
	return c, nil
}
