package secrets

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// keyBytes is the size of a key.
const keyBytes = 32

// maxKeys bounds the keys of a ring.
const maxKeys = 16

// key is a key with its id, which is derived from the key and reveals nothing about it.
type key struct {
	id   string
	text string // base64
	aead cipher.AEAD
}

func parseKey(text string) (key, error) {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(raw) != keyBytes {
		return key{}, fmt.Errorf("want keys of %d bytes in base64, as openssl rand -base64 %d prints them", keyBytes, keyBytes)
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		return key{}, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return key{}, err
	}
	sum := sha256.Sum256(append([]byte("everdesk key id\x00"), raw...))
	return key{id: hex.EncodeToString(sum[:4]), text: text, aead: aead}, nil
}

func newKey() (key, error) {
	raw := make([]byte, keyBytes)
	rand.Read(raw)
	return parseKey(base64.StdEncoding.EncodeToString(raw))
}

// Keyring holds the keys that seal and open secrets.
type Keyring struct {
	path string // the file of the keys, or empty
	own  bool   // the hub has made the file and may change it

	mu   sync.Mutex // guards the following
	keys []key      // the first one seals
}

// NoKeys returns a ring without keys, with which no secret can be stored.
func NoKeys() *Keyring { return &Keyring{} }

// ParseKeys returns a ring of keys in base64 that are separated by commas or white space. The first
// one seals, the others open older secrets.
func ParseKeys(text string) (*Keyring, error) {
	keys, err := parseKeys(text)
	return &Keyring{keys: keys}, err
}

// ReadKeyFile returns a ring of the keys in a file, which has the form of [ParseKeys]. The file is
// read again when a secret needs a key that was not in it.
func ReadKeyFile(path string) (*Keyring, error) {
	r := &Keyring{path: path}
	return r, r.reload()
}

// OwnKeyFile is [ReadKeyFile] for a file that the hub manages: it is made with a new key, readable
// for its owner only, if there is none.
func OwnKeyFile(path string) (*Keyring, error) {
	r := &Keyring{path: path, own: true}
	err := r.reload()
	if errors.Is(err, os.ErrNotExist) {
		err = r.Renew()
	}
	return r, err
}

func parseKeys(text string) ([]key, error) {
	var keys []key
	for word := range strings.FieldsFuncSeq(text, func(c rune) bool { return strings.ContainsRune(", \t\r\n", c) }) {
		k, err := parseKey(word)
		if err != nil {
			return nil, err
		}
		keys = append(keys, k)
	}
	if len(keys) == 0 || len(keys) > maxKeys {
		return nil, fmt.Errorf("want 1 to %d keys, got %d", maxKeys, len(keys))
	}
	return keys, nil
}

// reload reads the file of the keys, if there is one.
func (r *Keyring) reload() error {
	if r.path == "" {
		return nil
	}
	text, err := os.ReadFile(r.path)
	if err != nil {
		return fmt.Errorf("read the secret keys: %w", err)
	}
	keys, err := parseKeys(string(text))
	if err != nil {
		return fmt.Errorf("read the secret keys of %s: %w", r.path, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys = keys
	return nil
}

// Own reports whether the hub manages the file of the keys.
func (r *Keyring) Own() bool { return r.own }

// Renew puts a new key before the others, in the file first. A ring that is full keeps its first key:
// after many rotations that failed, secrets may still need any of the others.
func (r *Keyring) Renew() error {
	old := r.all()
	if len(old) >= maxKeys {
		return nil
	}
	k, err := newKey()
	if err != nil {
		return err
	}
	return r.replace(append([]key{k}, old...))
}

// dropAllBut removes keys from a file that the hub manages, except for those with the ids.
func (r *Keyring) dropAllBut(ids map[string]bool) error {
	return r.replace(slices.DeleteFunc(r.all(), func(k key) bool { return !ids[k.id] }))
}

// all returns a copy of the keys.
func (r *Keyring) all() []key {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.keys)
}

// replace writes keys to the file that the hub manages, then uses them. Only one rotation runs at a
// time, and nothing else changes that file or these keys.
func (r *Keyring) replace(keys []key) error {
	var text bytes.Buffer
	for _, k := range keys {
		text.WriteString(k.text + "\n")
	}
	if err := writeFile(r.path, text.Bytes()); err != nil {
		return fmt.Errorf("write the secret keys: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys = keys
	return nil
}

// writeFile replaces a file in one step. Only its owner can read it.
func writeFile(path string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".secret-*") // with mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// newest is first after reading a file of the operator again: a rotation on another replica seals with
// a key that was added to it. A file that cannot be read, such as one that is being written, does not
// count.
func (r *Keyring) newest() (key, bool) {
	if !r.own {
		_ = r.reload()
	}
	return r.first()
}

// first returns the key that seals, or false if there is none.
func (r *Keyring) first() (key, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.keys) == 0 {
		return key{}, false
	}
	return r.keys[0], true
}

// find returns the key with an id. It reads a file of the operator again if the key is not known,
// because another replica may have sealed with a new key.
func (r *Keyring) find(id string) (key, bool) {
	if k, ok := r.known(id); ok {
		return k, true
	}
	if r.own || r.reload() != nil {
		return key{}, false
	}
	return r.known(id)
}

func (r *Keyring) known(id string) (key, bool) {
	all := r.all()
	i := slices.IndexFunc(all, func(k key) bool { return k.id == id })
	if i < 0 {
		return key{}, false
	}
	return all[i], true
}
