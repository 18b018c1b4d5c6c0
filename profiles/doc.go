// Package profiles stores model profiles: how to reach a model, and what it costs.
//
// A [Profile] names a backend, a model and, if needed, a base URL and the secret with the key. The
// profiles of a user and the default profile of each [Role] are one document of the store, changed
// with compare-and-set. The operator's flags make further profiles, which all users have and which
// cannot be changed: they are pinned.
//
// Every stored profile is decoded and checked on its own. One that is not valid, perhaps written by a
// later version, is not listed; it stays in the document and blocks no other. Fields that this version
// does not know are kept, also when their profile is replaced.
//
// A profile holds the name of a secret, never the secret. Package profiles/backends opens the model of
// a profile.
//
// A [Store] is safe for concurrent use. It keeps nothing in memory: a read is one document.
package profiles
