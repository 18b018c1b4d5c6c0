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
func signToken(t *testing.T, method jwt.SigningMethod, key any, head map[string]any, claims jwt.MapClaims) string {
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
func claimsWith(name string, v any) jwt.MapClaims {
	c := claims("ann", time.Minute)
	if c[name] = v; v == nil {
		delete(c, name)
	}
	return c
}

// wantTokenRefused checks that all endpoints refuse a token.
func (h *testHub) wantTokenRefused(name string, id wire.SessionID, token string, code wire.Code) {
	h.t.Helper()
	path := "/ws/" + string(id)
	if p := h.wantRefused(path, as(token), http.StatusUnauthorized, code); p.Code != code {
		h.t.Errorf("%s, in the header of a socket: got %+v, want code %v", name, p, code)
	}
	x := h.mustDial(path, dialOptions{})
	x.send(wire.Auth{Token: token})
	x.wantError(code)
	x.wantClosed(wire.CloseUnauthorized)
	// Clients of the desktop dialect only see the close code.
	x = h.mustDial("/ws?sessionId="+string(id)+"&token="+url.QueryEscape(token), dialOptions{})
	x.desktop = true
	x.wantClosed(wire.CloseUnauthorized)
	h.get(sessionPath(id), token).wantProblem(http.StatusUnauthorized, code)
	h.rest(http.MethodGet, sessionPath(id, "/events"), request{token: token, header: header("Accept", "text/event-stream")}).
		wantProblem(http.StatusUnauthorized, code)
	h.post("/api/login", "", `{"token":"`+token+`"}`).wantProblem(http.StatusUnauthorized, code)
	// An invalid new token does not replace a valid one.
	if good := h.renewalToken; good != "" {
		x := h.mustDial(path, as(good))
		next[wire.SessionState](x)
		x.send(wire.Auth{Token: token})
		x.wantError(code)
		x.wantAlive()
	}
}

// newKeyedHub starts a hub with a key file, and a token that is valid there.
func newKeyedHub(t *testing.T, file []byte, good string) *testHub {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	h := newTestHub(t, func(p *hubOptions) { p.auth.KeyFile = path })
	h.renewalToken = good
	next[wire.SessionState](h.mustDial("/ws/"+string(h.newSession("ann")), as(good)))
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

// Tokens with the algorithm none, or signed with HS256 and a public key as the secret, are
// refused with 2002.
func TestAttackAlgorithmOfTheAttackersChoice(t *testing.T) {
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
		h := newKeyedHub(t, file, signToken(t, k.method, k.private, nil, claims("ann", time.Minute)))
		id := h.newSession("ann")
		der, _ := pem.Decode(file)
		for name, token := range map[string]string{
			"none":              signToken(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nil, claims("ann", time.Minute)),
			"nOnE":              signToken(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, map[string]any{"alg": "nOnE"}, claims("ann", time.Minute)),
			"signature removed": h.renewalToken[:strings.LastIndex(h.renewalToken, ".")+1],
			"HS256 with PEM":    signToken(t, jwt.SigningMethodHS256, file, nil, claims("ann", time.Minute)),
			"HS256 trimmed PEM": signToken(t, jwt.SigningMethodHS256, []byte(strings.TrimSpace(string(file))), nil, claims("ann", time.Minute)),
			"HS256 with DER":    signToken(t, jwt.SigningMethodHS256, der.Bytes, nil, claims("ann", time.Minute)),
			"HS256 with key":    signToken(t, jwt.SigningMethodHS256, k.raw, nil, claims("ann", time.Minute)),
			"HS512 with PEM":    signToken(t, jwt.SigningMethodHS512, file, nil, claims("ann", time.Minute)),
		} {
			h.wantTokenRefused(k.method.Alg()+", "+name, id, token, wire.CodeAuthFailed)
		}
	}
}

// Tokens without exp or sub, with another audience or an iat in the future are refused with 2002.
func TestAttackClaimsThatAreMissingOrWrong(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.renewalToken = h.token("ann", time.Minute)
	id := h.newSession("ann")
	later := time.Now().Add(time.Hour).Unix()
	for name, claims := range map[string]jwt.MapClaims{
		"no exp": claimsWith("exp", nil), "wrong aud": claimsWith("aud", "others"), "no aud": claimsWith("aud", nil), "several wrong aud": claimsWith("aud", []string{"a", "b"}),
		"future iat": claimsWith("iat", later), "future nbf": claimsWith("nbf", later), "no sub": claimsWith("sub", nil), "empty sub": claimsWith("sub", ""),
		"sub not text": claimsWith("sub", 7), "wrong iss": claimsWith("iss", "others"), "no iss": claimsWith("iss", nil),
	} {
		h.wantTokenRefused(name, id, signToken(t, jwt.SigningMethodHS256, h.secret, nil, claims), wire.CodeAuthFailed)
	}
}

// A token that expired 31 s ago, more than the leeway of 30 s, is refused with 2003.
func TestAttackExpiredToken(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	h.renewalToken = h.token("ann", time.Minute)
	h.wantTokenRefused("expired", h.newSession("ann"), h.token("ann", -31*time.Second), wire.CodeTokenExpired)
}

// Key ids that are paths or SQL, and headers that name keys elsewhere, are refused with 2002
// without access to files or the network.
func TestAttackKeysOfTheAttackersChoice(t *testing.T) {
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
	h := newKeyedHub(t, set, signToken(t, jwt.SigningMethodEdDSA, ours, map[string]any{"kid": "ours"}, claims("ann", time.Minute)))
	id := h.newSession("ann")
	for _, kid := range []any{
		"../../etc/passwd", relative, file, "file://" + file, "' OR 1=1", "' UNION SELECT 'x", "/dev/null", "", "ours\x00", "OURS", "*", 0, nil,
		[]string{"ours"},
		map[string]string{"$ne": ""},
		evil.URL, strings.Repeat("k", 4000),
	} {
		for _, key := range [][]byte{known, {}, []byte("x")} {
			h.wantTokenRefused("kid, HS256", id, signToken(t, jwt.SigningMethodHS256, key, map[string]any{"kid": kid}, claims("ann", time.Minute)), wire.CodeAuthFailed)
		}
	}
	for _, kid := range []string{"evil", "ours", "secret"} {
		for _, head := range []map[string]any{
			{"jku": evil.URL}, {"x5u": evil.URL}, {"jku": "file://" + file}, {"jwk": theirKey}, {"x5c": []string{base64url(theirs[32:])}}, {"iss": evil.URL},
		} {
			head["kid"] = kid
			h.wantTokenRefused("jku", id, signToken(t, jwt.SigningMethodEdDSA, theirs, head, claims("ann", time.Minute)), wire.CodeAuthFailed)
		}
	}
	h.wantTokenRefused("iss", id, signToken(t, jwt.SigningMethodEdDSA, theirs, map[string]any{"kid": "evil"}, claimsWith("iss", evil.URL)), wire.CodeAuthFailed)
	if n := asked.Load(); n != 0 {
		t.Errorf("requests to the attacker's server: got %d, want 0", n)
	}
}

// A token of 1 MiB is refused with 2002 before it is parsed, and the connection is closed with
// 4401.
func TestAttackHugeToken(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id := h.newSession("ann")
	path := "/ws/" + string(id)
	huge := signToken(t, jwt.SigningMethodHS256, h.secret, nil, claimsWith("x", strings.Repeat("x", 1<<20)))
	x := h.mustDial(path, dialOptions{})
	x.send(wire.Auth{Token: huge})
	x.wantError(wire.CodeAuthFailed)
	x.wantClosed(wire.CloseUnauthorized)
	// The HTTP server accepts neither such a header nor such a body.
	if y, a := h.tryDial(path, as(huge)); y != nil || a.status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("huge token in a header: got %d, want %d", a.status, http.StatusRequestHeaderFieldsTooLarge)
	}
	if y, a := h.tryDial("/ws?token="+huge, dialOptions{}); y != nil || a.status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("huge token in the query: got %d, want %d", a.status, http.StatusRequestHeaderFieldsTooLarge)
	}
	h.post("/api/login", "", `{"token":"`+huge+`"}`).wantProblem(http.StatusRequestEntityTooLarge, wire.CodeMessageTooLarge)
	// Over a WebSocket the frame is too big.
	x = h.mustDial(path, as(h.token("ann", time.Minute)))
	x.send(wire.Auth{Token: huge})
	x.wantError(wire.CodeMessageTooLarge)
	x.wantClosed(wire.CloseTooBig)
	// A shorter one, still longer than any valid token, is refused as a token.
	long := signToken(t, jwt.SigningMethodHS256, h.secret, nil, claimsWith("x", strings.Repeat("x", 8<<10)))
	h.wantRefused(path, as(long), http.StatusUnauthorized, wire.CodeAuthFailed)
	h.get(sessionPath(id), long).wantProblem(http.StatusUnauthorized, wire.CodeAuthFailed)
	x = h.mustDial(path, as(h.token("ann", time.Minute)))
	next[wire.SessionState](x)
	x.send(wire.Auth{Token: long})
	x.wantError(wire.CodeAuthFailed)
	x.wantAlive()
	if strings.Contains(h.log.String(), "signed token was not accepted") {
		t.Error("got a log line about a parsed token, want none")
	}
}

// When a token expires, the hub sends auth_refresh_required and closes the connection after the
// grace period. The times are short here; attack_time_test.go has the real ones.
func TestAttackTokenExpiresMeanwhile(t *testing.T) {
	t.Parallel()
	grace := func(d time.Duration) (h *testHub, path string) {
		h = newTestHub(t, func(p *hubOptions) {
			p.gateway.Heartbeat = 90 * time.Millisecond
			p.gateway.Timeouts.Pong = time.Minute
			p.gateway.Timeouts.Refresh = d
		})
		return h, "/ws/" + string(h.newSession("ann"))
	}
	h, path := grace(150 * time.Millisecond)
	x := h.mustDial(path, as(h.token("ann", time.Second)))
	asked := next[wire.AuthRefreshRequired](x)
	if asked.GraceMS != 150 || time.UnixMilli(int64(asked.ExpiresAt)).After(time.Now()) {
		t.Errorf("request for a new token: got %+v, want 150 ms of grace after the end", asked)
	}
	x.wantError(wire.CodeTokenExpired)
	x.wantClosed(wire.CloseUnauthorized)

	// A client that sends a new token stays connected.
	h, path = grace(time.Minute)
	x = h.mustDial(path, as(h.token("ann", time.Second)))
	next[wire.AuthRefreshRequired](x)
	x.send(wire.Auth{Token: h.token("bob", time.Minute)})
	x.wantError(wire.CodeAuthFailed)
	x.send(wire.Auth{Token: h.token("ann", time.Minute)})
	if got := next[wire.AuthResult](x); !got.OK || got.User != "ann" {
		t.Errorf("auth_result: got %+v, want OK for ann", got)
	}
	next[wire.Ping](x)
	x.wantAlive()
}
