package auth

import (
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/base64"
	"errors"
	"math"
	"math/big"
	"strings"

	"github.com/golang-jwt/jwt/v5"
)

// base64URL are bytes in the encoding of a JWK.
type base64URL []byte

// UnmarshalText implements encoding.TextUnmarshaler.
func (b *base64URL) UnmarshalText(text []byte) (err error) {
	*b, err = base64.RawURLEncoding.DecodeString(strings.TrimRight(string(text), "="))
	return err
}

// key returns the verification key, or [errors.ErrUnsupported] for a key of another use or kind.
func (j jwk) key() (verifyKey, error) {
	if j.Use != "" && j.Use != "sig" {
		return verifyKey{}, errors.ErrUnsupported
	}
	var key verifyKey
	var err error
	switch {
	case j.Kind == "RSA":
		key, err = j.rsa()
	case j.Kind == "OKP" && j.Curve == "Ed25519":
		if len(j.X) != ed25519.PublicKeySize {
			return verifyKey{}, errors.New("not an Ed25519 key")
		}
		key, err = newVerifyKey(ed25519.PublicKey(j.X))
	case j.Kind == "oct":
		if len(j.K) < minSecret {
			return verifyKey{}, errors.New("a secret of less than 32 bytes")
		}
		key = verifyKey{jwt.SigningMethodHS256.Alg(), []byte(j.K)}
	default:
		return verifyKey{}, errors.ErrUnsupported
	}
	if err == nil && j.Alg != "" && j.Alg != key.method {
		return verifyKey{}, errors.ErrUnsupported
	}
	return key, err
}

func (j jwk) rsa() (verifyKey, error) {
	e := new(big.Int).SetBytes(j.E)
	if !e.IsInt64() || e.Int64() < 3 || e.Int64() > math.MaxInt32 || e.Bit(0) == 0 {
		return verifyKey{}, errors.New("not an RSA key")
	}
	return newVerifyKey(&rsa.PublicKey{N: new(big.Int).SetBytes(j.N), E: int(e.Int64())})
}
