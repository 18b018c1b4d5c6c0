package fetch_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/everdesk/everdesk/fetch"
	"github.com/everdesk/everdesk/providers/outbound"
	"github.com/everdesk/everdesk/store/filestore"
)

// newClient returns a client that reaches the listed hosts, for users who have allowed nothing.
func newClient(t *testing.T, hosts string) *fetch.Client {
	t.Helper()
	return resolvingClient(t, hosts, nil)
}

// resolvingClient is newClient with a resolver; nil means that of the system.
func resolvingClient(t *testing.T, hosts string, resolver *net.Resolver) *fetch.Client {
	t.Helper()
	s, err := filestore.Open(t.TempDir(), filestore.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	list, err := outbound.ParseHosts(hosts)
	if err != nil {
		t.Fatal(err)
	}
	c := fetch.New(fetch.NewDomains(s.Documents), list.WithResolver(resolver))
	t.Cleanup(c.Close)
	return c
}

func allowAll(t *testing.T, c *fetch.Client, user string) {
	t.Helper()
	yes := true
	if _, err := c.Domains().Change(t.Context(), user, fetch.Change{All: &yes}); err != nil {
		t.Fatal(err)
	}
}

// No form of a private address is reached, even if all domains are allowed. The resolver leads every
// name to loopback, so that forms that are read as names are refused because of their address, too.
func TestPrivateAddressesAreRefused(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	t.Cleanup(s.Close)
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c := resolvingClient(t, "", answering([]string{"127.0.0.1"}))
	allowAll(t, c, "ann")
	for host, want := range map[string]outbound.Class{
		"127.0.0.1": outbound.Loopback, "127.255.255.254": outbound.Loopback, "[::1]": outbound.Loopback, "localhost": outbound.Loopback, "LOCALHOST": outbound.Loopback, "localhost.": outbound.Loopback,
		"0.0.0.0": outbound.Unspecified, "[::]": outbound.Unspecified,
		"0x7f000001": outbound.Loopback, "evil.example": outbound.Loopback,
		"169.254.169.254": outbound.Metadata, "[fd00:ec2::254]": outbound.Metadata, "[fe80::1]": outbound.LinkLocal,
		"10.0.0.1": outbound.Private, "172.16.0.1": outbound.Private, "192.168.0.1": outbound.Private, "100.64.0.1": outbound.SharedSpace,
		// The dialer connects to IPv4-mapped addresses as IPv4 addresses.
		"[::ffff:127.0.0.1]": outbound.Loopback, "[::ffff:7f00:1]": outbound.Loopback, "[::ffff:169.254.169.254]": outbound.Metadata,
		"[64:ff9b::7f00:1]": outbound.Loopback, "[2002:7f00:1::]": outbound.Reserved,
		// Digits of other scripts are read as ASCII ones.
		"１２７.0.0.1": outbound.Loopback, "①27.0.0.1": outbound.Loopback,
	} {
		_, err := c.Do(t.Context(), "ann", fetch.Request{URL: "http://" + host + ":" + port + "/"})
		if refusal, ok := errors.AsType[*fetch.AddressError](err); !ok || refusal.Class != want {
			t.Errorf("%s gives %v, want an address error of the class %s", host, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "dial") {
			t.Errorf("%s gives %v, want nothing about the network of the hub", host, err)
		}
	}
	for _, host := range []string{"127.1", "2130706433", "017700000001", "0177.0.0.1"} { // neither addresses nor names of DNS
		if _, err := c.Do(t.Context(), "ann", fetch.Request{URL: "http://" + host + ":" + port + "/"}); !errors.Is(err, fetch.ErrUnreachable) {
			t.Errorf("%s gives %v, want %v", host, err, fetch.ErrUnreachable)
		}
	}
	if n := requests.Load(); n != 0 {
		t.Errorf("the server got %d requests, want none", n)
	}
}

// A redirect is followed only to allowed domains with public or listed addresses.
func TestRedirects(t *testing.T) {
	t.Parallel()
	var inner atomic.Int64
	private := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { inner.Add(1) }))
	t.Cleanup(private.Close)
	mux := http.NewServeMux()
	for path, to := range map[string]string{
		"/private": private.URL, "/metadata": "http://169.254.169.254/latest/", "/other": "http://other.example/", "/file": "file:///etc/passwd", "/ok": "/end", "/loop": "/loop",
		"/password": "http://user:password@127.0.0.1/",
	} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) })
	}
	mux.HandleFunc("GET /end", func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "end"+r.Header.Get("Cookie")) })
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	c := newClient(t, s.Listener.Addr().String()) // not the private one, which has another port
	for _, name := range []string{"127.0.0.1", "169.254.169.254"} {
		if _, err := c.Domains().Allow(t.Context(), "ann", name); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]func(error) bool{
		"/private": func(err error) bool {
			e, ok := errors.AsType[*fetch.AddressError](err)
			return ok && e.Class == outbound.Loopback
		},
		"/metadata": func(err error) bool {
			e, ok := errors.AsType[*fetch.AddressError](err)
			return ok && e.Class == outbound.Metadata
		},
		"/other": func(err error) bool {
			e, ok := errors.AsType[*fetch.DomainError](err)
			return ok && e.Domain == "other.example" && e.Redirect
		},
		"/file":     func(err error) bool { return errors.Is(err, fetch.ErrURL) },
		"/password": func(err error) bool { return errors.Is(err, fetch.ErrURL) },
		"/loop":     func(err error) bool { return errors.Is(err, fetch.ErrRedirects) },
		"/ok":       func(err error) bool { return err == nil },
	} {
		if _, err := c.Do(t.Context(), "ann", fetch.Request{URL: s.URL + path}); !want(err) {
			t.Errorf("%s gives %v, want another error", path, err)
		}
	}
	if n := inner.Load(); n != 0 {
		t.Errorf("the private server got %d requests, want none", n)
	}
}

func TestRequestsAreBounded(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Cookie")+r.Header.Get("Authorization")+r.Header.Get("Accept-Encoding") != "" {
			w.WriteHeader(http.StatusBadRequest)
		}
		for range fetch.MaxBody/(64<<10) + 2 {
			_, _ = w.Write(make([]byte, 64<<10))
		}
	}))
	t.Cleanup(s.Close)
	c := newClient(t, "127.0.0.1")
	allowAll(t, c, "ann")
	res, err := c.Do(t.Context(), "ann", fetch.Request{URL: s.URL})
	if err != nil || res.Status != http.StatusOK || len(res.Body) != fetch.MaxBody || !res.Cut {
		t.Errorf("got status %d, %d bytes, cut %v and %v, want %d bytes, cut, without credentials", res.Status, len(res.Body), res.Cut, err, fetch.MaxBody)
	}
	for name, tt := range map[string]struct {
		r    fetch.Request
		want error
	}{
		"method":       {fetch.Request{URL: s.URL, Method: "CONNECT"}, fetch.ErrMethod},
		"body":         {fetch.Request{URL: s.URL, Method: "POST", Body: make([]byte, fetch.MaxRequestBody+1)}, fetch.ErrRequestTooLarge},
		"host header":  {fetch.Request{URL: s.URL, Header: map[string]string{"Host": "x"}}, fetch.ErrHeader},
		"proxy header": {fetch.Request{URL: s.URL, Header: map[string]string{"proxy-authorization": "x"}}, fetch.ErrHeader},
		"line break":   {fetch.Request{URL: s.URL, Header: map[string]string{"X": "a\r\nb: c"}}, fetch.ErrHeader},
		"name":         {fetch.Request{URL: s.URL, Header: map[string]string{"a b": "c"}}, fetch.ErrHeader},
		"scheme":       {fetch.Request{URL: "gopher://127.0.0.1/"}, fetch.ErrURL},
		"no host":      {fetch.Request{URL: "http:///x"}, fetch.ErrURL},
		"password":     {fetch.Request{URL: "http://a:b@127.0.0.1/"}, fetch.ErrURL},
		"not a URL":    {fetch.Request{URL: "http://[::1"}, fetch.ErrURL},
	} {
		if _, err := c.Do(t.Context(), "ann", tt.r); !errors.Is(err, tt.want) {
			t.Errorf("%s gives %v, want %v", name, err, tt.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Do(ctx, "ann", fetch.Request{URL: s.URL}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled request gives %v, want %v", err, context.Canceled)
	}
}

// Users have domains of their own, and concurrent changes are all kept.
func TestDomains(t *testing.T) {
	t.Parallel()
	c := newClient(t, "")
	var wg sync.WaitGroup
	for _, name := range []string{"a.example", "b.example", "c.example"} {
		wg.Go(func() {
			if _, err := c.Domains().Allow(t.Context(), "ann", name); err != nil {
				t.Errorf("allow %s: %v", name, err)
			}
		})
	}
	wg.Wait()
	l, err := c.Domains().Of(t.Context(), "ann")
	if err != nil || len(l.Names) != 3 || !l.Allows("A.example.") || l.Allows("sub.a.example") || l.Allows("example") {
		t.Errorf("got %+v and %v, want the three domains and nothing else", l, err)
	}
	if l, err := c.Domains().Of(t.Context(), "bob"); err != nil || l.Allows("a.example") {
		t.Errorf("another user has %+v (%v), want none", l, err)
	}
	many := make([]string, fetch.MaxDomains)
	for i := range many {
		many[i] = strings.Repeat("x", i%60+1) + string(rune('a'+i/60)) + ".example"
	}
	if _, err := c.Domains().Change(t.Context(), "ann", fetch.Change{Allow: many}); !errors.Is(err, fetch.ErrTooMany) {
		t.Errorf("too many domains give %v, want %v", err, fetch.ErrTooMany)
	}
}
