// Package secrets stores keys and passwords of users and of the hub, encrypted.
//
// Each secret is sealed on its own with AES-256-GCM. The owner and the name of the secret are
// authenticated with it, so that a sealed secret that is copied to another user or name cannot be
// opened. Its key is one of a [Keyring]: the first key seals, the others open what was sealed before
// a rotation. The store has the id of the key beside each secret, never a key.
//
// A secret is write-only for clients: [Store.List] returns that it is set, its last four characters and
// when it was changed. Only [Store.Reveal] returns it, as a [Value], which prints as "(secret)" in
// logs, errors and JSON.
//
// A secret that cannot be opened, because the hub has another key or the data is damaged, is reported
// as unreadable and can be set again; everything else works. Without any key nothing can be stored:
// [ErrNoKey] says what to do.
//
// The secrets of one owner are one document of the store, changed with compare-and-set. A Store and a
// Keyring are safe for concurrent use.
package secrets
