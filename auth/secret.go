package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
)

// secretLength is the length of a secret as text: 32 bytes in base64url.
const secretLength = 43

// newSecret returns 32 random bytes as text. It never begins with a dash: command lines would read
// "--token -x…" as two flags.
func newSecret() string {
	for {
		var b [32]byte
		_, _ = rand.Read(b[:]) // never fails: it aborts the program instead
		if text := base64.RawURLEncoding.EncodeToString(b[:]); text[0] != '-' {
			return text
		}
	}
}

// hash returns the stored form of a secret. A fast hash is enough for 32 random bytes, which cannot
// be guessed.
func hash(secret string) [sha256.Size]byte { return sha256.Sum256([]byte(secret)) }

// hashName returns a hash as the name of a document.
func hashName(text string) string {
	sum := hash(text)
	return hex.EncodeToString(sum[:])
}

// equalHashes compares in constant time. It compares hashes, so that not even the length of a
// secret leaks.
func equalHashes(a, b [sha256.Size]byte) bool { return subtle.ConstantTimeCompare(a[:], b[:]) == 1 }
