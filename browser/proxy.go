package browser

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"

	"github.com/everdesk/everdesk/providers/outbound"
)

// Bounds of the proxy.
const (
	headerTimeout   = 10 * time.Second
	maxProxyHeaders = 64 << 10
	// maxRefusals bounds the refusals that are kept: a page may try any number of servers.
	maxRefusals = 1000
)

// proxy is the HTTP proxy of one browser. It connects to addresses that users may reach.
type proxy struct {
	hosts    outbound.Hosts
	server   *http.Server
	plain    *httputil.ReverseProxy
	listener net.Listener
	// tunnels counts the connections that the server no longer knows.
	tunnels sync.WaitGroup
	ctx     context.Context //nolint:containedctx // it ends the tunnels
	cancel  context.CancelFunc

	mu      sync.Mutex
	refused map[string]error // by host and port
}

// startProxy starts a proxy on a loopback port.
func startProxy(hosts outbound.Hosts, log *slog.Logger) (*proxy, error) {
	var lc net.ListenConfig
	listener, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for a browser: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &proxy{hosts: hosts, listener: listener, ctx: ctx, cancel: cancel, refused: map[string]error{}}
	p.plain = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.Out.Header.Del("Proxy-Connection") },
		Transport: &http.Transport{
			DialContext: p.dial, DisableCompression: true, ResponseHeaderTimeout: time.Minute, MaxResponseHeaderBytes: 1 << 20,
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
		ErrorLog:     slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	p.server = &http.Server{
		Handler: p, ReadHeaderTimeout: headerTimeout, MaxHeaderBytes: maxProxyHeaders,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	go func() {
		if err := p.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Warn("proxy of a browser ended", "error", err)
		}
	}()
	return p, nil
}

// url returns the address of the proxy.
func (p *proxy) url() string {
	return (&url.URL{Scheme: "http", Host: p.listener.Addr().String()}).String()
}

// close ends all connections.
func (p *proxy) close() {
	p.cancel()
	_ = p.server.Close() // the connections of a browser that has ended
	p.tunnels.Wait()
	if t, ok := p.plain.Transport.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
}

// dial connects to a checked address, and records a refusal for [proxy.refusal].
func (p *proxy) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := p.hosts.Dial(ctx, network, address)
	refused, ok := errors.AsType[*outbound.AddressError](err)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case ok && len(p.refused) < maxRefusals:
		p.refused[address] = refused
	case err == nil:
		delete(p.refused, address)
	}
	return conn, err
}

// refusal returns why the server of a page may not be reached, or nil.
func (p *proxy) refusal(page *url.URL) error {
	port := page.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[page.Scheme]
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refused[net.JoinHostPort(page.Hostname(), port)]
}

// ServeHTTP implements [http.Handler].
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodConnect:
		p.tunnel(w, r)
	case r.URL.Scheme == "http" && r.URL.Host != "":
		p.plain.ServeHTTP(w, r)
	default:
		http.Error(w, "this is the proxy of a browser", http.StatusBadRequest)
	}
}

// tunnel connects the browser with a server, whose bytes the proxy does not read.
func (p *proxy) tunnel(w http.ResponseWriter, r *http.Request) {
	server, err := p.dial(r.Context(), "tcp", r.Host)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer closeQuietly(server)
	p.tunnels.Add(1)
	defer p.tunnels.Done()
	w.WriteHeader(http.StatusOK)
	browser, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer closeQuietly(browser)
	stop := context.AfterFunc(p.ctx, func() {
		closeQuietly(server)
		closeQuietly(browser)
	})
	defer stop()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_, _ = io.Copy(server, buffered) // either end may close the tunnel
		closeWrite(server)
	}()
	_, _ = io.Copy(browser, server)
	closeWrite(browser)
	<-sent
}

// closeWrite ends the data to the other end of the connection.
func closeWrite(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // the connection may be closed already
	}
}

// closeQuietly closes an end of a tunnel, which the other side may have closed already.
func closeQuietly(c net.Conn) { _ = c.Close() }
