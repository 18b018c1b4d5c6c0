package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
)

// secretLength is how long a secret is as text: 32 bytes in base64url.
const secretLength = 43

// newSecret returns 32 random bytes as text. It never begins with a dash:
// command lines would read "--token -x…" as two flags.
func newSecret() string {
	for {
		var b [32]byte
		_, _ = rand.Read(b[:]) // never fails: the program ends instead
		if text := base64.RawURLEncoding.EncodeToString(b[:]); text[0] != '-' {
			return text
		}
	}
}

// hash is what is kept of a secret. A fast hash is enough for 32 random bytes,
// which nobody can try out.
func hash(secret string) [sha256.Size]byte { return sha256.Sum256([]byte(secret)) }

// hashName is a hash as the name of a document.
func hashName(text string) string {
	sum := hash(text)
	return hex.EncodeToString(sum[:])
}

// equalHashes compares in constant time. It compares hashes, so that not even the
// length of a secret shows.
func equalHashes(a, b [sha256.Size]byte) bool { return subtle.ConstantTimeCompare(a[:], b[:]) == 1 }
