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
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/tools"
)

// Path is the path of the endpoint.
const Path = "/mcp"

// Tools lists tools; [tools.Executor] implements it.
type Tools interface {
	// Tools returns the tools that the caller may use.
	Tools(c tools.Caller) []providers.Tool
}

// Execute executes a call of a tool. It may be called concurrently.
type Execute = func(context.Context, providers.ToolCall) providers.ToolResult

// Config holds the settings of a [Server]. A zero value means the default.
type Config struct {
	// Version is the hub's version.
	Version string
	// MaxBody bounds a request body in bytes. It defaults to 6 MiB, more than the largest input
	// of a tool.
	MaxBody int64
	// MaxCalls bounds the concurrent calls with one MCP token. It defaults to 16.
	MaxCalls int
	// WriteWithin bounds how long a program may take to read a response. It defaults to 30
	// seconds.
	WriteWithin time.Duration
	// Clients admits programs with stored tokens; nil means that there are none.
	Clients Clients
	Logger  *slog.Logger
}

// Server is the endpoint. Create it with [New].
type Server struct {
	tools Tools
	cfg   Config
	inner http.Handler
	base  atomic.Pointer[string]

	mu     sync.Mutex // guards tokens, uses and servers; not held while blocking
	tokens map[digest]*mcpToken
	uses   map[string]*clientUse // by the id of the stored token
	// servers holds one MCP server per set of tools. Everything else that depends on the MCP
	// token is in the context of the request.
	servers map[toolset]*mcp.Server
}

// maxServers bounds the servers that are kept; they are made again when needed.
const maxServers = 1000

// toolset identifies the tools of a caller.
type toolset struct {
	profile string
	todo    bool
	mode    string // the tool profile of the mode
	// user and revision are set for callers with tools of MCP servers.
	user, revision string
}

// changing are tools that differ between users and change; [tools.Executor] implements it.
type changing interface {
	// Prepare makes the tools of a caller known, as far as that is possible soon.
	Prepare(ctx context.Context, c tools.Caller)
	// Revision returns a text that changes when the tools of the caller change.
	Revision(c tools.Caller) string
}

// digest is the hash of a token. Tokens themselves are not stored.
type digest [sha256.Size]byte

// mcpToken is an issued token.
type mcpToken struct {
	digest  digest
	caller  tools.Caller
	execute Execute
	// expires is when a stored token expires, as it was when the request was admitted; zero means never.
	// renewed looks it up.
	expires time.Time
	renewed func(ctx context.Context) (time.Time, error)
	*gate
}

// gate bounds the requests with one token and ends them when it is revoked.
type gate struct {
	// free and crowd are semaphores, held until the response of a request is written. Every
	// request must enter crowd. A request that finds free full may not call a tool.
	free, crowd chan struct{}
	// revoked is canceled by end when the token is revoked.
	revoked context.Context //nolint:containedctx // it is the life of the MCP token
	end     context.CancelCauseFunc
}

func newGate(maxCalls int) *gate {
	g := &gate{free: make(chan struct{}, maxCalls), crowd: make(chan struct{}, crowdPerCall*maxCalls)}
	g.revoked, g.end = context.WithCancelCause(context.Background())
	return g
}

// errRevoked cancels the calls of a revoked token.
var errRevoked = errors.New("the MCP token was revoked")

// errExpired cancels the calls of a token that expires.
var errExpired = errors.New("the MCP token has expired")

// New returns an endpoint.
func New(all Tools, cfg Config) *Server {
	cfg.MaxBody = cmp.Or(cfg.MaxBody, 6<<20)
	cfg.MaxCalls = cmp.Or(cfg.MaxCalls, 16)
	cfg.WriteWithin = cmp.Or(cfg.WriteWithin, 30*time.Second)
	d := &Server{tools: all, cfg: cfg, tokens: map[digest]*mcpToken{}, uses: map[string]*clientUse{}, servers: map[toolset]*mcp.Server{}}
	d.inner = mcp.NewStreamableHTTPHandler(d.serverOf, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, PropagateRequestCancellation: true,
		MaxRequestBodyBytes: cfg.MaxBody, Logger: cfg.Logger,
		// The protection would refuse proxies on the same machine. It is meant against web
		// pages that are directed to this endpoint, which have no MCP token.
		DisableLocalhostProtection: true,
	})
	return d
}

// SetURL sets the address under which programs reach the hub, such as http://127.0.0.1:8000.
// Endpoints issued before have no URL.
func (d *Server) SetURL(base string) {
	base = strings.TrimSuffix(base, "/")
	d.base.Store(&base)
}

// Issue returns an endpoint with the tools of the caller and a token that is valid until revoke is
// called. execute executes the calls.
func (d *Server) Issue(c tools.Caller, execute Execute) (e providers.Endpoint, revoke func()) {
	secret := make([]byte, 32)
	rand.Read(secret) // never fails: it crashes instead
	token := base64.RawURLEncoding.EncodeToString(secret)
	b := &mcpToken{digest: sha256.Sum256([]byte(token)), caller: c, execute: execute, gate: newGate(d.cfg.MaxCalls)}
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
		b.end(errRevoked)
	}
}

// issued returns the token that [Server.Issue] made, or nil.
func (d *Server) issued(token string) *mcpToken {
	sum := digest(sha256.Sum256([]byte(token)))
	d.mu.Lock()
	b := d.tokens[sum]
	d.mu.Unlock()
	// The lookup by hash does not reveal how much of a wrong token is right; the comparison is
	// constant-time as well.
	if b == nil || subtle.ConstantTimeCompare(sum[:], b.digest[:]) != 1 {
		return nil
	}
	return b
}

// ticketKey is the context key of the ticket.
type ticketKey struct{}

// ServeHTTP implements [http.Handler].
func (d *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, release, err := d.admit(r)
	if err != nil {
		d.refuse(w, r, err)
		return
	}
	defer release()
	if !enter(b.crowd) {
		http.Error(w, "too many requests at once", http.StatusTooManyRequests)
		return
	}
	defer freePlace(b.crowd)
	t := &ticket{mcpToken: b, calls: enter(b.free)}
	if t.calls {
		defer freePlace(b.free)
	}
	// Remove the token from the request that the MCP library sees.
	r = r.WithContext(context.WithValue(r.Context(), ticketKey{}, t))
	r.Header = r.Header.Clone()
	r.Header.Del("Authorization")
	out := &writer{ResponseWriter: w, within: d.cfg.WriteWithin}
	defer context.AfterFunc(b.revoked, out.revoke)()
	d.inner.ServeHTTP(out, r)
}

// refuse responds to a request without a valid token.
func (d *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if !errors.Is(err, ErrRefused) {
		d.cfg.Logger.WarnContext(r.Context(), "MCP token not checked", "err", err)
		w.Header().Set("Retry-After", "1")
		http.Error(w, "the hub cannot check the MCP token now", http.StatusServiceUnavailable)
		return
	}
	challenge := `Bearer realm="everdesk"`
	if r.Header.Get("Authorization") != "" {
		challenge += `, error="invalid_token", error_description="The MCP token is unknown, expired or revoked."`
	}
	w.Header().Set("WWW-Authenticate", challenge)
	http.Error(w, "an MCP token is needed", http.StatusUnauthorized)
}

// crowdPerCall is the number of concurrent requests allowed per concurrent call, because programs
// also send requests that call no tool.
const crowdPerCall = 4

// enter acquires the semaphore without waiting and reports whether it did.
func enter(places chan struct{}) bool {
	select {
	case places <- struct{}{}:
		return true
	default:
		return false
	}
}

func freePlace(places chan struct{}) { <-places }

// ticket is an admitted request; calls says whether it may call a tool.
type ticket struct {
	*mcpToken
	calls bool
}

// ticketOf returns the ticket of a request.
func ticketOf(ctx context.Context) (*ticket, bool) {
	t, ok := ctx.Value(ticketKey{}).(*ticket)
	return t, ok
}

// revokedTimeout bounds writing a response in progress when its token is revoked.
const revokedTimeout = time.Second

// writer sets a write deadline when a response begins. Before that a tool runs, which may take
// long.
type writer struct {
	http.ResponseWriter
	within time.Duration

	mu             sync.Mutex // guards began and revoked
	began, revoked bool
}

// Unwrap supports [http.ResponseController].
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements [http.ResponseWriter].
func (w *writer) WriteHeader(status int) {
	w.begin()
	w.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (w *writer) Write(p []byte) (int, error) {
	w.begin()
	return w.ResponseWriter.Write(p) //nolint:wrapcheck // a transparent wrapper
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
	w.endIn(revokedTimeout)
}

func (w *writer) endIn(d time.Duration) {
	// Only transports of tests have no deadlines.
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(d))
}

// serverOf returns the MCP server for a request's token.
func (d *Server) serverOf(r *http.Request) *mcp.Server {
	b, ok := ticketOf(r.Context())
	if !ok {
		return nil
	}
	set := toolset{profile: b.caller.Profile, todo: b.caller.Todo != ""}
	if m := b.caller.Mode; m != nil {
		set.mode = m.Tools
	}
	if all, ok := d.tools.(changing); ok && b.caller.User != "" {
		all.Prepare(r.Context(), b.caller)
		if set.revision = all.Revision(b.caller); set.revision != "" {
			set.user = b.caller.User
		}
	}
	d.mu.Lock()
	s := d.servers[set]
	d.mu.Unlock()
	if s != nil {
		return s
	}
	s = d.newServer(b.caller)
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.servers) >= maxServers {
		clear(d.servers)
	}
	maps.DeleteFunc(d.servers, func(old toolset, _ *mcp.Server) bool { // an older revision
		old.revision = set.revision
		return set.user != "" && old == set
	})
	d.servers[set] = s
	return s
}
