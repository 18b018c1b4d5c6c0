package auth_test

import (
	"context"
	"crypto"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// provider is an OpenID issuer on loopback.
type provider struct {
	*httptest.Server
	discoveries, fetches atomic.Int32

	mu       sync.Mutex // guards the following
	keys     string
	document map[string]string
	broken   http.HandlerFunc // handles requests instead, unless nil
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	p := new(provider)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		p.discoveries.Add(1)
		p.mu.Lock()
		defer p.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(p.document)
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		p.fetches.Add(1)
		p.mu.Lock()
		defer p.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(p.keys))
	})
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		broken := p.broken
		p.mu.Unlock()
		if broken != nil {
			broken(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(p.Close)
	p.document = map[string]string{"issuer": p.URL, "jwks_uri": p.URL + "/keys", "authorization_endpoint": p.URL, "token_endpoint": p.URL}
	return p
}

func (p *provider) set(keys string, broken http.HandlerFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys, p.broken = keys, broken
}

func (p *provider) authority(t *testing.T) *auth.Authority {
	t.Helper()
	cfg := auth.Config{Mode: auth.ModeJWT, OIDC: true, Issuer: p.URL, Audience: "everdesk"}
	return newAuthority(t, cfg, openStore(t), t.Output())
}

// The issuer is outside of the bubble and takes no virtual time.

func TestIssuer(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	ed, rs, fresh := newEd25519(t), newRSA(t, 2048), newEd25519(t)
	p.set(jwks(t, map[string]crypto.PublicKey{"e": ed.Public(), "r": rs.Public()}), nil)
	synctest.Test(t, func(t *testing.T) {
		a := p.authority(t)
		if p.discoveries.Load() != 0 {
			t.Error("the issuer was asked before it was needed")
		}
		claims := func(changes map[string]any) map[string]any {
			c := validClaims(map[string]any{"iss": p.URL, "roles": []string{"admin"}})
			for name, v := range changes {
				if c[name] = v; v == nil {
					delete(c, name)
				}
			}
			return c
		}
		e, r := map[string]any{"kid": "e"}, map[string]any{"kid": "r"}
		var wg sync.WaitGroup
		for range 8 { // concurrent requests, one fetch
			wg.Go(func() {
				who, err := a.Bearer(t.Context(), sign(t, jwt.SigningMethodEdDSA, ed, e, claims(nil)))
				wantUser(t, who, err, "ann")
				if !who.Has(auth.RoleAdmin) || who.Expires.IsZero() {
					t.Errorf("identity from the issuer: got %+v, want an admin with an end", who)
				}
			})
		}
		wg.Wait()
		who, err := a.Bearer(t.Context(), sign(t, jwt.SigningMethodRS256, rs, r, claims(nil)))
		wantUser(t, who, err, "ann")
		if n, m := p.discoveries.Load(), p.fetches.Load(); n != 1 || m != 1 {
			t.Errorf("requests to the issuer: got %d discoveries and %d fetches of keys, want one each", n, m)
		}
		if err := a.SignOut(t.Context(), "bob"); err != nil {
			t.Fatal(err)
		}
		const past = 900_000_000
		for name, c := range map[string]struct {
			token string
			code  wire.Code
		}{
			"expired":      {sign(t, jwt.SigningMethodEdDSA, ed, e, claims(map[string]any{"exp": past, "iat": past - 60})), 2003},
			"no exp":       {sign(t, jwt.SigningMethodEdDSA, ed, e, claims(map[string]any{"exp": nil})), 2002},
			"no sub":       {sign(t, jwt.SigningMethodEdDSA, ed, e, claims(map[string]any{"sub": nil})), 2002},
			"for others":   {sign(t, jwt.SigningMethodEdDSA, ed, e, claims(map[string]any{"aud": "others"})), 2002},
			"of others":    {sign(t, jwt.SigningMethodEdDSA, ed, e, claims(map[string]any{"iss": "https://issuer"})), 2002},
			"signed out":   {sign(t, jwt.SigningMethodEdDSA, ed, e, claims(map[string]any{"sub": "bob"})), 2002},
			"alg none":     {sign(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, e, claims(nil)), 2002},
			"HS256":        {sign(t, jwt.SigningMethodHS256, []byte(publicPEM(t, rs.Public(), nil)), r, claims(nil)), 2002},
			"RS512":        {sign(t, jwt.SigningMethodRS512, rs, r, claims(nil)), 2002},
			"crit":         {sign(t, jwt.SigningMethodEdDSA, ed, map[string]any{"kid": "e", "crit": []string{"x"}}, claims(nil)), 2002},
			"another key":  {sign(t, jwt.SigningMethodEdDSA, fresh, e, claims(nil)), 2002},
			"no signature": {"e30.e30.", 2002},
			"nonsense":     {"a.b.c", 2002},
		} {
			_, err := a.Bearer(t.Context(), c.token)
			if e, ok := errors.AsType[*auth.Error](err); !ok || e.Code != c.code {
				t.Errorf("%s: got %v, want %d", name, err, c.code)
			}
		}
	})
}

// A new key of the issuer is fetched, but tokens with unknown keys cause at most one fetch a
// second. In between, a token with an unknown key is not refused permanently.
func TestIssuerRotates(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	old, fresh := newEd25519(t), newEd25519(t)
	p.set(jwks(t, map[string]crypto.PublicKey{"old": old.Public()}), nil)
	synctest.Test(t, func(t *testing.T) {
		a := p.authority(t)
		claims := validClaims(map[string]any{"iss": p.URL})
		token := sign(t, jwt.SigningMethodEdDSA, old, map[string]any{"kid": "old"}, claims)
		who, err := a.Bearer(t.Context(), token)
		wantUser(t, who, err, "ann")
		bad := sign(t, jwt.SigningMethodEdDSA, fresh, map[string]any{"kid": "fresh"}, claims)
		forged := sign(t, jwt.SigningMethodEdDSA, fresh, map[string]any{"kid": "old"}, claims)
		for range 3 {
			time.Sleep(time.Second)
			_, err := a.Bearer(t.Context(), bad) // the keys just fetched do not have it
			wantCode(t, err, wire.CodeAuthFailed)
			for range 20 { // it may have it by now
				if _, err := a.Bearer(t.Context(), bad); !errors.Is(err, auth.ErrIssuer) {
					t.Fatalf("a token of an unknown key is %v, want ErrIssuer", err)
				}
				_, err := a.Bearer(t.Context(), forged) // its signature is invalid in any case
				wantCode(t, err, wire.CodeAuthFailed)
			}
		}
		if n := p.fetches.Load(); n != 4 {
			t.Errorf("fetches for 123 bad tokens in 3 s: got %d, want 3", n-1)
		}
		who, err = a.Bearer(t.Context(), token) // known keys are not affected
		wantUser(t, who, err, "ann")
		p.set(jwks(t, map[string]crypto.PublicKey{"fresh": fresh.Public()}), nil)
		time.Sleep(time.Second)
		who, err = a.Bearer(t.Context(), bad) // valid now
		wantUser(t, who, err, "ann")
	})
}

// An unavailable issuer signs no user out, and is used again when it is back.
func TestIssuerUnavailable(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"error page": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "sorry", http.StatusBadGateway) },
		"not JSON":   func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("<html>")) },
		"endless":    func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(strings.Repeat("[", 2<<20))) },
		"elsewhere": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://evil.example/", http.StatusFound)
		},
		"in circles": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProvider(t)
			ed := newEd25519(t)
			keys := jwks(t, map[string]crypto.PublicKey{"e": ed.Public()})
			synctest.Test(t, func(t *testing.T) {
				a := p.authority(t)
				token := sign(t, jwt.SigningMethodEdDSA, ed, map[string]any{"kid": "e"}, validClaims(map[string]any{"iss": p.URL}))
				unavailable := func() {
					t.Helper()
					for range 3 {
						if _, err := a.Bearer(t.Context(), token); !errors.Is(err, auth.ErrIssuer) || errors.Is(err, store.ErrUnavailable) {
							t.Fatalf("unavailable issuer: got error %v, want %v and not %v", err, auth.ErrIssuer, store.ErrUnavailable)
						}
					}
					time.Sleep(time.Second)
				}
				p.set(keys, answer)
				unavailable()
				p.set(keys, func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/keys" {
						answer(w, r)
						return
					}
					json.NewEncoder(w).Encode(p.document)
				})
				unavailable() // the discovery document is cached, but the keys cannot be fetched
				p.set(keys, nil)
				who, err := a.Bearer(t.Context(), token)
				wantUser(t, who, err, "ann")
				p.set(keys, answer)
				who, err = a.Bearer(t.Context(), token) // with the cached keys
				wantUser(t, who, err, "ann")
			})
		})
	}
}

// A cancelled request does not wait for an issuer that does not answer.
func TestIssuerHangs(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	asked := make(chan struct{})
	p.set("", func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	})
	a := p.authority(t)
	token := sign(t, jwt.SigningMethodEdDSA, newEd25519(t), nil, validClaims(map[string]any{"iss": p.URL}))
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		<-asked
		leave()
	}()
	if _, err := a.Bearer(ctx, token); !errors.Is(err, auth.ErrIssuer) || errors.Is(err, store.ErrUnavailable) {
		t.Errorf("hanging issuer: got error %v, want %v and not %v", err, auth.ErrIssuer, store.ErrUnavailable)
	}
}

func TestIssuerSettings(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]auth.Config{
		"no issuer":   {Audience: "everdesk"},
		"no audience": {Issuer: "https://issuer"},
		"plain http":  {Issuer: "http://issuer.example", Audience: "everdesk"},
		"not a URL":   {Issuer: "issuer", Audience: "everdesk"},
		"password":    {Issuer: "https://a:b@issuer", Audience: "everdesk"},
		"file":        {Issuer: "file:///etc/passwd", Audience: "everdesk"},
		"and keys":    {Issuer: "https://issuer", Audience: "everdesk", KeyFile: writeFile(t, secret)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg.Mode, cfg.OIDC = auth.ModeJWT, true
			if _, err := auth.New(t.Context(), cfg, openStore(t)); err == nil {
				t.Error("invalid settings of the issuer: got no error, want one")
			}
		})
	}
}

// The discovery document must name the configured issuer, and its keys must be served over https.
func TestIssuerInvalidDocuments(t *testing.T) {
	t.Parallel()
	for name, lie := range map[string]map[string]string{
		"issuer": {"issuer": "https://other"}, "keys": {"jwks_uri": "http://evil.example/keys"}, "no keys": {"jwks_uri": ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProvider(t)
			maps.Copy(p.document, lie)
			_, err := p.authority(t).Bearer(t.Context(), sign(t, jwt.SigningMethodEdDSA, newEd25519(t), nil, validClaims(map[string]any{"iss": p.URL})))
			if !errors.Is(err, auth.ErrIssuer) || p.fetches.Load() != 0 {
				t.Errorf("invalid document of the issuer: got error %v and %d fetches of keys, want %v and none", err, p.fetches.Load(), auth.ErrIssuer)
			}
		})
	}
}
