package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// viewType is the media type of views. Clients that show views announce it with viewExtension.
const (
	viewExtension = "io.modelcontextprotocol/ui"
	viewType      = "text/html;profile=mcp-app"
)

// Bounds of views and resources.
const (
	maxView     = 8 << 20 // bytes of a document
	maxResource = 4 << 20 // bytes of a resource that a view reads
	maxDomains  = 32      // of each kind
	// maxViewCache bounds all cached documents, in bytes, and viewTime is how long one is used without
	// reading it again.
	maxViewCache = 32 << 20
	viewTime     = time.Minute
	// readResourceTimeout bounds reading a resource of a server that runs.
	readResourceTimeout = 30 * time.Second
)

// ErrNoView means that a server has no such view.
var ErrNoView = errors.New("the MCP server has no such view")

// View is a document that shows calls of a tool. It is written by the server.
type View struct {
	HTML string
	// Connect are the origins that it may connect to, and Resources those from which it may load scripts, styles,
	// pictures and fonts. Only https and wss of public host names are among them.
	Connect, Resources []string
}

// viewMeta is the _meta.ui of a view. Views get no permissions, such as the camera, and no frames.
type viewMeta struct {
	CSP struct {
		Connect   []string `json:"connectDomains"`
		Resources []string `json:"resourceDomains"`
	} `json:"csp"`
}

// views caches documents. The zero value is empty.
type views struct {
	mu    sync.Mutex // guards the following
	by    map[string]cachedView
	bytes int
}

type cachedView struct {
	View
	read time.Time
}

func (v *views) get(key string) (View, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	c, ok := v.by[key]
	return c.View, ok && time.Since(c.read) < viewTime
}

func (v *views) set(key string, view View) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.bytes += len(view.HTML) - len(v.by[key].HTML)
	if v.by == nil || v.bytes > maxViewCache {
		v.by, v.bytes = map[string]cachedView{}, len(view.HTML)
	}
	v.by[key] = cachedView{view, time.Now()}
}

// View reads a view of a server. It starts the server if the view is not known.
func (m *Manager) View(ctx context.Context, at Place, server, uri string) (v View, err error) {
	if !isViewURI(uri) {
		return View{}, fmt.Errorf("%w: %q is not an address of one", ErrNoView, shorten(uri))
	}
	s, err := m.enabledSource(ctx, at.User, server)
	if err != nil {
		return View{}, err
	}
	if v, ok := m.views.get(viewKey(s, at.User, uri)); ok {
		return v, nil
	}
	err = m.withInstance(ctx, at, server, func(s source, i *instance) error {
		v, err = m.readView(ctx, at, s, i, uri)
		return err
	})
	return v, err
}

// viewKey returns the key of a view in the cache.
func viewKey(s source, user, uri string) string { return listKey(s, user) + "\x00" + uri }

func (m *Manager) readView(ctx context.Context, at Place, s source, i *instance, uri string) (View, error) {
	r, err := i.readResource(ctx, at, uri)
	if err != nil {
		return View{}, err
	}
	v, err := viewOf(r)
	if err != nil {
		return View{}, fmt.Errorf("%s of the MCP server %s: %w", shorten(uri), s.Name, err)
	}
	m.views.set(viewKey(s, at.User, uri), v)
	return v, nil
}

// Resource reads a resource of a server for one of its views, and returns it as MCP defines it.
func (m *Manager) Resource(ctx context.Context, at Place, server, uri string) (json.RawMessage, error) {
	var r *mcp.ReadResourceResult
	err := m.withInstance(ctx, at, server, func(_ source, i *instance) (err error) {
		r, err = i.readResource(ctx, at, uri)
		return err
	})
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode a resource: %w", err)
	}
	if len(data) > maxResource {
		return nil, fmt.Errorf("the resource has %d bytes, at most %d can be read", len(data), maxResource)
	}
	return data, nil
}

// ViewTool returns a tool of a server that its views may call. If it is not known, the server is started.
func (m *Manager) ViewTool(ctx context.Context, at Place, server, name string) (tool Tool, ok bool) {
	s, err := m.enabledSource(ctx, at.User, server)
	if err != nil {
		return Tool{}, false
	}
	tools, known := m.toolsOf(s, at.User)
	if !known {
		_ = m.withInstance(ctx, at, server, func(s source, i *instance) error { // the log of the server has the error
			err := i.awaitReady(ctx)
			tools, _ = m.toolsOf(s, at.User)
			return err
		})
	}
	if at := slices.IndexFunc(tools, func(t Tool) bool { return t.Name == name && t.isForViews() }); at >= 0 {
		tool, ok = tools[at], true
	}
	return tool, ok
}

// toolsOf returns the tools of a server of a user, if they are known.
func (m *Manager) toolsOf(s source, user string) ([]Tool, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.lists[listKey(s, user)]
	if l == nil {
		return nil, false
	}
	return l.tools, true
}

// readResource reads a resource. It starts the server if necessary.
func (s *instance) readResource(ctx context.Context, at Place, uri string) (*mcp.ReadResourceResult, error) {
	c := &call{at: at}
	session, err := s.acquire(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("the MCP server %s is not available: %w", s.server.Name, err)
	}
	defer s.release(c)
	ctx, cancel := context.WithTimeout(ctx, readResourceTimeout)
	defer cancel()
	r, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
	if err == nil {
		return r, nil
	}
	if _, answered := errors.AsType[*jsonrpc.Error](err); !answered && ctx.Err() == nil {
		s.abandonSession(session)
	}
	return nil, fmt.Errorf("the MCP server %s: read %s: %s", s.server.Name, shorten(uri), s.log.clean(err.Error()))
}

// viewOf returns the view in a resource.
func viewOf(r *mcp.ReadResourceResult) (View, error) {
	i := slices.IndexFunc(r.Contents, func(c *mcp.ResourceContents) bool { return c != nil && isViewType(c.MIMEType) })
	if i < 0 {
		return View{}, fmt.Errorf("%w: it is not of the type %s", ErrNoView, viewType)
	}
	c := r.Contents[i]
	html := c.Text
	if html == "" {
		html = string(c.Blob)
	}
	if len(html) > maxView {
		return View{}, fmt.Errorf("the view has %d bytes, at most %d are shown", len(html), maxView)
	}
	var meta viewMeta
	if data, err := json.Marshal(c.Meta["ui"]); err == nil && c.Meta["ui"] != nil {
		_ = json.Unmarshal(data, &meta) // what is no policy allows nothing
	}
	return View{
		HTML: strings.ToValidUTF8(html, "\uFFFD"), Connect: domains(meta.CSP.Connect, "https", "wss"), Resources: domains(meta.CSP.Resources, "https"),
	}, nil
}

func isViewURI(uri string) bool { return strings.HasPrefix(uri, "ui://") && isLine(uri, 1024) }

func isViewType(mime string) bool {
	return strings.ReplaceAll(strings.ToLower(mime), " ", "") == viewType
}

// domains returns those declared origins that views may use, at most maxDomains.
func domains(declared []string, schemes ...string) []string {
	var out []string
	for _, d := range declared {
		if o, ok := AllowedOrigin(d, schemes...); ok && !slices.Contains(out, o) && len(out) < maxDomains {
			out = append(out, o)
		}
	}
	return out
}

// AllowedOrigin returns an origin in the form of a source of a content security policy, such as
// https://*.example.com, or false if views may not use it. Only public host names are allowed: pages of
// strangers must not reach what is near the browser. The result has no character that could end a
// directive.
func AllowedOrigin(declared string, schemes ...string) (string, bool) {
	if len(declared) > 255 {
		return "", false
	}
	if !strings.Contains(declared, "://") {
		declared = schemes[0] + "://" + declared
	}
	u, err := url.Parse(declared)
	if err != nil || !slices.Contains(schemes, u.Scheme) || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "" {
		return "", false
	}
	host, port := strings.ToLower(u.Hostname()), u.Port()
	if !isPublicName(strings.TrimPrefix(host, "*.")) {
		return "", false
	}
	if port != "" {
		host += ":" + port
	}
	return u.Scheme + "://" + host, true
}

// isPublicName reports whether a host name can be that of a public server: it has a domain and is no address.
func isPublicName(name string) bool {
	if _, err := netip.ParseAddr(name); err == nil || !strings.Contains(name, ".") {
		return false
	}
	labels := strings.Split(name, ".")
	last := labels[len(labels)-1]
	if slices.Contains([]string{"local", "localhost", "internal", "lan", "home", "arpa", "onion"}, last) || strings.Trim(last, "0123456789") == "" {
		return false
	}
	return !slices.ContainsFunc(labels, func(l string) bool {
		return l == "" || len(l) > 63 || strings.Trim(l, "abcdefghijklmnopqrstuvwxyz0123456789-_") != ""
	})
}
