package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/everdesk/everdesk/secrets"
	"github.com/everdesk/everdesk/settings"
)

// secretKeyFile is the file in the folder of a file store with the keys that encrypt secrets, unless
// the settings name other keys.
const secretKeyFile = "secret.key"

// keyring returns the keys that encrypt secrets.
func (c config) keyring() (*secrets.Keyring, error) {
	switch {
	case c.secretKey != "" && c.secretKeyFile != "":
		return nil, errors.New("want either HUB_SECRET_KEY or --secret-key-file")
	case c.secretKey != "":
		ring, err := secrets.ParseKeys(c.secretKey)
		if err != nil {
			return nil, fmt.Errorf("HUB_SECRET_KEY: %w", err)
		}
		return ring, nil
	case c.secretKeyFile != "":
		return secrets.ReadKeyFile(c.secretKeyFile)
	case c.store.kind == fileStore:
		return secrets.OwnKeyFile(filepath.Join(c.store.folder, secretKeyFile))
	}
	return secrets.NoKeys(), nil
}

// openSecrets returns the secrets of users and of the hub. It calls changed after some of an owner have
// changed; user is empty for those of the hub.
func openSecrets(cfg config, docs secrets.Documents, changed func(ctx context.Context, user string, names ...string)) (*secrets.Store, error) {
	ring, err := cfg.keyring()
	if err != nil {
		return nil, err
	}
	return secrets.New(docs, ring, func(ctx context.Context, of secrets.Owner, names []string) {
		changed(ctx, of.User, names...)
	}), nil
}

// providerKey is a key of a provider that may come from a flag or from the secrets of the hub.
type providerKey struct {
	model        *modelConfig
	flag, secret string
}

// keys returns the keys of the providers.
func (c *agentConfig) keys() []providerKey {
	return []providerKey{
		{&c.anthropic, "anthropic-key", settings.SecretAnthropicKey},
		{&c.openai, "openai-key", settings.SecretOpenAIKey},
	}
}

// withSecrets returns the settings of agents with the keys that the secrets of the hub have, where no
// flag sets them. A secret that cannot be read counts as absent.
func (c agentConfig) withSecrets(ctx context.Context, p process, from *secrets.Store) (agentConfig, error) {
	for _, k := range c.keys() {
		if k.model.key != "" {
			continue
		}
		v, err := from.Reveal(ctx, secrets.Owner{}, k.secret)
		switch {
		case err == nil:
			k.model.stored = v.Reveal()
		case errors.Is(err, secrets.ErrUnreadable):
			p.log.WarnContext(ctx, "secret cannot be read, its provider is not available", "secret", k.secret, "err", err)
		case !errors.Is(err, secrets.ErrNotSet):
			return c, err
		}
	}
	return c, nil
}
