// Package modes stores the modes of agents: named combinations of instructions, a tool profile, a model
// profile and approval rules. It also stores the approval rules of sessions without rules of their own.
//
// The hub ships a few modes, which every user has. A user can override them, which a removal reverts,
// and add further ones. What a user has added or overridden is one document of the store, changed with
// compare-and-set.
//
// Every stored mode is decoded and checked on its own. One that is not valid, perhaps written by a later
// version, is not listed; it stays in the document and blocks no other. Fields that this version does not
// know are kept, also when their mode is replaced.
//
// A [Store] is safe for concurrent use and keeps nothing in memory. A [Finder] caches what it reads for
// [maxAge], because actors call it. A session that has chosen a mode stores a copy, which counts while
// the mode cannot be read or is deleted: a session never gets more tools because its mode is gone.
package modes
