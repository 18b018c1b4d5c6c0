package auth_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/store"
)

func TestKeyFileRefuses(t *testing.T) {
	t.Parallel()
	ed := newEd25519(t)
	edPEM := publicPEM(t, ed.Public(), nil)
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(ed.Public())
	if err != nil {
		t.Fatal(err)
	}
	named := publicPEM(t, ed.Public(), map[string]string{"kid": "e"})
	const secretPart = "KEEPTHIS"
	for name, c := range map[string]struct{ file, want string }{
		"empty":            {"", "secret of 0 bytes"},
		"short secret":     {secretPart + strings.Repeat("x", 20) + "\n\n\n\n\n\n\n", "secret of 28 bytes"},
		"DER":              {string(der), "not in PEM form"},
		"ssh":              {"ssh-ed25519 " + strings.Repeat("A", 68) + " ann@desk", "not in PEM form"},
		"private":          {privatePEM(t, ed), "PRIVATE KEY"},
		"elliptic":         {publicPEM(t, ec.Public(), nil), "want RSA or Ed25519"},
		"short RSA":        {publicPEM(t, newRSA(t, 1024).Public(), nil), "1024 bits"},
		"cut PEM":          {edPEM[:40], "no PEM block"},
		"damaged PEM":      {"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "cannot be read"},
		"two without kid":  {edPEM + edPEM, "several keys without a kid"},
		"two with one kid": {named + named, `two keys with kid "e"`},
		"one without kid":  {edPEM + named, "one of them has no kid"},
		"not a set":        {`{"keys":"` + secretPart + `"}`, "is not a JWKS"},
		"bad base64":       {`{"keys":[{"kty":"oct","k":"` + secretPart + `!"}]}`, "is not a JWKS"},
		"empty set":        {`{"keys":[]}`, "has no key"},
		"for encryption":   {`{"keys":[{"kty":"oct","use":"enc","k":"` + strings.Repeat("A", 43) + `"}]}`, "has no key"},
		"other algorithm":  {`{"keys":[{"kty":"oct","alg":"HS512","k":"` + strings.Repeat("A", 43) + `"}]}`, "has no key"},
		"short oct":        {`{"keys":[{"kty":"oct","k":"` + secretPart + `"}]}`, "less than 32 bytes"},
		"short OKP":        {`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"AAAA"}]}`, "not an Ed25519 key"},
		"RSA without e":    {`{"keys":[{"kty":"RSA","n":"AAAA"}]}`, "not an RSA key"},
		"RSA with huge e":  {`{"keys":[{"kty":"RSA","n":"AAAA","e":"` + strings.Repeat("_", 40) + `"}]}`, "not an RSA key"},
		"RSA of zero":      {`{"keys":[{"kty":"RSA","n":"AAAA","e":"AQAB"}]}`, "0 bits"},
		"huge":             {strings.Repeat("a", 1<<20+1), "larger than"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := writeFile(t, c.file)
			_, err := auth.New(t.Context(), auth.Config{Mode: auth.ModeJWT, KeyFile: path}, openStore(t))
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), secretPart) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if err != nil && !strings.Contains(err.Error(), path) {
				t.Errorf("got error %v, want one that names %s", err, path)
			}
		})
	}
	_, err = auth.New(t.Context(), auth.Config{Mode: auth.ModeJWT, KeyFile: filepath.Join(t.TempDir(), "none")}, openStore(t))
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("key file that does not exist: got error %v, want %v", err, os.ErrNotExist)
	}
	if _, err := auth.New(t.Context(), auth.Config{Mode: auth.ModeJWT}, openStore(t)); err == nil {
		t.Error("mode jwt without keys: got no error, want one")
	}
}

// Keys of unsupported kinds are skipped.
func TestKeySetWithUnknownKeys(t *testing.T) {
	t.Parallel()
	ed := newEd25519(t)
	set := jwks(t, map[string]crypto.PublicKey{"e": ed.Public()})
	set = strings.Replace(set, `"keys":[`, `"keys":[{"kty":"EC","kid":"c","crv":"P-256"},{"kty":"OKP","crv":"X25519"},`, 1)
	a := newAuthority(t, auth.Config{Mode: auth.ModeJWT, KeyFile: writeFile(t, set)}, openStore(t), t.Output())
	who, err := a.Bearer(t.Context(), sign(t, jwt.SigningMethodEdDSA, ed, map[string]any{"kid": "e"}, validClaims(nil)))
	wantUser(t, who, err, "ann")
}

func TestNewSignedRefuses(t *testing.T) {
	t.Parallel()
	hour := auth.TokenClaims{User: "ann", TTL: time.Hour}
	for name, c := range map[string]struct {
		key any
		s   auth.TokenClaims
	}{
		"no user":      {[]byte(secret), auth.TokenClaims{TTL: time.Hour}},
		"no time":      {[]byte(secret), auth.TokenClaims{User: "ann"}},
		"long time":    {[]byte(secret), auth.TokenClaims{User: "ann", TTL: 10_000 * time.Hour}},
		"short secret": {[]byte("short"), hour},
		"no key":       {nil, hour},
		"public key":   {newEd25519(t).Public(), hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if token, err := auth.NewSignedToken(c.key, c.s); !errors.Is(err, store.ErrInvalid) {
				t.Errorf("NewSignedToken: got %q, error %v, want %v", token, err, store.ErrInvalid)
			}
		})
	}
}

func TestReadSigningKey(t *testing.T) {
	t.Parallel()
	ed, rs := newEd25519(t), newRSA(t, 2048)
	got, err := auth.ReadSigningKey(writeFile(t, secret+"\r\n"))
	if b, ok := got.([]byte); err != nil || !ok || string(b) != secret {
		t.Errorf("signing key of a secret: got %v, error %v, want %q", got, err, secret)
	}
	got, err = auth.ReadSigningKey(writeFile(t, privatePEM(t, ed)))
	if k, ok := got.(ed25519.PrivateKey); err != nil || !ok || !k.Equal(ed) {
		t.Errorf("signing key of an Ed25519 file: got %T, error %v, want the same key", got, err)
	}
	got, err = auth.ReadSigningKey(writeFile(t, privatePEM(t, rs)))
	if err != nil || !rs.Equal(got.(crypto.PrivateKey)) {
		t.Errorf("signing key of an RSA file: got %T, error %v, want the same key", got, err)
	}
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string]string{
		"public": publicPEM(t, ed.Public(), nil), "elliptic": privatePEM(t, ec), "set": `{"keys":[]}`, "short": "x",
		"damaged": "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
	} {
		if _, err := auth.ReadSigningKey(writeFile(t, file)); err == nil {
			t.Errorf("signing key file %q: got it accepted, want it refused", name)
		}
	}
	if _, err := auth.ReadSigningKey(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("signing key file that does not exist: got error %v, want %v", err, os.ErrNotExist)
	}
}
