package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/everdesk/everdesk/gateway/rest"
	"github.com/everdesk/everdesk/profiles"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/anthropic"
	"github.com/everdesk/everdesk/providers/claude"
	"github.com/everdesk/everdesk/providers/codex"
	"github.com/everdesk/everdesk/providers/openai"
	"github.com/everdesk/everdesk/providers/outbound"
	"github.com/everdesk/everdesk/providers/probe"
	"github.com/everdesk/everdesk/secrets"
)

// modelProbe is for users who connect a model: it lists the backends and their models, and tests a model.
type modelProbe struct {
	opener *modelOpener
	keys   *secrets.Store
}

// List implements [rest.Backends].
func (p *modelProbe) List(ctx context.Context) []rest.Backend {
	c := p.opener.agents
	hasKey := func(m modelConfig) bool { return m.effectiveKey() != "" }
	ollama, err := probe.Models(ctx, probe.Server{API: probe.Ollama, BaseURL: c.ollama.url})
	all := []rest.Backend{
		{Backend: anthropic.Name, Label: "Anthropic", Kind: rest.KindService, NeedsKey: !hasKey(c.anthropic), BaseURL: c.anthropic.url, Found: hasKey(c.anthropic)},
		{Backend: openai.Name, Label: "OpenAI", Kind: rest.KindService, NeedsKey: !hasKey(c.openai), BaseURL: c.openai.url, Found: hasKey(c.openai)},
		{Backend: compatibleName, Label: "OpenAI-compatible server", Kind: rest.KindServer},
		{Backend: ollamaName, Label: "Ollama", Kind: rest.KindLocal, BaseURL: c.ollama.url, Found: err == nil && len(ollama) > 0},
	}
	labels := map[string]string{claude.Name: "Claude Code", codex.Name: "Codex"}
	for _, name := range p.opener.table.Names() {
		if backend, ok := p.opener.table.Get(name); ok && backend.Caps().Process {
			all = append(all, rest.Backend{Backend: name, Label: cmp.Or(labels[name], name), Kind: rest.KindProgram, Found: true})
		}
	}
	return all
}

// key returns the key for a profile of a user: the given one, else that of its secret.
func (p *modelProbe) key(ctx context.Context, user string, of profiles.Profile, key string) (string, *rest.ModelFailure) {
	if key != "" || of.Secret == "" {
		return key, nil
	}
	v, err := p.keys.Reveal(ctx, secrets.Owner{User: user}, of.Secret)
	if err != nil {
		return "", &rest.ModelFailure{Class: "secret", Detail: fmt.Sprintf("The key %s: %v.", of.Secret, err)}
	}
	return v.Reveal(), nil
}

// Models implements [rest.Backends].
func (p *modelProbe) Models(ctx context.Context, user string, of profiles.Profile, key string) ([]rest.Model, *rest.ModelFailure) {
	key, failure := p.key(ctx, user, of, key)
	if failure != nil {
		return nil, failure
	}
	s, err := p.server(of, key)
	if err != nil {
		return nil, modelFailure(err)
	}
	found, err := probe.Models(ctx, s)
	if err != nil {
		return nil, modelFailure(err)
	}
	all := make([]rest.Model, 0, len(found))
	for _, m := range found {
		all = append(all, rest.Model{ID: m.ID, Name: m.Name})
	}
	return all, nil
}

// server returns the server of a profile. A key of the hub goes only to a URL of the operator.
func (p *modelProbe) server(of profiles.Profile, key string) (probe.Server, error) {
	apis := map[string]struct {
		api  probe.API
		hubs modelConfig
	}{
		anthropic.Name: {probe.Anthropic, p.opener.agents.anthropic},
		openai.Name:    {probe.OpenAI, p.opener.agents.openai},
		compatibleName: {probe.OpenAI, modelConfig{}},
		ollamaName:     {probe.Ollama, p.opener.agents.ollama},
	}
	of.Model = "any" // the list does not depend on it
	known, ok := apis[of.Backend]
	if !ok {
		return probe.Server{}, &providers.Failure{Class: providers.Invalid, Err: fmt.Errorf("%.64s has no list of models", of.Backend)}
	}
	if err := p.check(of); err != nil {
		return probe.Server{}, err
	}
	if key == "" && of.BaseURL == "" {
		key = known.hubs.effectiveKey()
	}
	var client *http.Client
	if of.BaseURL != "" {
		client = p.opener.client.Client
	}
	return probe.Server{API: known.api, BaseURL: cmp.Or(of.BaseURL, known.hubs.url), Key: key, HTTP: client}, nil
}

// check returns why a profile cannot be used. It looks at the address first, because its refusal has a
// class of its own.
func (p *modelProbe) check(of profiles.Profile) error {
	if of.BaseURL != "" {
		if err := p.opener.hosts.CheckURL(of.BaseURL); err != nil {
			return err
		}
	}
	return p.opener.check(of)
}

// Test implements [rest.Backends].
func (p *modelProbe) Test(ctx context.Context, user string, of profiles.Profile, key string) (rest.ModelTest, *rest.ModelFailure) {
	typed := key != ""
	key, failure := p.key(ctx, user, of, key)
	if failure != nil {
		return rest.ModelTest{}, failure
	}
	if err := p.check(of); err != nil {
		return rest.ModelTest{}, modelFailure(err)
	}
	if typed && of.Secret == "" {
		of.Secret = "typed" // the opener would use the key of the hub for a profile without a secret
	}
	backend, own, err := p.opener.open(of, key)
	if err != nil {
		return rest.ModelTest{}, modelFailure(err)
	}
	if own {
		defer backend.Close() //nolint:errcheck // the result does not depend on it
	}
	result, err := probe.Test(ctx, backend, of.Model)
	if err != nil {
		return rest.ModelTest{}, modelFailure(err)
	}
	u := result.Usage
	if of.Prices != nil {
		usd, known := of.Prices.Cost(profiles.Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite})
		u.USD, u.Unpriced = usd, !known
	}
	return rest.ModelTest{
		Answer: result.Answer, Milliseconds: int(result.Duration.Milliseconds()), InputTokens: max(u.Input+u.CacheRead+u.CacheWrite, 0),
		OutputTokens: max(u.Output, 0), CostUSD: max(u.USD, 0), CostUnknown: u.Unpriced,
	}, nil
}

// modelFailure returns an error for people.
func modelFailure(err error) *rest.ModelFailure {
	if refusal, ok := errors.AsType[*outbound.AddressError](err); ok {
		return &rest.ModelFailure{Class: "address", Detail: refusal.Error()}
	}
	if f, ok := errors.AsType[*providers.Failure](err); ok {
		return &rest.ModelFailure{Class: string(f.Class), Detail: f.Err.Error()}
	}
	return &rest.ModelFailure{Class: string(providers.Invalid), Detail: err.Error()}
}
