package gateway_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/everdesk/everdesk/wire"
)

// The tests of attacks with tokens, on every endpoint that accepts one. The tests of package auth
// cover more kinds of invalid tokens.

// signToken signs a token with any method, key and header.
func forge(t *testing.T, method jwt.SigningMethod, key any, head map[string]any, claims jwt.MapClaims) string {
	t.Helper()
	token := jwt.NewWithClaims(method, claims)
	maps.Copy(token.Header, head)
	text, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// claimsWith returns valid claims with one changed; nil removes it.
func with(name string, v any) jwt.MapClaims {
	c := claims("ann", time.Minute)
	if c[name] = v; v == nil {
		delete(c, name)
	}
	return c
}

// wantTokenRefused checks that all endpoints refuse a token.
func (h *hall) denied(name string, id wire.SessionID, token string, code wire.Code) {
	h.t.Helper()
	path := "/ws/" + string(id)
	if p := h.refused(path, as(token), http.StatusUnauthorized, code); p.Code != code {
		h.t.Errorf("%s, in the header of a socket: %+v", name, p)
	}
	x := h.enter(path, visit{})
	x.say(wire.Auth{Token: token})
	x.notice(code)
	x.closed(wire.CloseUnauthorized)
	// Clients of the desktop dialect only see the close code.
	x = h.enter("/ws?sessionId="+string(id)+"&token="+url.QueryEscape(token), visit{})
	x.desktop = true
	x.closed(wire.CloseUnauthorized)
	h.get(at(id), token).problem(http.StatusUnauthorized, code)
	h.rest(http.MethodGet, at(id, "/events"), request{token: token, header: header("Accept", "text/event-stream")}).
		problem(http.StatusUnauthorized, code)
	h.post("/api/login", "", `{"token":"`+token+`"}`).problem(http.StatusUnauthorized, code)
	// An invalid new token does not replace a valid one.
	if good := h.good; good != "" {
		x := h.enter(path, as(good))
		next[wire.SessionState](x)
		x.say(wire.Auth{Token: token})
		x.notice(code)
		x.alive()
	}
}

// newKeyedHub starts a hub with a key file, and a token that is valid there.
func keyed(t *testing.T, file []byte, good string) *hall {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	h := newHall(t, func(p *plan) { p.auth.KeyFile = path })
	h.good = good
	next[wire.SessionState](h.enter("/ws/"+string(h.session("ann")), as(good)))
	return h
}

func newEd25519(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return private
}

func publicPEM(t *testing.T, public any) []byte {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

// Row 11: JWT alg none / HS256-with-pubkey: 2002.
func TestAttack11AlgorithmOfTheAttackersChoice(t *testing.T) {
	t.Parallel()
	rs, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	ed := newEd25519(t)
	for _, k := range []struct {
		method          jwt.SigningMethod
		private, public any
		raw             []byte
	}{
		{jwt.SigningMethodRS256, rs, rs.Public(), rs.N.Bytes()},
		{jwt.SigningMethodEdDSA, ed, ed.Public(), ed[32:]},
	} {
		file := publicPEM(t, k.public)
		h := keyed(t, file, forge(t, k.method, k.private, nil, claims("ann", time.Minute)))
		id := h.session("ann")
		der, _ := pem.Decode(file)
		for name, token := range map[string]string{
			"none":              forge(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nil, claims("ann", time.Minute)),
			"nOnE":              forge(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, map[string]any{"alg": "nOnE"}, claims("ann", time.Minute)),
			"signature removed": h.good[:strings.LastIndex(h.good, ".")+1],
			"HS256 with PEM":    forge(t, jwt.SigningMethodHS256, file, nil, claims("ann", time.Minute)),
			"HS256 trimmed PEM": forge(t, jwt.SigningMethodHS256, []byte(strings.TrimSpace(string(file))), nil, claims("ann", time.Minute)),
			"HS256 with DER":    forge(t, jwt.SigningMethodHS256, der.Bytes, nil, claims("ann", time.Minute)),
			"HS256 with key":    forge(t, jwt.SigningMethodHS256, k.raw, nil, claims("ann", time.Minute)),
			"HS512 with PEM":    forge(t, jwt.SigningMethodHS512, file, nil, claims("ann", time.Minute)),
		} {
			h.denied(k.method.Alg()+", "+name, id, token, wire.CodeAuthFailed)
		}
	}
}

// Row 12: JWT without exp / wrong aud / future iat / no sub: 2002.
func TestAttack12ClaimsThatAreMissingOrWrong(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	h.good = h.token("ann", time.Minute)
	id := h.session("ann")
	later := time.Now().Add(time.Hour).Unix()
	for name, claims := range map[string]jwt.MapClaims{
		"no exp": with("exp", nil), "wrong aud": with("aud", "others"), "no aud": with("aud", nil), "several wrong aud": with("aud", []string{"a", "b"}),
		"future iat": with("iat", later), "future nbf": with("nbf", later), "no sub": with("sub", nil), "empty sub": with("sub", ""),
		"sub not text": with("sub", 7), "wrong iss": with("iss", "others"), "no iss": with("iss", nil),
	} {
		h.denied(name, id, forge(t, jwt.SigningMethodHS256, h.secret, nil, claims), wire.CodeAuthFailed)
	}
}

// Row 13: JWT exp 31 s ago: 2003.
func TestAttack13ExpiredToken(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	h.good = h.token("ann", time.Minute)
	h.denied("expired", h.session("ann"), h.token("ann", -31*time.Second), wire.CodeTokenExpired)
}

// Row 14: JWT kid=../../etc/passwd, kid=' OR 1=1, jku=https://evil: 2002, no
// file or network access.
func TestAttack14KeysOfTheAttackersChoice(t *testing.T) {
	t.Parallel()
	ours, theirs := newEd25519(t), newEd25519(t)
	base64url := base64.RawURLEncoding.EncodeToString
	theirKey := map[string]string{"kty": "OKP", "crv": "Ed25519", "kid": "evil", "x": base64url(theirs[32:])}
	theirSet, err := json.Marshal(map[string]any{"keys": []any{theirKey}})
	if err != nil {
		t.Fatal(err)
	}
	// The URL of a jku serves a valid key, and counts requests.
	var asked atomic.Int32
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = w.Write(theirSet)
	}))
	t.Cleanup(evil.Close)
	// So does the file that a kid names.
	known := []byte(strings.Repeat("known to everybody ", 4))
	file := filepath.Join(t.TempDir(), "passwd")
	if err := os.WriteFile(file, known, 0o600); err != nil {
		t.Fatal(err)
	}
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(wd, file)
	if err != nil {
		t.Fatal(err)
	}
	secret := strings.Repeat("a secret of ours ", 4)
	set, err := json.Marshal(map[string]any{"keys": []any{
		map[string]string{"kty": "OKP", "crv": "Ed25519", "kid": "ours", "x": base64url(ours[32:])},
		map[string]string{"kty": "oct", "alg": "HS256", "kid": "secret", "k": base64url([]byte(secret))},
	}})
	if err != nil {
		t.Fatal(err)
	}
	h := keyed(t, set, forge(t, jwt.SigningMethodEdDSA, ours, map[string]any{"kid": "ours"}, claims("ann", time.Minute)))
	id := h.session("ann")
	for _, kid := range []any{
		"../../etc/passwd", relative, file, "file://" + file, "' OR 1=1", "' UNION SELECT 'x", "/dev/null", "", "ours\x00", "OURS", "*", 0, nil,
		[]string{"ours"},
		map[string]string{"$ne": ""},
		evil.URL, strings.Repeat("k", 4000),
	} {
		for _, key := range [][]byte{known, {}, []byte("x")} {
			h.denied("kid, HS256", id, forge(t, jwt.SigningMethodHS256, key, map[string]any{"kid": kid}, claims("ann", time.Minute)), wire.CodeAuthFailed)
		}
	}
	for _, kid := range []string{"evil", "ours", "secret"} {
		for _, head := range []map[string]any{
			{"jku": evil.URL}, {"x5u": evil.URL}, {"jku": "file://" + file}, {"jwk": theirKey}, {"x5c": []string{base64url(theirs[32:])}}, {"iss": evil.URL},
		} {
			head["kid"] = kid
			h.denied("jku", id, forge(t, jwt.SigningMethodEdDSA, theirs, head, claims("ann", time.Minute)), wire.CodeAuthFailed)
		}
	}
	h.denied("iss", id, forge(t, jwt.SigningMethodEdDSA, theirs, map[string]any{"kid": "evil"}, with("iss", evil.URL)), wire.CodeAuthFailed)
	if n := asked.Load(); n != 0 {
		t.Errorf("the attacker's server was asked %d times", n)
	}
}

// Row 15: token 1 MiB long: 2002 without parsing, 4401.
func TestAttack15HugeToken(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	id := h.session("ann")
	path := "/ws/" + string(id)
	huge := forge(t, jwt.SigningMethodHS256, h.secret, nil, with("x", strings.Repeat("x", 1<<20)))
	x := h.enter(path, visit{})
	x.say(wire.Auth{Token: huge})
	x.notice(wire.CodeAuthFailed)
	x.closed(wire.CloseUnauthorized)
	// The HTTP server accepts neither such a header nor such a body.
	if y, a := h.knock(path, as(huge)); y != nil || a.status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("as a header: %d", a.status)
	}
	if y, a := h.knock("/ws?token="+huge, visit{}); y != nil || a.status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("in the query: %d", a.status)
	}
	h.post("/api/login", "", `{"token":"`+huge+`"}`).problem(http.StatusRequestEntityTooLarge, wire.CodeMessageTooLarge)
	// Over a WebSocket the frame is too big.
	x = h.enter(path, as(h.token("ann", time.Minute)))
	x.say(wire.Auth{Token: huge})
	x.notice(wire.CodeMessageTooLarge)
	x.closed(wire.CloseTooBig)
	// A shorter one, still longer than any valid token, is refused as a token.
	long := forge(t, jwt.SigningMethodHS256, h.secret, nil, with("x", strings.Repeat("x", 8<<10)))
	h.refused(path, as(long), http.StatusUnauthorized, wire.CodeAuthFailed)
	h.get(at(id), long).problem(http.StatusUnauthorized, wire.CodeAuthFailed)
	x = h.enter(path, as(h.token("ann", time.Minute)))
	next[wire.SessionState](x)
	x.say(wire.Auth{Token: long})
	x.notice(wire.CodeAuthFailed)
	x.alive()
	if strings.Contains(h.log.String(), "signed token was not accepted") {
		t.Error("a token was parsed")
	}
}

// Row 16: token expires mid-connection: auth_refresh_required, 4401 after 60 s grace. With short
// times here; attack_time_test.go has the real ones.
func TestAttack16TokenExpiresMeanwhile(t *testing.T) {
	t.Parallel()
	grace := func(d time.Duration) (h *hall, path string) {
		h = newHall(t, func(p *plan) {
			p.door.Heartbeat = 90 * time.Millisecond
			p.door.Timeouts.Pong = time.Minute
			p.door.Timeouts.Refresh = d
		})
		return h, "/ws/" + string(h.session("ann"))
	}
	h, path := grace(150 * time.Millisecond)
	x := h.enter(path, as(h.token("ann", time.Second)))
	asked := next[wire.AuthRefreshRequired](x)
	if asked.GraceMS != 150 || time.UnixMilli(int64(asked.ExpiresAt)).After(time.Now()) {
		t.Errorf("asked with %+v", asked)
	}
	x.notice(wire.CodeTokenExpired)
	x.closed(wire.CloseUnauthorized)

	// A client that sends a new token stays connected.
	h, path = grace(time.Minute)
	x = h.enter(path, as(h.token("ann", time.Second)))
	next[wire.AuthRefreshRequired](x)
	x.say(wire.Auth{Token: h.token("bob", time.Minute)})
	x.notice(wire.CodeAuthFailed)
	x.say(wire.Auth{Token: h.token("ann", time.Minute)})
	if got := next[wire.AuthResult](x); !got.OK || got.User != "ann" {
		t.Errorf("auth_result %+v", got)
	}
	next[wire.Ping](x)
	x.alive()
}
