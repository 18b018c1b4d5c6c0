package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"

	"github.com/everdesk/everdesk/profiles"
	"github.com/everdesk/everdesk/profiles/backends"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/agent"
	"github.com/everdesk/everdesk/providers/anthropic"
	"github.com/everdesk/everdesk/providers/claude"
	"github.com/everdesk/everdesk/providers/codex"
	"github.com/everdesk/everdesk/providers/openai"
	"github.com/everdesk/everdesk/providers/outbound"
	"github.com/everdesk/everdesk/secrets"
)

// compatibleName is the name of the backend for servers that have the API of OpenAI.
const compatibleName = "openai-compatible"

// modelOpener opens the models of the profiles of users.
type modelOpener struct {
	agents agentConfig
	table  *providers.Table
	hosts  outbound.Hosts
	// client is for base URLs that users choose.
	client *outbound.Client
	log    *slog.Logger
}

// newModelOpener returns an opener that reaches public addresses and those of the operator.
func newModelOpener(c agentConfig, table *providers.Table, log *slog.Logger) *modelOpener {
	hosts := c.hosts.With(c.ollama.url)
	return &modelOpener{agents: c, table: table, hosts: hosts, client: hosts.Client(0), log: log}
}

// hubProfiles returns the profiles that the flags make: one per backend.
func (o *modelOpener) hubProfiles() []profiles.Profile {
	details := map[string]profiles.Profile{
		anthropic.Name: {Model: o.agents.anthropic.model, Pinned: "flags --anthropic-key and --anthropic-model, or their variables"},
		openai.Name:    {Model: o.agents.openai.model, Pinned: "flags --openai-key and --openai-model, or their variables"},
		ollamaName:     {Model: o.agents.ollama.model, Pinned: "flags --ollama-url and --ollama-model"},
		claude.Name:    {Pinned: "flag --agents"},
		codex.Name:     {Pinned: "flag --agents"},
	}
	var all []profiles.Profile
	for _, name := range o.table.Names() {
		p := details[name]
		p.ID, p.Name, p.Backend, p.ContextWindow, p.Pinned = name, name, name, o.agents.window, cmp.Or(p.Pinned, "the hub")
		all = append(all, p)
	}
	return all
}

// backendNames returns the backends that profiles of users may have.
func (o *modelOpener) backendNames() []string {
	all := append([]string{anthropic.Name, openai.Name, compatibleName, ollamaName}, o.table.Names()...)
	slices.Sort(all)
	return slices.Compact(all)
}

// check returns why a user may not have a profile.
func (o *modelOpener) check(p profiles.Profile) error {
	wrong := func(field, format string, args ...any) error {
		return &profiles.FieldError{Field: field, Detail: fmt.Sprintf(format, args...)}
	}
	program := p.Backend == claude.Name || p.Backend == codex.Name
	if !isModelAPI(p.Backend) {
		switch {
		case p.BaseURL != "": // a program would not check the address
			return wrong("baseUrl", "%s has no base URL that users can choose", p.Backend)
		case p.Secret != "" && !program:
			return wrong("secret", "%s has no key", p.Backend)
		}
		return nil
	}
	switch {
	case p.Backend == compatibleName && p.BaseURL == "":
		return wrong("baseUrl", "want the URL of the server, as in https://models.example.org/v1")
	case p.Model == "" && (p.Backend == compatibleName || p.Backend == ollamaName && o.agents.ollama.model == ""):
		return wrong("model", "want the name of a model of the server")
	}
	if p.BaseURL != "" {
		if err := o.hosts.CheckURL(p.BaseURL); err != nil {
			return wrong("baseUrl", "%v", err)
		}
	}
	return nil
}

// isModelAPI reports whether the hub itself sends the requests of a backend.
func isModelAPI(backend string) bool {
	return slices.Contains([]string{anthropic.Name, openai.Name, compatibleName, ollamaName}, backend)
}

// open returns the backend of a profile with the key of its secret. A key of the hub goes only to a URL
// of the operator.
func (o *modelOpener) open(p profiles.Profile, key string) (_ providers.Provider, own bool, err error) {
	if err := o.check(p); err != nil { // the operator may have changed the list of hosts
		return nil, false, err
	}
	c := o.agents
	var client *http.Client
	if p.BaseURL != "" {
		client = o.client.Client
	}
	orHub := func(m modelConfig) string {
		if p.Secret == "" && p.BaseURL == "" {
			return m.effectiveKey()
		}
		return key
	}
	var made providers.Provider
	switch p.Backend {
	case anthropic.Name:
		made, err = anthropic.New(anthropic.Config{
			BaseURL: cmp.Or(p.BaseURL, c.anthropic.url), Key: orHub(c.anthropic), Model: cmp.Or(p.Model, c.anthropic.model),
			HTTP: client, Idle: c.silence, Logger: o.log,
		})
	case openai.Name:
		url := cmp.Or(p.BaseURL, c.openai.url)
		made, err = openai.New(openai.Config{
			BaseURL: url, Key: orHub(c.openai), Model: cmp.Or(p.Model, c.openai.model), Dialect: c.dialectOf(url),
			HTTP: client, Idle: c.silence, Logger: o.log,
		})
	case compatibleName:
		made, err = openai.New(openai.Config{
			Name: compatibleName, BaseURL: p.BaseURL, Key: key, Model: p.Model, HTTP: client, Idle: c.silence, Logger: o.log,
		})
	case ollamaName:
		made, err = openai.New(openai.Config{
			Name: ollamaName, BaseURL: cmp.Or(p.BaseURL, c.ollama.url), Key: key, Model: cmp.Or(p.Model, c.ollama.model), Price: ollamaPrice(cmp.Or(p.Model, c.ollama.model)),
			HTTP: client, Idle: c.silence, Logger: o.log,
		})
	default:
		return o.openProgram(p, key)
	}
	return made, err == nil, err
}

// openProgram returns a backend of the table or, with a key of the user, a program that has this key.
func (o *modelOpener) openProgram(p profiles.Profile, key string) (_ providers.Provider, own bool, err error) {
	shared, ok := o.table.Get(p.Backend)
	if !ok || shared.Name() != p.Backend {
		return nil, false, fmt.Errorf("this hub has no backend %s", p.Backend)
	}
	var made providers.Provider
	switch {
	case key == "":
		return shared, false, nil
	case p.Backend == claude.Name:
		cfg := claudeConfig(o.agents, o.log)
		cfg.Key, cfg.Writers = key, writersOf(shared)
		made, err = claude.New(cfg)
	case p.Backend == codex.Name:
		cfg := codexConfig(o.agents, o.log)
		cfg.Key, cfg.Writers = key, writersOf(shared)
		made, err = codex.New(cfg)
	default:
		return shared, false, nil
	}
	return made, err == nil, err
}

// writersOf returns the open conversations of a program, which those with other keys share with its home.
func writersOf(p providers.Provider) *agent.Writers {
	if program, ok := p.(*agent.Provider); ok {
		return program.Writers()
	}
	return nil
}

// newModels returns the models of profiles.
func newModels(o *modelOpener, store *profiles.Store, keys *secrets.Store) *backends.Backends {
	return backends.New(backends.Config{
		Table: o.table, Profiles: store, Open: o.open, Window: o.agents.window, Logger: o.log,
		Key: func(ctx context.Context, user, name string) (string, error) {
			v, err := keys.Reveal(ctx, secrets.Owner{User: user}, name)
			return v.Reveal(), err
		},
	})
}
