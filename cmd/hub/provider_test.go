package main

import (
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/providers/fakemodel"
	"github.com/everdesk/everdesk/providers/openai"
)

func TestEmploy(t *testing.T) {
	t.Parallel()
	model := fakemodel.New()
	model.Models = []string{"llama", "other"}
	url, err := model.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	bare := fakemodel.New()
	bare.Models = []string{}
	empty, err := bare.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(bare.Close)
	var lc net.ListenConfig
	silent, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0") // nothing accepts its connections
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })

	const unreachable = "http://127.0.0.1:1/v1"
	anthropicKey, openaiKey := modelConfig{url: "https://api.anthropic.com", key: "k", model: "claude"}, modelConfig{url: openai.DefaultBaseURL, key: "k", model: "gpt"}
	none := modelConfig{url: openai.DefaultBaseURL}
	for name, tt := range map[string]struct {
		cfg   agentConfig
		want  string // the chosen provider, and why
		there string
		err   string
	}{
		"nothing":           {agentConfig{provider: "auto", openai: none, ollama: modelConfig{url: unreachable}}, "demo: no key of a model is set, and no Ollama answers at " + unreachable, "demo", ""},
		"both keys":         {agentConfig{provider: "auto", anthropic: anthropicKey, openai: openaiKey, ollama: modelConfig{url: url + "/v1"}}, "anthropic: its key is set; the model is claude", "anthropic openai ollama demo", ""},
		"one key":           {agentConfig{provider: "auto", openai: openaiKey, ollama: modelConfig{url: unreachable}}, "openai: its key is set; the model is gpt", "openai demo", ""},
		"only a URL":        {agentConfig{provider: "auto", openai: modelConfig{url: "http://127.0.0.1:1/v1", key: "", model: "qwen"}, ollama: modelConfig{url: unreachable}}, "openai: its URL is set; the model is qwen", "openai demo", ""},
		"Ollama":            {agentConfig{provider: "auto", openai: none, ollama: modelConfig{url: url + "/v1"}}, "ollama: it answers at " + url + "/v1; the model is llama", "ollama demo", ""},
		"Ollama with model": {agentConfig{provider: "ollama", openai: none, ollama: modelConfig{url: url + "/v1", model: "mine"}}, "ollama: it was asked for", "ollama demo", ""},
		"empty Ollama":      {agentConfig{provider: "auto", openai: none, ollama: modelConfig{url: empty + "/v1"}}, "demo: no key of a model is set, and the Ollama at " + empty + "/v1 has no model", "demo", ""},
		"silent Ollama":     {agentConfig{provider: "auto", openai: none, ollama: modelConfig{url: "http://" + silent.Addr().String()}}, "demo: no key of a model is set, and no Ollama answers at http://" + silent.Addr().String(), "demo", ""},
		"demo asked for":    {agentConfig{provider: "demo", anthropic: anthropicKey, openai: openaiKey, ollama: modelConfig{url: url + "/v1"}}, "demo: it was asked for", "anthropic openai demo", ""},
		"no key":            {cfg: agentConfig{provider: "anthropic", openai: none}, err: "--provider anthropic: no key is set: ANTHROPIC_API_KEY or --anthropic-key"},
		"no Ollama":         {cfg: agentConfig{provider: "ollama", openai: none, ollama: modelConfig{url: unreachable}}, err: "--provider ollama: no Ollama answers at " + unreachable},
		"impossible key":    {cfg: agentConfig{provider: "demo", anthropic: anthropicKey, openai: modelConfig{url: openai.DefaultBaseURL, key: "a\nb", model: "gpt"}}, err: "provider openai: the key of the model server has characters that no key has"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.cfg.dialect = "auto"
			table, why, err := openProviders(t.Context(), tt.cfg, slog.New(slog.DiscardHandler))
			if errorText(err) != tt.err {
				t.Fatalf("error %v, want %q", err, tt.err)
			}
			if err != nil {
				return
			}
			t.Cleanup(func() { table.Close() })
			if got := table.Default().Name() + ": " + why; got != tt.want {
				t.Errorf("it chose %s, want %s", got, tt.want)
			}
			names, want := slices.Sorted(slices.Values(table.Names())), slices.Sorted(slices.Values(strings.Fields(tt.there)))
			if !slices.Equal(names, want) {
				t.Errorf("there are %v, want %v", names, want)
			}
		})
	}
}

func TestDialectFor(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]openai.Dialect{
		openai.DefaultBaseURL:            openai.Responses,
		"https://api.openai.com:443/v1":  openai.Responses,
		"http://127.0.0.1:11434/v1":      openai.Chat,
		"https://api.openai.com.evil/v1": openai.Chat,
		"://":                            openai.Chat,
	} {
		if got := dialectFor(url); got != want {
			t.Errorf("dialect for %s: got %s, want %s", url, got, want)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
