package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// Config configures a [Client]. URL and Session are required; all other fields have defaults.
type Config struct {
	// URL is the hub's, with the scheme http, https, ws or wss.
	URL     string
	Session wire.SessionID
	// Token is sent as the bearer token: the installation's token, a signed token or an API key.
	Token string
	// Ticket is a one-time ticket for the first connection when there is no token. Refresh must
	// return a token for the others.
	Ticket string
	// Refresh returns a new token when the hub refuses the old one or announces its expiry. If the
	// hub refuses the new token as well, Run returns the error.
	Refresh func(context.Context) (token string, err error)
	// ClientID identifies the client over all its connections. It defaults to a random one.
	ClientID wire.ClientID
	// Monitors filters events by monitor; none means all. The mirror of some monitors has a hash of
	// its own.
	Monitors []wire.MonitorID
	// OnEvent is called with every event except pings.
	OnEvent func(context.Context, Event)
	// OnLink is called when the state of the connection changes.
	OnLink func(context.Context, Link)
	// Unanswered bounds the messages that wait to be sent or answered. It defaults to 64.
	Unanswered int
	// Backoff returns the delay before the next attempt after failed failed ones, at least 1. It
	// defaults to [FullJitter].
	Backoff func(failed int) time.Duration
	// MaxFrame bounds a frame of the hub, in bytes. It defaults to 64 MiB.
	MaxFrame int64
	// HTTPClient makes the handshakes. It defaults to one of the client's own.
	HTTPClient *http.Client
	// Logger defaults to none.
	Logger *slog.Logger
}

// Client keeps a program attached to a session. Make it with [New].
type Client struct {
	cfg    Config
	url    *url.URL
	mirror mirror
	outbox outbox
	ready  chan struct{}

	running atomic.Bool
	mu      sync.Mutex
	link    Link
	token   string
	// monitors is the monitor filter, empty for all. unseen are those of them that the mirror has
	// no state of yet.
	monitors, unseen []wire.MonitorID

	// The following fields belong to Run.
	ticket    string
	refreshed bool // the token was refreshed, and the hub has not accepted it yet
	failed    int  // attempts since the last good connection
	conns     uint64
}

// ErrClosed matches the errors of messages that were not answered when [Client.Run] ended.
var ErrClosed = errors.New("client has ended")

// New returns a client. It does nothing before [Client.Run].
func New(cfg Config) (*Client, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("client: URL of the hub: %w", err)
	}
	if !slices.Contains([]string{"http", "https", "ws", "wss"}, u.Scheme) || u.Host == "" {
		return nil, fmt.Errorf("client: want the hub's URL, as in http://127.0.0.1:8080; got %q", cfg.URL)
	}
	if err := cfg.Session.Validate(); err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	for _, m := range cfg.Monitors {
		if err := m.Validate(); err != nil {
			return nil, fmt.Errorf("client: %w", err)
		}
	}
	cfg.ClientID = cmp.Or(cfg.ClientID, wire.ClientID(rand.Text()))
	if err := cfg.ClientID.Validate(); err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	cfg.Unanswered = cmp.Or(cfg.Unanswered, 64)
	cfg.MaxFrame = cmp.Or(cfg.MaxFrame, 64<<20)
	if cfg.Backoff == nil {
		cfg.Backoff = FullJitter
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Client{
		cfg: cfg, url: u, ready: make(chan struct{}), token: cfg.Token, ticket: cfg.Ticket,
		monitors: slices.Clone(cfg.Monitors),
	}
	c.mirror.init(cfg.Session)
	c.outbox.init(cfg.Unanswered)
	return c, nil
}

// Run keeps the client attached until ctx ends, and then returns its cause, or until the hub
// refuses it permanently: an [*Error]. It may be called once.
//
// Ownership: it has at most three goroutines per connection, and returns only after all have ended.
func (c *Client) Run(ctx context.Context) error {
	if c.running.Swap(true) {
		return errors.New("client: Run was called before")
	}
	if c.cfg.HTTPClient == nil {
		transport := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: false}
		defer transport.CloseIdleConnections()
		c.cfg.HTTPClient = &http.Client{Transport: transport}
	}
	c.setLink(ctx, Link{State: LinkConnecting})
	err := c.reconnectLoop(ctx)
	c.outbox.close(fmt.Errorf("%w: %w", ErrClosed, err))
	c.setLink(ctx, Link{State: LinkClosed, Err: err})
	return err
}

// reconnectLoop makes one connection after the other.
func (c *Client) reconnectLoop(ctx context.Context) error {
	for {
		err := c.runConnection(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		wait, err := c.nextDelay(ctx, err)
		if err != nil {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// ID returns the client id.
func (c *Client) ID() wire.ClientID { return c.cfg.ClientID }

// Ready is closed when the client first has the session's state.
func (c *Client) Ready() <-chan struct{} { return c.ready }

// State returns a copy of the mirror; its LastMessageID is the cursor.
func (c *Client) State() wire.SessionState { return c.mirror.snapshot() }

// Hash returns the hash of the mirror and its position. It is equal for all clients that have
// applied the same log.
func (c *Client) Hash() (hash string, at wire.Position) { return c.mirror.hash() }

// Position returns the cursor: the newest event applied, from which a new connection resumes.
func (c *Client) Position() wire.Position { return c.mirror.position() }

// Stats returns the client's counts so far.
func (c *Client) Stats() Stats { return c.mirror.counts() }

// Link returns the state of the connection.
func (c *Client) Link() Link {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.link
}

// bearer returns the token for the next handshake.
func (c *Client) bearer() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.token
}

// monitorFilter returns the monitors for the next handshake, and whether the mirror has the state
// of all of them, so that it may be resumed.
func (c *Client) monitorFilter() (monitors []wire.MonitorID, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.monitors), len(c.unseen) == 0
}

// observeSubscription records a SUBSCRIBE_MONITOR that is about to be written: with a monitor
// filter, it adds a monitor, which further connections must ask for too.
func (c *Client) observeSubscription(p wire.ClientPayload) {
	s, ok := p.(wire.SubscribeMonitor)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !ok || len(c.monitors) == 0 || slices.Contains(c.monitors, s.MonitorID) {
		return
	}
	c.monitors = append(c.monitors, s.MonitorID)
	c.unseen = append(c.unseen, s.MonitorID)
}

// observeSnapshot records the monitors of a snapshot. The first one of a connection has all of
// them.
func (c *Client) observeSnapshot(s wire.SessionState, first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unseen = slices.DeleteFunc(c.unseen, func(id wire.MonitorID) bool {
		return first || slices.ContainsFunc(s.Monitors, func(m wire.MonitorStatus) bool { return m.MonitorID == id })
	})
}

func (c *Client) setToken(token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.token = token
}

func (c *Client) setLink(ctx context.Context, l Link) {
	c.mu.Lock()
	c.link = l
	c.mu.Unlock()
	c.cfg.Logger.DebugContext(ctx, "link state changed", "state", l.State, "retry", l.Retry, "err", l.Err)
	if c.cfg.OnLink != nil {
		c.cfg.OnLink(ctx, l)
	}
}
