package probe

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/anthropic"
	"github.com/everdesk/everdesk/providers/openai"
	"github.com/everdesk/everdesk/providers/sse"
)

// API is the API of a model server.
type API string

// The APIs. Ollama has that of OpenAI too, but a list of its own.
const (
	Anthropic API = "anthropic"
	OpenAI    API = "openai"
	Ollama    API = "ollama"
)

// Server is a model server.
type Server struct {
	API API
	// BaseURL is the address; empty means that of the API's own service.
	BaseURL string
	Key     string
	// HTTP sends the requests; nil means a client with the proxy of the environment.
	HTTP *http.Client
}

// Model is a model that a server offers.
type Model struct {
	ID string
	// Name is the name for people; the ID if the server has no other.
	Name string
}

// MaxModels bounds the list of a server.
const MaxModels = 2000

// ollamaTimeout bounds a request to Ollama, which is on this machine.
const ollamaTimeout = 2 * time.Second

// Models returns the models that a server lists, in its order. A failure is a [*providers.Failure].
func Models(ctx context.Context, s Server) ([]Model, error) {
	all, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(m Model) bool { return m.ID == "" })
	for i := range all {
		all[i].Name = cmp.Or(all[i].Name, all[i].ID)
	}
	return all[:min(len(all), MaxModels)], nil
}

func (s Server) list(ctx context.Context) ([]Model, error) {
	var all []Model
	switch s.API {
	case Anthropic:
		models, err := anthropic.Models(ctx, anthropic.Config{BaseURL: s.BaseURL, Key: s.Key, HTTP: s.HTTP})
		for _, m := range models {
			all = append(all, Model(m))
		}
		return all, err
	case OpenAI:
		names, err := openai.Models(ctx, openai.Config{BaseURL: s.BaseURL, Key: s.Key, HTTP: s.HTTP})
		for _, name := range names {
			all = append(all, Model{ID: name})
		}
		return all, err
	case Ollama:
		return s.listOllama(ctx)
	}
	return nil, &providers.Failure{Class: providers.Invalid, Err: fmt.Errorf("%s has no list of models", s.API)}
}

// listOllama reads Ollama's own list, which is beside the API that is compatible with OpenAI's.
func (s Server) listOllama(ctx context.Context) ([]Model, error) {
	base := strings.TrimSuffix(strings.TrimRight(cmp.Or(s.BaseURL, openai.OllamaBaseURL), "/"), "/v1")
	header := http.Header{}
	if s.Key != "" {
		header.Set("Authorization", "Bearer "+s.Key)
	}
	server, err := sse.New(sse.Config{Base: base, Header: header, Secret: s.Key, HTTP: s.HTTP})
	if err != nil {
		return nil, &providers.Failure{Class: providers.Invalid, Err: err}
	}
	defer server.Close()
	ctx, cancel := context.WithTimeout(ctx, ollamaTimeout)
	defer cancel()
	body, err := server.Get(ctx, "/api/tags")
	if err != nil {
		return nil, err
	}
	var list struct {
		Models []struct {
			Name string `json:"name"`
		} `json:"models"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, &providers.Failure{Class: providers.Transport, Err: fmt.Errorf("read the list of models: %w", err)}
	}
	var all []Model
	for _, m := range list.Models {
		all = append(all, Model{ID: m.Name})
	}
	return all, nil
}
