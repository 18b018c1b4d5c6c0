package auth

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/everdesk/everdesk/store"
)

// TokenClaims are the claims of a new signed token.
type TokenClaims struct {
	User     string
	Roles    []Role
	TTL      time.Duration
	Issuer   string
	Audience string
	KeyID    string
}

// NewSignedToken returns a token signed with a private key: a secret ([]byte, HS256), an
// ed25519.PrivateKey (EdDSA) or an *rsa.PrivateKey (RS256).
func NewSignedToken(key any, s TokenClaims) (string, error) {
	if err := store.CheckName("user", s.User); err != nil {
		return "", err
	}
	if s.TTL <= 0 || s.TTL > maxLife {
		return "", fmt.Errorf("%w: a token lives up to %d days", store.ErrInvalid, maxLife/(24*time.Hour))
	}
	var method jwt.SigningMethod
	switch k := key.(type) {
	case []byte:
		if len(k) < minSecret {
			return "", fmt.Errorf("%w: a secret of %d bytes, want at least %d", store.ErrInvalid, len(k), minSecret)
		}
		method = jwt.SigningMethodHS256
	case ed25519.PrivateKey:
		method = jwt.SigningMethodEdDSA
	case *rsa.PrivateKey:
		method = jwt.SigningMethodRS256
	default:
		return "", fmt.Errorf("%w: cannot sign with a %T", store.ErrInvalid, key)
	}
	now := time.Now()
	c := jwt.MapClaims{"sub": s.User, "iat": now.Unix(), "exp": now.Add(s.TTL).Unix()}
	for name, text := range map[string]string{"iss": s.Issuer, "aud": s.Audience} {
		if text != "" {
			c[name] = text
		}
	}
	if len(s.Roles) > 0 {
		c["roles"] = s.Roles
	}
	token := jwt.NewWithClaims(method, c)
	if s.KeyID != "" {
		token.Header["kid"] = s.KeyID
	}
	text, err := token.SignedString(key)
	if err != nil {
		return "", fmt.Errorf("sign token: %w", err)
	}
	return text, nil
}

// ReadSigningKey reads a key for [NewSignedToken]: a secret as in a key file, or a private key in
// PEM form, as from openssl genpkey.
func ReadSigningKey(path string) (any, error) {
	data, err := readKeyFile(path)
	if err != nil {
		return nil, err
	}
	var key any
	switch {
	case isPEM(data):
		key, err = parsePrivate(data)
	case bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")):
		err = errors.New("is a JWKS; want a secret or a private key in PEM form")
	default:
		key, err = parseSecret(data)
	}
	if err != nil {
		return nil, fmt.Errorf("key file %s: %w", path, err)
	}
	return key, nil
}

func parsePrivate(data []byte) (any, error) {
	block, _ := pem.Decode(data)
	if block == nil || block.Type != "PRIVATE KEY" {
		return nil, errors.New("has no block PRIVATE KEY to sign with")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("has a private key that cannot be read") // without the cause, which could quote the key
	}
	switch key.(type) {
	case ed25519.PrivateKey, *rsa.PrivateKey:
		return key, nil
	}
	return nil, fmt.Errorf("has a key of kind %T, want Ed25519 or RSA", key)
}
