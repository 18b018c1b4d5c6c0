package mcpdoor

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/tools"
)

// Path is where the door is.
const Path = "/mcp"

// Hands is what programs act with; [tools.Executor] is one.
type Hands interface {
	Tools(profile string) []providers.Tool
	Call(ctx context.Context, c tools.Caller, call providers.ToolCall) providers.ToolResult
}

// Config tunes a [Door]. Zero means the default.
type Config struct {
	// Version is that of the hub.
	Version string
	// MaxBody bounds a request. It defaults to 6 MiB, which is more than the
	// largest input of a tool.
	MaxBody int64
	// MaxCalls bounds the calls at once with one badge. It defaults to 16.
	MaxCalls int
	Logger   *slog.Logger
}

// Door is the endpoint. Make it with [New].
type Door struct {
	hands Hands
	cfg   Config
	inner http.Handler
	base  atomic.Pointer[string]

	mu     sync.Mutex // guards the following, never while waiting
	badges map[digest]*badge
	// servers are by profile: what differs between badges comes with the
	// request.
	servers map[string]*mcp.Server
}

// digest is the hash of a token. Tokens themselves are not kept.
type digest [sha256.Size]byte

// badge is what one token is good for.
type badge struct {
	digest digest
	caller tools.Caller
	// free has room for one item per call that runs.
	free chan struct{}
	// revoked ends when the badge does.
	revoked context.Context //nolint:containedctx // it is the life of the badge
}

// errRevoked is why calls end with their badge.
var errRevoked = errors.New("the badge was revoked")

// New makes a door.
func New(hands Hands, cfg Config) *Door {
	cfg.MaxBody = cmp.Or(cfg.MaxBody, 6<<20)
	cfg.MaxCalls = cmp.Or(cfg.MaxCalls, 16)
	d := &Door{hands: hands, cfg: cfg, badges: map[digest]*badge{}, servers: map[string]*mcp.Server{}}
	d.inner = mcp.NewStreamableHTTPHandler(d.serverOf, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, PropagateRequestCancellation: true,
		MaxRequestBodyBytes: cfg.MaxBody, Logger: cfg.Logger,
		// It would refuse proxies on the same machine. What it is for, pages in
		// browsers that are led here, have no badge.
		DisableLocalhostProtection: true,
	})
	return d
}

// SetURL says under which address programs reach the hub, such as
// http://127.0.0.1:8000. Badges issued before have no address.
func (d *Door) SetURL(base string) {
	base = strings.TrimSuffix(base, "/")
	d.base.Store(&base)
}

// Issue makes a badge that is good until it is revoked.
func (d *Door) Issue(c tools.Caller) (e providers.Endpoint, revoke func()) {
	secret := make([]byte, 32)
	rand.Read(secret) // never fails: it crashes instead
	token := base64.RawURLEncoding.EncodeToString(secret)
	life, end := context.WithCancelCause(context.Background())
	b := &badge{digest: sha256.Sum256([]byte(token)), caller: c, free: make(chan struct{}, d.cfg.MaxCalls), revoked: life}
	d.mu.Lock()
	d.badges[b.digest] = b
	d.mu.Unlock()
	if base := d.base.Load(); base != nil {
		e.URL = *base + Path
	}
	e.Token = token
	return e, func() {
		d.mu.Lock()
		delete(d.badges, b.digest)
		d.mu.Unlock()
		end(errRevoked)
	}
}

// admit finds the badge of a request, or nil.
func (d *Door) admit(r *http.Request) *badge {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return nil
	}
	sum := digest(sha256.Sum256([]byte(strings.TrimSpace(token))))
	d.mu.Lock()
	b := d.badges[sum]
	d.mu.Unlock()
	// Finding a hash takes as long for every token that is wrong, as far as
	// those who send them can choose; the comparison says so in code too.
	if b == nil || subtle.ConstantTimeCompare(sum[:], b.digest[:]) != 1 {
		return nil
	}
	return b
}

// badgeKey is where a request carries its badge.
type badgeKey struct{}

// ServeHTTP implements [http.Handler].
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b := d.admit(r)
	if b == nil {
		w.Header().Set("WWW-Authenticate", `Bearer realm="everdesk"`)
		http.Error(w, "a badge is needed", http.StatusUnauthorized)
		return
	}
	// It is of no use to anything behind the door.
	r = r.WithContext(context.WithValue(r.Context(), badgeKey{}, b))
	r.Header = r.Header.Clone()
	r.Header.Del("Authorization")
	d.inner.ServeHTTP(w, r)
}

// badgeOf is the badge that came with a request.
func badgeOf(ctx context.Context) (*badge, bool) {
	b, ok := ctx.Value(badgeKey{}).(*badge)
	return b, ok
}

// serverOf is the server for a request's badge.
func (d *Door) serverOf(r *http.Request) *mcp.Server {
	b, ok := badgeOf(r.Context())
	if !ok {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.servers[b.caller.Profile]
	if s == nil {
		s = d.newServer(b.caller.Profile)
		d.servers[b.caller.Profile] = s
	}
	return s
}
