package secrets

import (
	"errors"
	"time"
)

// sealed is an encrypted secret as it is stored.
type sealed struct {
	// Key is the id of the key, Data the nonce and the ciphertext.
	Key     string    `json:"key"`
	Data    []byte    `json:"data"`
	Changed time.Time `json:"changed"`
}

// Reasons why a secret cannot be opened.
var (
	errOtherKey = errors.New("the hub does not have the key that it was encrypted with")
	errDamaged  = errors.New("its data is damaged, or belongs to another user or name")
)

// binding returns the data that is authenticated with a secret: its owner and its name, which have no
// NUL.
func binding(of Owner, name string) []byte {
	return []byte("everdesk secret v1\x00" + of.collection() + "\x00" + of.document() + "\x00" + name)
}

// seal encrypts a secret.
func seal(with key, of Owner, name string, v Value, changed time.Time) sealed {
	data := with.aead.Seal(nil, nil, []byte(v.text), binding(of, name)) //nolint:gosec // the cipher adds a random nonce itself
	return sealed{Key: with.id, Data: data, Changed: changed}
}

// open decrypts a secret.
func (s sealed) open(ring *Keyring, of Owner, name string) (Value, error) {
	k, ok := ring.find(s.Key)
	if !ok {
		return Value{}, errOtherKey
	}
	text, err := k.aead.Open(nil, nil, s.Data, binding(of, name))
	if err != nil {
		return Value{}, errDamaged
	}
	return Value{string(text)}, nil
}
