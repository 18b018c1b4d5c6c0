package anthropic

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/loop"
	"github.com/everdesk/everdesk/providers/prices"
	"github.com/everdesk/everdesk/providers/sse"
)

// Name is the name of the provider.
const Name = "anthropic"

// Defaults of [Config].
const (
	DefaultBaseURL   = "https://api.anthropic.com"
	DefaultModel     = "claude-sonnet-4-5"
	DefaultMaxTokens = 16384
)

// version is the version of the API.
const version = "2023-06-01"

// Config holds the address and settings of the API. Zero values mean the defaults.
type Config struct {
	// BaseURL is the URL without /v1.
	BaseURL string
	Key     string
	Model   string
	// MaxTokens bounds one reply, including thinking.
	MaxTokens int
	// Thinking bounds the thinking tokens of models with a budget, for turns without an effort; 0
	// means a small budget, where the model can think. It must be less than MaxTokens.
	Thinking int
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
}

// New returns a provider that uses this API.
func New(cfg Config) (*loop.Provider, error) {
	cfg.Model = cmp.Or(cfg.Model, DefaultModel)
	cfg.MaxTokens = cmp.Or(cfg.MaxTokens, DefaultMaxTokens)
	if cfg.MaxTokens < 0 || cfg.Thinking < 0 || cfg.Thinking >= cfg.MaxTokens {
		return nil, fmt.Errorf("a reply of %d tokens cannot have %d tokens of thinking", cfg.MaxTokens, cfg.Thinking)
	}
	server, err := connect(cfg)
	if err != nil {
		return nil, err
	}
	c := &client{cfg, server}
	return loop.New(loop.Config{Name: Name, Model: c, Images: true, Window: windows.Of(cfg.Model), Logger: cfg.Logger, Closed: server.Close}), nil
}

func connect(cfg Config) (*sse.Server, error) {
	header := http.Header{"Anthropic-Version": {version}}
	if cfg.Key != "" {
		header.Set("X-Api-Key", cfg.Key)
	}
	return sse.New(sse.Config{
		Base: cmp.Or(cfg.BaseURL, DefaultBaseURL), Header: header, Secret: cfg.Key, HTTP: cfg.HTTP, Idle: cfg.Idle,
	})
}

// Stream implements [loop.Model].
func (c *client) Stream(ctx context.Context, r loop.Request, say func(loop.Piece)) (loop.Reply, error) {
	r.Model = cmp.Or(r.Model, c.cfg.Model)
	in := reader{server: c.server, say: say}
	err := c.server.Stream(ctx, "/v1/messages", c.request(r), in.event)
	reply := in.reply()
	reply.Model = r.Model
	if err == nil || reply.Usage != (providers.Usage{}) { // a request that failed at once costs nothing
		reply.Usage = prices.Priced(c.cfg.Price, r.Model, reply.Usage)
	}
	return reply, err
}
