package settingsfile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"filippo.io/age"
	"filippo.io/age/armor"

	"github.com/everdesk/everdesk/secrets"
)

// workFactor is the cost of deriving a key from a passphrase, as a power of two: about a second and 256 MiB.
// A file that demands more is refused.
const workFactor = 18

// Passphrase is a passphrase to encrypt with.
type Passphrase struct {
	Text string
	// WorkFactor is the cost of trying a passphrase, as a power of two; 0 means 18, which is also the most.
	WorkFactor int
}

// ErrPassphrase means that a passphrase does not open the secrets.
var ErrPassphrase = errors.New("the passphrase does not open the secrets of the file")

// seal encrypts secrets under a passphrase.
func seal(all map[string]secrets.Value, passphrase Passphrase) (string, error) {
	revealed := make(map[string]string, len(all))
	for name, v := range all {
		revealed[name] = v.Reveal()
	}
	data, err := json.Marshal(revealed)
	if err != nil {
		return "", err
	}
	recipient, err := age.NewScryptRecipient(passphrase.Text)
	if err != nil {
		return "", err
	}
	recipient.SetWorkFactor(cmp.Or(passphrase.WorkFactor, workFactor))
	var text strings.Builder
	armored := armor.NewWriter(&text)
	w, err := age.Encrypt(armored, recipient)
	if err != nil {
		return "", err
	}
	if _, err := w.Write(data); err != nil {
		return "", err
	}
	if err := errors.Join(w.Close(), armored.Close()); err != nil { // they write the end
		return "", err
	}
	return text.String(), nil
}

// Open decrypts the secrets of a file. The error is [ErrPassphrase] if the passphrase is another one.
func Open(sealed, passphrase string) (map[string]secrets.Value, error) {
	identity, err := age.NewScryptIdentity(passphrase)
	if err != nil {
		return nil, fmt.Errorf("open the secrets: %w", err)
	}
	identity.SetMaxWorkFactor(workFactor)
	r, err := age.Decrypt(armor.NewReader(strings.NewReader(sealed)), identity)
	if _, wrong := errors.AsType[*age.NoIdentityMatchError](err); wrong {
		return nil, ErrPassphrase
	}
	if err != nil {
		return nil, fmt.Errorf("open the secrets: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(r, MaxBytes))
	if err != nil {
		return nil, fmt.Errorf("open the secrets: %w", err)
	}
	var values map[string]string
	if json.NewDecoder(bytes.NewReader(data)).Decode(&values) != nil { // the cause could quote a secret
		return nil, errors.New("open the secrets: want an object of texts")
	}
	all := make(map[string]secrets.Value, len(values))
	for name, text := range values {
		all[name] = secrets.NewValue(text)
	}
	return all, nil
}
