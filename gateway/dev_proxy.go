package gateway

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/wire"
)

// devPolicy is a content security policy for a development server that injects scripts and styles
// into the page and reloads them over a WebSocket. It is for development only.
const devPolicy = "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src 'self' blob: data:; " +
	"font-src 'self' data:; connect-src 'self' ws: wss:; worker-src 'self' blob:; frame-src *; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

// newDevProxy returns a proxy to the development server. It removes cookies and tokens.
func newDevProxy(target *url.URL, log *slog.Logger) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Del(echo.HeaderCookie)
			r.Out.Header.Del(echo.HeaderAuthorization)
			r.Out.Header.Del(access.HeaderAPIKey)
		},
		ModifyResponse: func(r *http.Response) error {
			for _, name := range []string{echo.HeaderSetCookie, echo.HeaderContentSecurityPolicy, echo.HeaderXContentTypeOptions, echo.HeaderReferrerPolicy} {
				r.Header.Del(name)
			}
			return nil
		},
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// proxyDev forwards a request to the development server. Its WebSockets end with the server.
func (pg *pages) proxyDev(c echo.Context) error {
	r := c.Request()
	if path := r.URL.Path; path == "/api" || path == "/ws" || strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/ws/") {
		return echo.ErrNotFound
	}
	h := c.Response().Header()
	h.Set(echo.HeaderContentSecurityPolicy, devPolicy)
	h.Del(echo.HeaderCacheControl)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(pg.stopping, cancel)()
	var failed error
	proxy := *pg.dev
	proxy.ErrorHandler = func(_ http.ResponseWriter, _ *http.Request, err error) {
		pg.log.WarnContext(ctx, "development server does not answer", "err", err)
		failed = problem.New(wire.CodeConnectionFailed, "The build tool does not answer; see the setting web-dev.").WithStatus(http.StatusBadGateway)
	}
	proxy.ServeHTTP(c.Response(), r.WithContext(ctx))
	return failed
}
