package auth

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/golang-jwt/jwt/v5"
)

// The format of a key file is recognised by its content:
//
//   - A JWKS, if its first character is "{": {"keys":[…]} with keys of the kinds RSA (RS256), OKP
//     with curve Ed25519 (EdDSA) and oct (HS256). The kid of a token selects the key. Keys of other
//     kinds are ignored.
//   - PEM, if it has a line "-----BEGIN …": one or more blocks PUBLIC KEY, RSA or Ed25519. A block
//     may have its kid in a header line "kid: NAME"; it must if there are several blocks.
//   - A shared secret for HS256 otherwise: all bytes but a final line break, at least 32. `openssl
//     rand -base64 48` makes a good one.
//
// A token with a kid is valid only with the key of that id, so a token for a key without an id must
// have none.

const (
	minSecret  = 32
	minRSABits = 2048
	maxKeyFile = 1 << 20
)

func readKeyFile(path string) ([]byte, error) {
	f, err := os.Open(path) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, fmt.Errorf("open key file: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read
	data, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err != nil {
		return nil, fmt.Errorf("read key file: %w", err)
	}
	if len(data) > maxKeyFile {
		return nil, fmt.Errorf("key file %s is larger than %d bytes", path, maxKeyFile)
	}
	return data, nil
}

// readKeys reads the keys that tokens are verified with.
func readKeys(path string) (keyring, error) {
	data, err := readKeyFile(path)
	if err != nil {
		return nil, err
	}
	var keys keyring
	switch {
	case bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")):
		keys, err = parseJWKS(data)
	case isPEM(data):
		keys, err = parsePEM(data)
	default:
		var secret []byte
		secret, err = parseSecret(data)
		keys = keyring{"": {jwt.SigningMethodHS256.Alg(), secret}}
	}
	if err != nil {
		return nil, fmt.Errorf("key file %s: %w", path, err)
	}
	return keys, nil
}

func isPEM(data []byte) bool { return bytes.Contains(data, []byte("-----BEGIN ")) }

func parseSecret(data []byte) ([]byte, error) {
	if _, err := x509.ParsePKIXPublicKey(data); err == nil || bytes.HasPrefix(data, []byte("ssh-")) {
		// A public key is no secret, so it must never be used as one.
		return nil, errors.New("holds a public key that is not in PEM form")
	}
	secret := bytes.TrimRight(data, "\r\n")
	if len(secret) < minSecret {
		return nil, fmt.Errorf("holds a secret of %d bytes, want at least %d", len(secret), minSecret)
	}
	return secret, nil
}

func parsePEM(data []byte) (keyring, error) {
	keys := keyring{}
	blocks := 0
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "PUBLIC KEY" {
			return nil, fmt.Errorf("has a block %q, want PUBLIC KEY, as from openssl pkey -pubout", block.Type)
		}
		public, err := x509.ParsePKIXPublicKey(block.Bytes)
		if err != nil {
			return nil, errors.New("has a public key that cannot be read")
		}
		key, err := newVerifyKey(public)
		if err != nil {
			return nil, err
		}
		if err := keys.add(block.Headers["kid"], key); err != nil {
			return nil, err
		}
		blocks++
	}
	if blocks == 0 {
		return nil, errors.New("has no PEM block that can be read")
	}
	return keys, keys.check()
}

func (k keyring) add(id string, key verifyKey) error {
	if _, twice := k[id]; twice {
		if id == "" {
			return errors.New("has several keys without a kid")
		}
		return fmt.Errorf("has two keys with kid %q", id)
	}
	k[id] = key
	return nil
}

// check refuses key sets that no token could match.
func (k keyring) check() error {
	if len(k) == 0 {
		return errors.New("has no key for RS256, EdDSA or HS256")
	}
	if _, nameless := k[""]; nameless && len(k) > 1 {
		return errors.New("has several keys and one of them has no kid")
	}
	return nil
}

func newVerifyKey(public crypto.PublicKey) (verifyKey, error) {
	switch key := public.(type) {
	case *rsa.PublicKey:
		if key.N.BitLen() < minRSABits {
			return verifyKey{}, fmt.Errorf("has an RSA key of %d bits, want at least %d", key.N.BitLen(), minRSABits)
		}
		return verifyKey{jwt.SigningMethodRS256.Alg(), key}, nil
	case ed25519.PublicKey:
		return verifyKey{jwt.SigningMethodEdDSA.Alg(), key}, nil
	}
	return verifyKey{}, fmt.Errorf("has a key of kind %T, want RSA or Ed25519", public)
}

// jwk is a key of a JWKS.
type jwk struct {
	Kind  string    `json:"kty"`
	ID    string    `json:"kid"`
	Use   string    `json:"use"`
	Alg   string    `json:"alg"`
	Curve string    `json:"crv"`
	N     base64URL `json:"n"`
	E     base64URL `json:"e"`
	X     base64URL `json:"x"`
	K     base64URL `json:"k"`
}

func parseJWKS(data []byte) (keyring, error) {
	var set struct {
		Keys []jwk `json:"keys"`
	}
	if json.Unmarshal(data, &set) != nil {
		return nil, errors.New("is not a JWKS") // without the cause, which could quote a secret
	}
	keys := keyring{}
	for i, j := range set.Keys {
		key, err := j.key()
		if errors.Is(err, errors.ErrUnsupported) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("key %d: %w", i+1, err)
		}
		if err := keys.add(j.ID, key); err != nil {
			return nil, err
		}
	}
	return keys, keys.check()
}
