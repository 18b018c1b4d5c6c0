package outbound_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/outbound"
)

// serve starts a server on loopback and returns its URL and the number of its requests.
func serve(t *testing.T, handler http.HandlerFunc) (*url.URL, *atomic.Int64) {
	t.Helper()
	var requests atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		handler(w, r)
	}))
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u, &requests
}

// get requests an address with a client that may reach the listed hosts.
func get(t *testing.T, list, address string, maxBody int64) (string, error) {
	t.Helper()
	hosts, err := outbound.ParseHosts(list)
	if err != nil {
		t.Fatal(err)
	}
	client := hosts.Client(maxBody)
	defer client.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Api-Key", "secret")
	res, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return string(body), err
}

func TestConnectionsAreChecked(t *testing.T) { //nolint:tparallel // its cases count the same requests
	t.Parallel()
	u, requests := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	_, port, err := net.SplitHostPort(u.Host)
	if err != nil {
		t.Fatal(err)
	}
	// The system resolves localhost, so this is what a name that leads to a private address looks like.
	byName := "http://localhost:" + port
	for name, tt := range map[string]struct { //nolint:paralleltest // they count the same requests
		list, address string
		ok            bool
	}{
		"not listed":               {"", u.String(), false},
		"a name, not listed":       {"", byName, false},
		"mapped":                   {"", "http://[::ffff:127.0.0.1]:" + port, false},
		"unspecified":              {"127.0.0.1", "http://0.0.0.0:" + port, false},
		"another port":             {"127.0.0.1:1", u.String(), false},
		"another port of the name": {"localhost:1", byName, false},
		"another name":             {"localhost.example.org", byName, false},
		"the name is not the host": {"localhost", u.String(), false},
		"listed":                   {"127.0.0.1", u.String(), true},
		"listed with its port":     {u.Host, u.String(), true},
		"listed as a network":      {"127.0.0.0/8,::1/128", byName, true},
		"listed as a name":         {"LocalHost", byName, true},
		"listed as name and port":  {"localhost:" + port, byName, true},
		"mapped and listed":        {"127.0.0.1", "http://[::ffff:127.0.0.1]:" + port, true},
	} {
		t.Run(name, func(t *testing.T) {
			before := requests.Load()
			body, err := get(t, tt.list, tt.address, 0)
			if tt.ok {
				if err != nil || body != "hello" {
					t.Errorf("got %q and %v, want hello", body, err)
				}
				return
			}
			f, _ := errors.AsType[*providers.Failure](err)
			refusal, _ := errors.AsType[*outbound.AddressError](err)
			if f == nil || refusal == nil || f.Class != providers.Invalid || requests.Load() != before {
				t.Fatalf("got %q and %v after %d requests, want a refused address and no request", body, err, requests.Load()-before)
			}
			if refusal.Class != outbound.Loopback && refusal.Class != outbound.Unspecified {
				t.Errorf("the class is %s, want %s or %s", refusal.Class, outbound.Loopback, outbound.Unspecified)
			}
		})
	}
}

// A listed name must not lead to a metadata service, whatever its address is now. Nothing is sent:
// the address is refused before the connection is made.
func TestListedNamesStopAtLinkLocalAddresses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"169.254.169.254", "224.0.0.1", "0.0.0.0"} {
		_, err := get(t, "metadata.example.org", "http://"+address, 0)
		if _, ok := errors.AsType[*outbound.AddressError](err); !ok {
			t.Errorf("%s: %v, want a refused address", address, err)
		}
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	other, reached := serve(t, func(http.ResponseWriter, *http.Request) {})
	u, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/there":
			_, _ = io.WriteString(w, "here")
		case "/within":
			http.Redirect(w, r, "/there", http.StatusFound)
		case "/around":
			http.Redirect(w, r, "/around", http.StatusFound)
		case "/away":
			http.Redirect(w, r, other.String(), http.StatusTemporaryRedirect)
		case "/file":
			w.Header().Set("Location", "file:///etc/passwd")
			w.WriteHeader(http.StatusFound)
		}
	})
	list := "127.0.0.1"
	if body, err := get(t, list, u.String()+"/within", 0); err != nil || body != "here" {
		t.Errorf("within the server: got %q and %v, want here", body, err)
	}
	for _, path := range []string{"/around", "/away", "/file"} {
		if _, err := get(t, list, u.String()+path, 0); !errors.Is(err, outbound.ErrRedirect) {
			t.Errorf("%s: %v, want %v", path, err, outbound.ErrRedirect)
		}
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("the other server got %d requests, want none", n)
	}
}

func TestBodiesAreBounded(t *testing.T) {
	t.Parallel()
	u, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("x", len(r.URL.RawQuery)))
	})
	for n, want := range map[int]error{0: nil, 99: nil, 100: nil, 101: outbound.ErrTooLarge, 500: outbound.ErrTooLarge} {
		body, err := get(t, u.Host, u.String()+"?"+strings.Repeat("q", n), 100)
		if !errors.Is(err, want) || len(body) != min(n, 100) {
			t.Errorf("of %d bytes came %d and %v, want %d and %v", n, len(body), err, min(n, 100), want)
		}
	}
}

func TestProxiesOfTheEnvironmentAreNotUsed(t *testing.T) { //nolint:paralleltest // it sets environment variables
	proxy, asked := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "ALL_PROXY"} {
		t.Setenv(name, proxy.String())
	}
	_, err := get(t, "127.0.0.1", "http://169.254.169.254/latest", 0)
	if _, ok := errors.AsType[*outbound.AddressError](err); !ok || asked.Load() != 0 {
		t.Errorf("got %v and %d requests to the proxy, want a refused address and none", err, asked.Load())
	}
}
