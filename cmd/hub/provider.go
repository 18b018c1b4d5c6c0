package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/anthropic"
	"github.com/everdesk/everdesk/providers/demo"
)

// demoPace makes the demo's answers look typed.
const demoPace = 15 * time.Millisecond

// backend is a provider that may be there.
type backend struct {
	name string
	// why says why it is there, or is not.
	why string
	// make is nil when it is not there.
	make func() (providers.Provider, error)
}

// backends are all that this hub knows. Those without a key are not there.
func backends(ctx context.Context, c agentConfig, log *slog.Logger) []backend {
	var all []backend
	if m := c.anthropic; m.key != "" {
		all = append(all, backend{"anthropic", "there is a key for it", func() (providers.Provider, error) {
			return anthropic.New(anthropic.Config{BaseURL: m.url, Key: m.key, Model: m.model, Logger: log})
		}})
	} else {
		all = append(all, backend{name: "anthropic", why: "there is no key: set ANTHROPIC_API_KEY or --anthropic-key"})
	}
	return append(all, backend{"demo", "there is no key of a model and no local Ollama", func() (providers.Provider, error) {
		return demo.New(demo.Config{Pace: demoPace}), nil
	}})
}

// employ opens the providers there are and chooses the one that thinks in new
// sessions. It also says why that one.
func employ(ctx context.Context, c agentConfig, log *slog.Logger) (*providers.Table, string, error) {
	var there []providers.Provider
	chosen, why := "", ""
	for _, b := range backends(ctx, c, log) {
		if b.make == nil {
			if b.name == c.provider {
				return nil, "", fmt.Errorf("--provider %s: %s", b.name, b.why)
			}
			continue
		}
		p, err := b.make()
		if err != nil {
			return nil, "", fmt.Errorf("provider %s: %w", b.name, err)
		}
		there = append(there, p)
		switch {
		case c.provider == b.name:
			chosen, why = b.name, "it was asked for"
		case c.provider == "auto" && chosen == "":
			chosen, why = b.name, b.why
		}
	}
	table, err := providers.NewTable(providers.TableConfig{Default: chosen, Size: c.warm, Logger: log}, there...)
	return table, why, err
}
