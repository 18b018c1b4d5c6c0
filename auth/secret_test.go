package auth

import "testing"

func TestSecretsAreValuesOfFlags(t *testing.T) {
	t.Parallel()
	for range 2_000 { // one in 64 would begin with a dash
		secret := newSecret()
		if len(secret) != secretLength || secret[0] == '-' {
			t.Fatalf("got %q, want %d characters that do not begin with a dash", secret, secretLength)
		}
	}
}
