// Package backends opens the models of model profiles.
//
// [Backends.Get] finds what a user means by a name: a profile of the user, by id or name, or a backend
// of the hub. The result is a [providers.Provider] whose sessions use the model, the base URL, the key,
// the context window, the reasoning effort and the prices of the profile. The profile and its key are
// read when a session is opened, so that a changed key counts from the next session on; an open session
// keeps what it began with.
//
// Get is called by actors and must be quick. Profiles are therefore cached per user for [maxAge], and read
// in the background: a caller waits for a read at most [maxWait], or once [maxFirstWait] if there is nothing
// cached that may count. If the store cannot be read, the cached ones count, and an unknown name counts as a
// profile until it is opened.
//
// A key of the hub never goes to a base URL that a user chose: a profile with a base URL has the key that
// its secret holds, or none.
//
// A [Backends] is safe for concurrent use. It owns the backends that it opens; Close closes them.
package backends
