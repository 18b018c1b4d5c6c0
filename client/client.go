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

// Config says where to connect and whom to tell. URL and Session must be there,
// everything else has a default.
type Config struct {
	// URL is the hub's, with the scheme http, https, ws or wss.
	URL     string
	Session wire.SessionID
	// Token is sent as the bearer token: the installation's token, a signed
	// token or an API key.
	Token string
	// Ticket is a one-time ticket, used for the first connection when there
	// is no token. Refresh has to give a token for the others.
	Ticket string
	// Refresh gives a new token when the hub does not take the old one, or
	// will soon not take it any more. A token that it gave and that was not
	// taken either ends the client.
	Refresh func(context.Context) (token string, err error)
	// ClientID is how the client names itself over all its connections. It
	// defaults to a random one.
	ClientID wire.ClientID
	// Monitors are the only ones whose events are shown; none means all. The
	// mirror of some monitors has a hash of its own.
	Monitors []wire.MonitorID
	// OnEvent is called with every event but pings.
	OnEvent func(context.Context, Event)
	// OnLink is called when the state of the connection changes.
	OnLink func(context.Context, Link)
	// Unanswered is how many messages may wait to be sent or answered. It
	// defaults to 64.
	Unanswered int
	// Backoff is how long to wait before a try that follows failed ones, of
	// which there are at least 1. It defaults to [FullJitter].
	Backoff func(failed int) time.Duration
	// MaxFrame is how large a frame of the hub may be. It defaults to 64 MiB.
	MaxFrame int64
	// HTTPClient makes the handshakes. It defaults to one of the client's own.
	HTTPClient *http.Client
	// Logger defaults to none.
	Logger *slog.Logger
}

// Client is a program's hold on a session. Make it with [New].
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
	// monitors are the only ones shown, unless there are none; the mirror
	// knows nothing yet of those in unseen.
	monitors, unseen []wire.MonitorID

	// What follows belongs to Run.
	ticket    string
	refreshed bool // and the hub has not let us in since
	failed    int  // tries since the last good connection
	conns     uint64
}

// ErrClosed is matched by the errors of messages that were not answered when
// [Client.Run] ended.
var ErrClosed = errors.New("client has ended")

// New makes a client. It does nothing before [Client.Run].
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

// Run keeps the client attached until ctx ends, whose cause it returns then, or
// until the hub does not want it back: an [*Error]. It may be called once.
//
// Ownership: it has at most three goroutines per connection, and returns only
// after all have ended.
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

// ID is how the client names itself to the hub.
func (c *Client) ID() wire.ClientID { return c.cfg.ClientID }

// Ready is closed when the client first knows the session's state.
func (c *Client) Ready() <-chan struct{} { return c.ready }

// State is a copy of the mirror; its LastMessageID is the cursor.
func (c *Client) State() wire.SessionState { return c.mirror.snapshot() }

// Hash is the hash of the mirror and the position it is at. It is the same for
// everybody who has seen the same log.
func (c *Client) Hash() (hash string, at wire.Position) { return c.mirror.hash() }

// Position is the cursor: the newest event seen, where a new connection resumes.
func (c *Client) Position() wire.Position { return c.mirror.position() }

// Stats are the client's counts so far.
func (c *Client) Stats() Stats { return c.mirror.counts() }

// Link is the state of the connection.
func (c *Client) Link() Link {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.link
}

// bearer is what the next handshake is made with.
func (c *Client) bearer() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.token
}

// monitorFilter are the monitors for the next handshake, and whether the mirror knows
// all of them, so that it may be resumed.
func (c *Client) monitorFilter() (monitors []wire.MonitorID, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.monitors), len(c.unseen) == 0
}

// observeSubscription takes a message that is about to be written. Where only some monitors are
// shown, SUBSCRIBE_MONITOR adds one, and further connections are asked for it too.
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

// observeSnapshot takes a snapshot, which has all monitors if it is the first event of a
// connection.
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
	c.cfg.Logger.DebugContext(ctx, "link", "state", l.State, "retry", l.Retry, "err", l.Err)
	if c.cfg.OnLink != nil {
		c.cfg.OnLink(ctx, l)
	}
}
