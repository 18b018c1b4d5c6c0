package auth_test

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/wire"
)

const secret = "a secret of more than thirty-two bytes"

// writeFile writes a file that is deleted with the test.
func writeFile(tb testing.TB, data string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "keys")
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// publicPEM encodes a public key as openssl does.
func publicPEM(tb testing.TB, key crypto.PublicKey, headers map[string]string) string {
	tb.Helper()
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		tb.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der, Headers: headers}))
}

func privatePEM(tb testing.TB, key crypto.PrivateKey) string {
	tb.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		tb.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

func newEd25519(tb testing.TB) ed25519.PrivateKey {
	tb.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

func newRSA(tb testing.TB, bits int) *rsa.PrivateKey {
	tb.Helper()
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

// jwks encodes public keys as an issuer does.
func jwks(tb testing.TB, keys map[string]crypto.PublicKey) string {
	tb.Helper()
	text := base64.RawURLEncoding.EncodeToString
	var list []map[string]string
	for id, key := range keys {
		j := map[string]string{"kid": id, "use": "sig"}
		switch k := key.(type) {
		case ed25519.PublicKey:
			j["kty"], j["crv"], j["x"] = "OKP", "Ed25519", text(k)
		case *rsa.PublicKey:
			j["kty"], j["alg"], j["n"], j["e"] = "RSA", "RS256", text(k.N.Bytes()), text(big.NewInt(int64(k.E)).Bytes())
		case []byte:
			j["kty"], j["k"] = "oct", text(k)
		}
		list = append(list, j)
	}
	data, err := json.Marshal(map[string]any{"keys": list})
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}

// sign signs any claims.
func sign(tb testing.TB, method jwt.SigningMethod, key any, header, claims map[string]any) string {
	tb.Helper()
	token := jwt.NewWithClaims(method, jwt.MapClaims(claims))
	maps.Copy(token.Header, header)
	text, err := token.SignedString(key)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// validClaims returns valid claims, with changes. A nil removes a claim.
func validClaims(changes map[string]any) map[string]any {
	now := time.Now().Unix()
	c := map[string]any{"sub": "ann", "iat": now, "exp": now + 600, "iss": "https://issuer", "aud": "everdesk"}
	for name, v := range changes {
		if c[name] = v; v == nil {
			delete(c, name)
		}
	}
	return c
}

func TestSignedToken(t *testing.T) {
	t.Parallel()
	ed, rs := newEd25519(t), newRSA(t, 2048)
	set := jwks(t, map[string]crypto.PublicKey{"e": ed.Public(), "r": rs.Public(), "s": []byte(secret)})
	for name, c := range map[string]struct {
		file string
		key  any
		id   string
	}{
		"secret":       {secret + "\n", []byte(secret), ""},
		"Ed25519":      {publicPEM(t, ed.Public(), nil), ed, ""},
		"RSA":          {"a comment\n" + publicPEM(t, rs.Public(), nil), rs, ""},
		"named PEM":    {publicPEM(t, ed.Public(), map[string]string{"kid": "e"}) + publicPEM(t, rs.Public(), map[string]string{"kid": "r"}), rs, "r"},
		"set, Ed25519": {set, ed, "e"},
		"set, RSA":     {set, rs, "r"},
		"set, secret":  {set, []byte(secret), "s"},
		"set of one":   {jwks(t, map[string]crypto.PublicKey{"e": ed.Public()}), ed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := auth.Config{Mode: auth.ModeJWT, KeyFile: writeFile(t, c.file), Issuer: "https://issuer", Audience: "everdesk"}
			a := newAuthority(t, cfg, openStore(t), t.Output())
			token, err := auth.NewSignedToken(c.key, auth.TokenClaims{
				User: "ann", Roles: []auth.Role{auth.RoleViewer}, TTL: time.Hour,
				Issuer: "https://issuer", Audience: "everdesk", KeyID: c.id,
			})
			if err != nil {
				t.Fatal(err)
			}
			who, err := a.Bearer(t.Context(), token)
			wantUser(t, who, err, "ann")
			if !who.Has(auth.RoleViewer) || who.Has(auth.RoleUser) || time.Until(who.Expires) > time.Hour || who.Since.IsZero() {
				t.Errorf("identity of a signed token: got %+v, want only a viewer, with a start, for at most an hour", who)
			}
			if _, ok := a.Anonymous(); ok || a.InstallationToken() != "" {
				t.Error("mode jwt: got another way in, want signed tokens only")
			}
			// A modified signature.
			_, err = a.Bearer(t.Context(), token[:len(token)-8]+"AAAAAAAA")
			wantCode(t, err, wire.CodeAuthFailed)
		})
	}
}

// Forged, expired and malformed tokens are refused, and neither the error nor the log quotes them.
func TestSignedTokenRefuses(t *testing.T) {
	t.Parallel()
	ed, rs := newEd25519(t), newRSA(t, 2048)
	edPEM, rsPEM := publicPEM(t, ed.Public(), nil), publicPEM(t, rs.Public(), nil)
	set := jwks(t, map[string]crypto.PublicKey{"e": ed.Public(), "r": rs.Public(), "s": []byte(secret)})
	hs, eddsa, rs256 := jwt.SigningMethodHS256, jwt.SigningMethodEdDSA, jwt.SigningMethodRS256
	now := time.Now().Unix()
	claim := func(name string, v any) string {
		return sign(t, hs, []byte(secret), nil, validClaims(map[string]any{name: v}))
	}
	header := func(name string, v any) string {
		return sign(t, hs, []byte(secret), map[string]any{name: v}, validClaims(nil))
	}
	type bad struct {
		file, token string
		code        wire.Code
	}
	cases := map[string]bad{
		"alg none":                {secret, sign(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nil, validClaims(nil)), 2002},
		"alg none, set":           {set, sign(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, map[string]any{"kid": "e"}, validClaims(nil)), 2002},
		"HS256 with public PEM":   {edPEM, sign(t, hs, []byte(edPEM), nil, validClaims(nil)), 2002},
		"HS256 with RSA PEM":      {rsPEM, sign(t, hs, []byte(rsPEM), nil, validClaims(nil)), 2002},
		"HS256 with key of set":   {set, sign(t, hs, []byte(ed.Public().(ed25519.PublicKey)), map[string]any{"kid": "e"}, validClaims(nil)), 2002},
		"key of another":          {set, sign(t, eddsa, ed, map[string]any{"kid": "r"}, validClaims(nil)), 2002},
		"HS384":                   {secret, sign(t, jwt.SigningMethodHS384, []byte(secret), nil, validClaims(nil)), 2002},
		"PS256":                   {rsPEM, sign(t, jwt.SigningMethodPS256, rs, nil, validClaims(nil)), 2002},
		"another secret":          {secret, sign(t, hs, []byte(secret+"!"), nil, validClaims(nil)), 2002},
		"another key":             {edPEM, sign(t, eddsa, newEd25519(t), nil, validClaims(nil)), 2002},
		"no exp":                  {secret, claim("exp", nil), 2002},
		"no exp but expired iat":  {secret, sign(t, hs, []byte(secret), nil, validClaims(map[string]any{"exp": nil, "iat": 1})), 2002},
		"exp as text":             {secret, claim("exp", "tomorrow"), 2002},
		"exp out of range":        {secret, claim("exp", 1e300), 2003},
		"expired":                 {secret, claim("exp", now-31), 2003},
		"expired, set":            {set, sign(t, rs256, rs, map[string]any{"kid": "r"}, validClaims(map[string]any{"exp": now - 31})), 2003},
		"expired, wrong aud":      {secret, sign(t, hs, []byte(secret), nil, validClaims(map[string]any{"exp": now - 31, "aud": "x"})), 2002},
		"expired, no sub":         {secret, sign(t, hs, []byte(secret), nil, validClaims(map[string]any{"exp": now - 31, "sub": nil})), 2002},
		"expired, another secret": {secret, sign(t, hs, []byte(secret+"!"), nil, validClaims(map[string]any{"exp": now - 31})), 2002},
		"not yet":                 {secret, claim("nbf", now+90), 2002},
		"iat to come":             {secret, claim("iat", now+3600), 2002},
		"no aud":                  {secret, claim("aud", nil), 2002},
		"wrong aud":               {secret, claim("aud", []string{"others"}), 2002},
		"no iss":                  {secret, claim("iss", nil), 2002},
		"wrong iss":               {secret, claim("iss", "https://issuer.evil"), 2002},
		"no sub":                  {secret, claim("sub", nil), 2002},
		"empty sub":               {secret, claim("sub", ""), 2002},
		"sub not text":            {secret, claim("sub", 7), 2002},
		"sub with line break":     {secret, claim("sub", "a\r\nb"), 2002},
		"long sub":                {secret, claim("sub", strings.Repeat("a", 300)), 2002},
		"lives two years":         {secret, claim("exp", now+2*366*86400), 2002},
		"two years without iat":   {secret, sign(t, hs, []byte(secret), nil, validClaims(map[string]any{"iat": nil, "exp": now + 2*366*86400})), 2002},
		"kid of a path":           {secret, header("kid", "../../etc/passwd"), 2002},
		"kid of a path, set":      {set, sign(t, eddsa, ed, map[string]any{"kid": "../../etc/passwd"}, validClaims(nil)), 2002},
		"kid of SQL, set":         {set, sign(t, eddsa, ed, map[string]any{"kid": "' OR 1=1"}, validClaims(nil)), 2002},
		"kid not text, set":       {set, sign(t, eddsa, ed, map[string]any{"kid": []int{1}}, validClaims(nil)), 2002},
		"no kid, set":             {set, sign(t, eddsa, ed, nil, validClaims(nil)), 2002},
		"empty kid, set":          {set, sign(t, eddsa, ed, map[string]any{"kid": ""}, validClaims(nil)), 2002},
		"crit":                    {secret, header("crit", []string{"b64"}), 2002},
		"megabyte":                {secret, claim("x", strings.Repeat("a", 1<<20)), 2002},
		"just too long":           {secret, claim("x", strings.Repeat("a", 8<<10)), 2002},
		"two parts":               {secret, "e30.e30", 2002},
		"dots":                    {secret, strings.Repeat(".", 5000), 2002},
		"padded":                  {secret, claim("x", "y") + "=", 2002},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			cfg := auth.Config{Mode: auth.ModeJWT, KeyFile: writeFile(t, c.file), Issuer: "https://issuer", Audience: "everdesk"}
			a := newAuthority(t, cfg, openStore(t), &log)
			_, err := a.Bearer(t.Context(), c.token)
			wantCode(t, err, c.code)
			if err != nil && strings.Contains(c.token, err.Error()) {
				t.Errorf("the error quotes the token: %v", err)
			}
			for part := range strings.SplitSeq(c.token, ".") {
				if len(part) > 3 && strings.Contains(log.String(), part) {
					t.Errorf("the log quotes the token: %s", log.String())
				}
			}
		})
	}
}

// References to other keys in a header have no effect.
func TestSignedTokenIgnoresKeysInHeaders(t *testing.T) {
	t.Parallel()
	theirs := newEd25519(t)
	own := map[string]any{
		"jku": "https://evil.example/jwks", "x5u": "file:///etc/passwd",
		"jwk": map[string]string{"kty": "OKP", "crv": "Ed25519", "x": base64.RawURLEncoding.EncodeToString(theirs.Public().(ed25519.PublicKey))},
	}
	a := newAuthority(t, auth.Config{Mode: auth.ModeJWT, KeyFile: writeFile(t, secret)}, openStore(t), t.Output())
	_, err := a.Bearer(t.Context(), sign(t, jwt.SigningMethodEdDSA, theirs, own, validClaims(nil)))
	wantCode(t, err, wire.CodeAuthFailed)
	who, err := a.Bearer(t.Context(), sign(t, jwt.SigningMethodHS256, []byte(secret), own, validClaims(nil)))
	wantUser(t, who, err, "ann")
}

func TestSignedTokenRoles(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, auth.Config{Mode: auth.ModeJWT, KeyFile: writeFile(t, secret)}, openStore(t), t.Output())
	for name, c := range map[string]struct {
		claims map[string]any
		want   []auth.Role
	}{
		"none":      {nil, []auth.Role{auth.RoleUser}},
		"list":      {map[string]any{"roles": []string{"viewer", "admin", "viewer"}}, []auth.Role{auth.RoleViewer, auth.RoleAdmin}},
		"one":       {map[string]any{"role": "viewer"}, []auth.Role{auth.RoleViewer}},
		"text":      {map[string]any{"roles": "admin"}, []auth.Role{auth.RoleAdmin}},
		"unknown":   {map[string]any{"roles": []string{"root", "ADMIN", "admin "}}, []auth.Role{auth.RoleUser}},
		"not names": {map[string]any{"roles": map[string]bool{"admin": true}, "role": 1}, []auth.Role{auth.RoleUser}},
		"mixed":     {map[string]any{"roles": []any{"admin", 1}}, []auth.Role{auth.RoleUser}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			who, err := a.Bearer(t.Context(), sign(t, jwt.SigningMethodHS256, []byte(secret), nil, validClaims(c.claims)))
			wantUser(t, who, err, "ann")
			if diff := cmp.Diff(c.want, who.Roles); diff != "" {
				t.Errorf("roles (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSignedTokenAfterSignOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t, auth.Config{Mode: auth.ModeJWT, KeyFile: writeFile(t, secret)}, openStore(t), t.Output())
		token := func(changes map[string]any) string {
			return sign(t, jwt.SigningMethodHS256, []byte(secret), nil, validClaims(changes))
		}
		old, dateless := token(nil), token(map[string]any{"iat": nil})
		who, err := a.Bearer(t.Context(), dateless)
		wantUser(t, who, err, "ann")
		if err := a.SignOut(t.Context(), "ann"); err != nil {
			t.Fatal(err)
		}
		for _, ended := range []string{old, dateless} {
			_, err := a.Bearer(t.Context(), ended)
			wantCode(t, err, wire.CodeAuthFailed)
		}
		time.Sleep(time.Second) // token times have a resolution of seconds
		who, err = a.Bearer(t.Context(), token(nil))
		wantUser(t, who, err, "ann")
		time.Sleep(100 * time.Second)
		_, err = a.Bearer(t.Context(), token(map[string]any{"iat": nil, "nbf": time.Now().Unix() - 101}))
		wantCode(t, err, wire.CodeAuthFailed)
	})
}

// The leeway for clocks is 30 s.
func TestSignedTokenLeeway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t, auth.Config{Mode: auth.ModeJWT, KeyFile: writeFile(t, secret)}, openStore(t), t.Output())
		token, err := auth.NewSignedToken([]byte(secret), auth.TokenClaims{User: "ann", TTL: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(89 * time.Second)
		who, err := a.Bearer(t.Context(), token)
		wantUser(t, who, err, "ann")
		time.Sleep(time.Second)
		_, err = a.Bearer(t.Context(), token)
		wantCode(t, err, wire.CodeTokenExpired)
	})
}

// FuzzBearer looks for tokens that crash the parser or are accepted.
func FuzzBearer(f *testing.F) {
	a := newAuthority(f, auth.Config{Mode: auth.ModeJWT, KeyFile: writeFile(f, secret)}, openStore(f), f.Output())
	f.Add("")
	f.Add("e30.e30.e30")
	f.Add("edk_0123456789abcdef_" + strings.Repeat("A", 43))
	f.Add(sign(f, jwt.SigningMethodHS256, []byte(secret+"!"), nil, validClaims(nil)))
	f.Add(sign(f, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nil, validClaims(nil)))
	f.Fuzz(func(t *testing.T, token string) {
		who, err := a.Bearer(t.Context(), token)
		if err == nil {
			t.Fatalf("token %q: got %+v, want it refused", token, who)
		}
		code := wire.CodeAuthFailed
		if token == "" {
			code = wire.CodeAuthRequired
		}
		wantCode(t, err, code)
	})
}
