package anthropic

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/everdesk/everdesk/providers/loop"
	"github.com/everdesk/everdesk/providers/sse"
)

// Name is what the provider is chosen by.
const Name = "anthropic"

// What is used unless the configuration says otherwise.
const (
	DefaultBaseURL   = "https://api.anthropic.com"
	DefaultModel     = "claude-sonnet-4-5"
	DefaultMaxTokens = 16384
)

// version is the API's that this client speaks.
const version = "2023-06-01"

// Config is where the API is and how it is used. Zero values are the defaults.
type Config struct {
	// BaseURL is without /v1.
	BaseURL string
	Key     string
	Model   string
	// MaxTokens bounds one reply, thinking included.
	MaxTokens int
	// Thinking is how many tokens the model may think; 0 means that it does not.
	// It must be less than MaxTokens.
	Thinking int
	// Idle is how long the server may be silent.
	Idle   time.Duration
	HTTP   *http.Client
	Logger *slog.Logger
}

// client is a [loop.Model].
type client struct {
	cfg    Config
	server *sse.Server
}

// New returns a provider that answers with this API.
func New(cfg Config) (*loop.Provider, error) {
	cfg.BaseURL = cmp.Or(cfg.BaseURL, DefaultBaseURL)
	cfg.Model = cmp.Or(cfg.Model, DefaultModel)
	cfg.MaxTokens = cmp.Or(cfg.MaxTokens, DefaultMaxTokens)
	if cfg.MaxTokens < 0 || cfg.Thinking < 0 || cfg.Thinking >= cfg.MaxTokens {
		return nil, fmt.Errorf("a reply of %d tokens cannot have %d tokens of thinking", cfg.MaxTokens, cfg.Thinking)
	}
	header := http.Header{"Anthropic-Version": {version}}
	if cfg.Key != "" {
		header.Set("X-Api-Key", cfg.Key)
	}
	server, err := sse.New(sse.Config{Base: cfg.BaseURL, Header: header, Secret: cfg.Key, HTTP: cfg.HTTP, Idle: cfg.Idle})
	if err != nil {
		return nil, err
	}
	c := &client{cfg, server}
	return loop.New(loop.Config{Name: Name, Model: c, Images: true, Window: windows.Of(cfg.Model), Logger: cfg.Logger, Closed: server.Close}), nil
}

// Stream implements [loop.Model].
func (c *client) Stream(ctx context.Context, r loop.Request, say func(loop.Piece)) (loop.Reply, error) {
	r.Model = cmp.Or(r.Model, c.cfg.Model)
	in := reader{server: c.server, say: say}
	err := c.server.Stream(ctx, "/v1/messages", c.request(r), in.event)
	reply := in.reply()
	reply.Model = r.Model
	reply.Usage.USD = prices.Cost(r.Model, reply.Usage)
	return reply, err
}
