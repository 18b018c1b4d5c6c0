package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/anthropic"
	"github.com/everdesk/everdesk/providers/demo"
	"github.com/everdesk/everdesk/providers/openai"
	"github.com/everdesk/everdesk/providers/prices"
)

// demoPace is the delay between pieces of the demo's text, so that it looks typed.
const demoPace = 15 * time.Millisecond

// ollamaProbe is the timeout for probing a local Ollama. A running one answers within
// milliseconds, and its absence must not delay the start.
const ollamaProbe = 300 * time.Millisecond

// backend is a provider that may be available.
type backend struct {
	name string
	// why says why it is available or not.
	why string
	// make is nil if it is not available.
	make func() (providers.Provider, error)
}

// allBackends returns all known providers, in the order in which auto chooses them.
func allBackends(ctx context.Context, c agentConfig, log *slog.Logger) []backend {
	ollama := findOllama(ctx, c, log)
	models := []backend{findAnthropic(c, log), findOpenAI(c, log), ollama, {
		"demo", "no key of a model is set, and " + ollama.why,
		func() (providers.Provider, error) { return demo.New(demo.Config{Pace: demoPace}), nil },
	}}
	return append(models, programs(c, log)...) // auto chooses none of these, because demo is always there
}

func findAnthropic(c agentConfig, log *slog.Logger) backend {
	m, key := c.anthropic, c.anthropic.effectiveKey()
	if key == "" {
		return backend{name: anthropic.Name, why: "no key is set: ANTHROPIC_API_KEY or --anthropic-key"}
	}
	return backend{anthropic.Name, "its key is set; the model is " + m.model, func() (providers.Provider, error) {
		return anthropic.New(anthropic.Config{BaseURL: m.url, Key: key, Model: m.model, Idle: c.silence, Logger: log})
	}}
}

// findOpenAI also accepts a URL other than that of OpenAI without a key, for compatible servers
// that need none.
func findOpenAI(c agentConfig, log *slog.Logger) backend {
	m, key, found := c.openai, c.openai.effectiveKey(), "its key is set"
	switch {
	case key == "" && m.url == openai.DefaultBaseURL:
		return backend{name: openai.Name, why: "no key is set: OPENAI_API_KEY or --openai-key"}
	case key == "":
		found = "its URL is set"
	}
	dialect := c.dialectOf(m.url)
	return backend{openai.Name, found + "; the model is " + m.model, func() (providers.Provider, error) {
		return openai.New(openai.Config{BaseURL: m.url, Key: key, Model: m.model, Dialect: dialect, Idle: c.silence, Logger: log})
	}}
}

// dialectOf returns the API to use at an address.
func (c agentConfig) dialectOf(address string) openai.Dialect {
	if c.dialect == "auto" {
		return dialectFor(address)
	}
	return openai.Dialect(c.dialect)
}

// dialectFor returns the Responses API for OpenAI itself, and for other addresses the Chat API,
// which all compatible servers support.
func dialectFor(address string) openai.Dialect {
	if u, err := url.Parse(address); err == nil && u.Hostname() == "api.openai.com" {
		return openai.Responses
	}
	return openai.Chat
}

// ollamaName is the name of the provider for a local Ollama, which uses the OpenAI API.
const ollamaName = "ollama"

// ollamaPrice returns the price of a model of Ollama: nothing on this machine, unknown for the models
// that Ollama only passes on to its cloud.
func ollamaPrice(model string) *prices.Price {
	if strings.HasSuffix(model, "cloud") {
		return nil
	}
	return &prices.Price{}
}

// findOllama probes a local Ollama if --provider is auto or ollama. Without a configured model it
// selects the first one that the Ollama lists.
func findOllama(ctx context.Context, c agentConfig, log *slog.Logger) backend {
	if c.provider != "auto" && c.provider != ollamaName {
		return backend{name: ollamaName, why: "no Ollama was looked for"}
	}
	ctx, cancel := context.WithTimeout(ctx, ollamaProbe)
	defer cancel()
	cfg := openai.Config{Price: ollamaPrice(c.ollama.model), Name: ollamaName, BaseURL: c.ollama.url, Model: c.ollama.model, Idle: c.silence, Logger: log}
	models, err := openai.Models(ctx, cfg)
	switch {
	case err != nil:
		return backend{name: ollamaName, why: "no Ollama answers at " + c.ollama.url}
	case cfg.Model == "" && len(models) == 0:
		return backend{name: ollamaName, why: fmt.Sprintf("the Ollama at %s has no model", c.ollama.url)}
	case cfg.Model == "":
		cfg.Model = models[0]
		cfg.Price = ollamaPrice(cfg.Model)
	}
	why := fmt.Sprintf("it answers at %s; the model is %s", c.ollama.url, cfg.Model)
	return backend{ollamaName, why, func() (providers.Provider, error) { return openai.New(cfg) }}
}

// aliases returns the names that desktops of the desktop dialect have for providers.
func aliases() map[string]string {
	return map[string]string{"claude": anthropic.Name, "codex": openai.Name}
}

// openProviders opens all available providers and chooses the default for new sessions; why
// explains the choice. It fails if the provider of --provider is not available.
func openProviders(ctx context.Context, c agentConfig, log *slog.Logger) (_ *providers.Table, why string, err error) {
	var there []providers.Provider
	defer func() {
		if err != nil {
			for _, p := range there {
				err = errors.Join(err, p.Close())
			}
		}
	}()
	chosen := ""
	for _, b := range allBackends(ctx, c, log) {
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
		if chosen == "" && (c.provider == b.name || cmp.Or(c.provider, "auto") == "auto") {
			chosen, why = b.name, b.why
		}
	}
	if chosen == "" {
		return nil, "", fmt.Errorf("--provider %s: there is no such provider", c.provider)
	}
	if c.provider == chosen {
		why = "it was asked for"
	}
	table, err := providers.NewTable(providers.TableConfig{Default: chosen, Warm: warmProviders(chosen, there), Size: c.warm, Aliases: aliases(), Logger: log}, there...)
	return table, why, err
}

// warmProviders returns the providers to keep ready: the default one, and the enabled programs, because users
// can choose them.
func warmProviders(chosen string, all []providers.Provider) []string {
	names := []string{chosen}
	for _, p := range all {
		if _, prepares := p.(providers.Warmer); prepares && p.Name() != chosen {
			names = append(names, p.Name())
		}
	}
	return names
}
