package mcpserver

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
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/tools"
)

// Path is where the door is.
const Path = "/mcp"

// ToolExecutor is what programs act with; [tools.Executor] is one.
type ToolExecutor interface {
	Tools(c tools.Caller) []providers.Tool
	Call(ctx context.Context, c tools.Caller, call providers.ToolCall) providers.ToolResult
}

// Config tunes a [Server]. Zero means the default.
type Config struct {
	// Version is that of the hub.
	Version string
	// MaxBody bounds a request. It defaults to 6 MiB, which is more than the
	// largest input of a tool.
	MaxBody int64
	// MaxCalls bounds the calls at once with one MCP token. It defaults to 16.
	MaxCalls int
	// WriteWithin is how long a program may take to read an answer. It defaults
	// to 30 seconds.
	WriteWithin time.Duration
	Logger      *slog.Logger
}

// Server is the endpoint. Make it with [New].
type Server struct {
	executor ToolExecutor
	cfg      Config
	inner    http.Handler
	base     atomic.Pointer[string]

	mu     sync.Mutex // guards the following, never while waiting
	tokens map[digest]*badge
	// servers are by the tools they have: what differs otherwise between MCP tokens
	// comes with the request.
	servers map[toolset]*mcp.Server
}

// toolset is what the tools of a caller depend on.
type toolset struct {
	profile string
	todo    bool
}

// digest is the hash of a token. Tokens themselves are not kept.
type digest [sha256.Size]byte

// MCP token is what one token is good for.
type badge struct {
	digest digest
	caller tools.Caller
	// free has room for one item per request with a call, until its answer is
	// written, and crowd for all requests.
	free, crowd chan struct{}
	// revoked ends when the MCP token does.
	revoked context.Context //nolint:containedctx // it is the life of the MCP token
}

// errRevoked is why calls end with their MCP token.
var errRevoked = errors.New("the badge was revoked")

// New makes a door.
func New(executor ToolExecutor, cfg Config) *Server {
	cfg.MaxBody = cmp.Or(cfg.MaxBody, 6<<20)
	cfg.MaxCalls = cmp.Or(cfg.MaxCalls, 16)
	cfg.WriteWithin = cmp.Or(cfg.WriteWithin, 30*time.Second)
	d := &Server{executor: executor, cfg: cfg, tokens: map[digest]*badge{}, servers: map[toolset]*mcp.Server{}}
	d.inner = mcp.NewStreamableHTTPHandler(d.serverOf, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, PropagateRequestCancellation: true,
		MaxRequestBodyBytes: cfg.MaxBody, Logger: cfg.Logger,
		// It would refuse proxies on the same machine. What it is for, pages in
		// browsers that are led here, have no MCP token.
		DisableLocalhostProtection: true,
	})
	return d
}

// SetURL says under which address programs reach the hub, such as
// http://127.0.0.1:8000. Badges issued before have no address.
func (d *Server) SetURL(base string) {
	base = strings.TrimSuffix(base, "/")
	d.base.Store(&base)
}

// Issue makes a MCP token that is good until it is revoked.
func (d *Server) Issue(c tools.Caller) (e providers.Endpoint, revoke func()) {
	secret := make([]byte, 32)
	rand.Read(secret) // never fails: it crashes instead
	token := base64.RawURLEncoding.EncodeToString(secret)
	life, end := context.WithCancelCause(context.Background())
	b := &badge{
		digest: sha256.Sum256([]byte(token)), caller: c, revoked: life,
		free: make(chan struct{}, d.cfg.MaxCalls), crowd: make(chan struct{}, crowdPerCall*d.cfg.MaxCalls),
	}
	d.mu.Lock()
	d.tokens[b.digest] = b
	d.mu.Unlock()
	if base := d.base.Load(); base != nil {
		e.URL = *base + Path
	}
	e.Token = token
	return e, func() {
		d.mu.Lock()
		delete(d.tokens, b.digest)
		d.mu.Unlock()
		end(errRevoked)
	}
}

// admit finds the MCP token of a request, or nil.
func (d *Server) admit(r *http.Request) *badge {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return nil
	}
	sum := digest(sha256.Sum256([]byte(strings.TrimSpace(token))))
	d.mu.Lock()
	b := d.tokens[sum]
	d.mu.Unlock()
	// Finding a hash takes as long for every token that is wrong, as far as
	// those who send them can choose; the comparison says so in code too.
	if b == nil || subtle.ConstantTimeCompare(sum[:], b.digest[:]) != 1 {
		return nil
	}
	return b
}

// ticketKey is where a request carries its ticket.
type ticketKey struct{}

// ServeHTTP implements [http.Handler].
func (d *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b := d.admit(r)
	if b == nil {
		w.Header().Set("WWW-Authenticate", `Bearer realm="everdesk"`)
		http.Error(w, "a badge is needed", http.StatusUnauthorized)
		return
	}
	if !enter(b.crowd) {
		http.Error(w, "too many requests at once", http.StatusTooManyRequests)
		return
	}
	defer leave(b.crowd)
	t := &ticket{badge: b, calls: enter(b.free)}
	if t.calls {
		defer leave(b.free)
	}
	// It is of no use to anything behind the door.
	r = r.WithContext(context.WithValue(r.Context(), ticketKey{}, t))
	r.Header = r.Header.Clone()
	r.Header.Del("Authorization")
	out := &writer{ResponseWriter: w, within: d.cfg.WriteWithin}
	defer context.AfterFunc(b.revoked, out.revoke)()
	d.inner.ServeHTTP(out, r)
}

// crowdPerCall is how many requests at once there may be for each call at once:
// programs ask for other things, too.
const crowdPerCall = 4

// enter takes a place if there is one.
func enter(places chan struct{}) bool {
	select {
	case places <- struct{}{}:
		return true
	default:
		return false
	}
}

func leave(places chan struct{}) { <-places }

// ticket is what a request may do: calls says whether it may call a tool.
type ticket struct {
	*badge
	calls bool
}

// ticketOf is what came with a request.
func ticketOf(ctx context.Context) (*ticket, bool) {
	t, ok := ctx.Value(ticketKey{}).(*ticket)
	return t, ok
}

// lastWords is how long the answers to calls of a MCP token that is revoked may take.
const lastWords = time.Second

// writer bounds how long an answer takes from when it begins: before that a tool
// runs, which may take its time.
type writer struct {
	http.ResponseWriter
	within time.Duration

	mu             sync.Mutex // guards the following
	began, revoked bool
}

// Unwrap is for [http.ResponseController].
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements [http.ResponseWriter].
func (w *writer) WriteHeader(status int) {
	w.begin()
	w.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (w *writer) Write(p []byte) (int, error) {
	w.begin()
	return w.ResponseWriter.Write(p) //nolint:wrapcheck // it stands for that one
}

func (w *writer) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.began && !w.revoked {
		w.endIn(w.within)
	}
	w.began = true
}

func (w *writer) revoke() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.revoked = true
	w.endIn(lastWords)
}

func (w *writer) endIn(d time.Duration) {
	// A transport without deadlines is that of a test.
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(d))
}

// serverOf is the server for a request's MCP token.
func (d *Server) serverOf(r *http.Request) *mcp.Server {
	b, ok := ticketOf(r.Context())
	if !ok {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	set := toolset{b.caller.Profile, b.caller.Todo != ""}
	s := d.servers[set]
	if s == nil {
		s = d.newServer(b.caller)
		d.servers[set] = s
	}
	return s
}
