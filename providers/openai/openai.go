package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/loop"
	"github.com/everdesk/everdesk/providers/prices"
	"github.com/everdesk/everdesk/providers/sse"
)

// Name is the default name of the provider.
const Name = "openai"

// Defaults of [Config].
const (
	DefaultBaseURL = "https://api.openai.com/v1"
	DefaultModel   = "gpt-5"
	// OllamaBaseURL is the default address of Ollama.
	OllamaBaseURL = "http://127.0.0.1:11434/v1"
)

// modelsTimeout bounds [Models].
const modelsTimeout = 15 * time.Second

// Dialect is one of the APIs.
type Dialect string

// The APIs. The zero value is Chat.
const (
	Chat      Dialect = "chat"
	Responses Dialect = "responses"
)

// Config holds the address and settings of the API. Zero values mean the defaults.
type Config struct {
	// Name is the name of the provider.
	Name string
	// BaseURL is the URL including /v1 or the server's equivalent.
	BaseURL string
	// Key may be empty: local servers rarely need one.
	Key     string
	Model   string
	Dialect Dialect
	// MaxTokens bounds one reply; 0 leaves it to the server. The Chat dialect uses the field
	// name that all servers know, which OpenAI's own newer models refuse.
	MaxTokens int
	// Price is the price of the model; nil means the list price of a known model.
	Price *prices.Price
	// Idle bounds the time without data from the server.
	Idle   time.Duration
	HTTP   *http.Client
	Logger *slog.Logger
}

// client implements [loop.Model].
type client struct {
	cfg    Config
	server *sse.Server
	// noSummaries says that the server refuses to summarise reasoning.
	noSummaries atomic.Bool
}

// reader assembles a reply from a stream.
type reader interface {
	// event adds an event of the stream and reports whether the reply is complete.
	event(e sse.Event) (done bool, err error)
	// end interprets the end of the stream.
	end(err error) error
	// reply returns the content received so far.
	reply() loop.Reply
}

// New returns a provider that uses one of the APIs.
func New(cfg Config) (*loop.Provider, error) {
	cfg.Name = cmp.Or(cfg.Name, Name)
	cfg.Model = cmp.Or(cfg.Model, DefaultModel)
	cfg.Dialect = cmp.Or(cfg.Dialect, Chat)
	if cfg.Dialect != Chat && cfg.Dialect != Responses {
		return nil, fmt.Errorf("there is no dialect %q, only %s and %s", cfg.Dialect, Chat, Responses)
	}
	server, err := connect(cfg)
	if err != nil {
		return nil, err
	}
	c := &client{cfg: cfg, server: server}
	return loop.New(loop.Config{Name: cfg.Name, Model: c, Images: true, Window: windows.Of(cfg.Model), Logger: cfg.Logger, Closed: server.Close}), nil
}

func connect(cfg Config) (*sse.Server, error) {
	header := http.Header{}
	if cfg.Key != "" {
		header.Set("Authorization", "Bearer "+cfg.Key)
	}
	return sse.New(sse.Config{
		Base: cmp.Or(cfg.BaseURL, DefaultBaseURL), Header: header, Secret: cfg.Key, HTTP: cfg.HTTP, Idle: cfg.Idle,
	})
}

// Models returns the names of the server's models, or an error within 15 seconds.
func Models(ctx context.Context, cfg Config) ([]string, error) {
	server, err := connect(cfg)
	if err != nil {
		return nil, err
	}
	defer server.Close()
	ctx, cancel := context.WithTimeout(ctx, modelsTimeout)
	defer cancel()
	body, err := server.Get(ctx, "/models")
	if err != nil {
		return nil, err
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, &providers.Failure{Class: providers.Transport, Err: fmt.Errorf("read the list of models: %w", err)}
	}
	var names []string
	for _, m := range list.Data {
		if m.ID != "" {
			names = append(names, m.ID)
		}
	}
	return names, nil
}

// Stream implements [loop.Model].
func (c *client) Stream(ctx context.Context, r loop.Request, say func(loop.Piece)) (loop.Reply, error) {
	r.Model = cmp.Or(r.Model, c.cfg.Model)
	reply, err := c.stream(ctx, r, say)
	if f, ok := errors.AsType[*providers.Failure](err); ok && f.Class == providers.Invalid && len(reply.Blocks) == 0 &&
		strings.Contains(f.Error(), "reasoning.summary") && c.noSummaries.CompareAndSwap(false, true) {
		return c.stream(ctx, r, say) // some organisations may not read summaries
	}
	return reply, err
}

// stream makes one request.
func (c *client) stream(ctx context.Context, r loop.Request, say func(loop.Piece)) (loop.Reply, error) {
	var path string
	var body any
	var in reader
	switch c.cfg.Dialect {
	case Responses:
		path, body, in = "/responses", c.responsesRequest(r), &responsesReader{server: c.server, say: say}
	default:
		path, body, in = "/chat/completions", c.chatRequest(r), &chatReader{server: c.server, say: say}
	}
	err := in.end(c.server.Stream(ctx, path, body, in.event))
	reply := in.reply()
	reply.Model = r.Model
	if err == nil || reply.Usage != (providers.Usage{}) { // a request that failed at once costs nothing
		reply.Usage = prices.Priced(c.cfg.Price, r.Model, reply.Usage)
	}
	return reply, err
}
