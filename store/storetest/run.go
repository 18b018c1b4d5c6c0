package storetest

import (
	"testing"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Around runs one check. In-process engines pass synctest.Test, engines behind a socket
// [Plain].
type Around func(t *testing.T, fn func(*testing.T))

// Plain runs a check in real time.
func Plain(t *testing.T, fn func(*testing.T)) {
	t.Helper()
	fn(t)
}

// Options are the engine settings that the contract mentions.
type Options struct {
	Limits store.Limits
	Schema store.Schema
}

// Setup creates an empty store with the given options. It is called inside the [Around] and
// cleans up with t.Cleanup.
type Setup func(t *testing.T, o Options) Env

// Env is one store under test.
type Env struct {
	// Open returns a handle of the store. Several handles represent several replicas; an
	// in-process engine may return the same one every time. The Env closes them at the end
	// of the test; closing twice is not an error.
	Open func(t *testing.T) Engine
	// Advance lets time d pass for the store.
	Advance func(d time.Duration)
	// Unit is the time unit of lifetimes in checks: a minute with virtual time, about 200
	// ms with real time.
	Unit time.Duration
	// Virtual means that time passes only by Advance and waiting, so that checks may rely
	// on lifetimes that have not expired.
	Virtual bool

	// Reopen, unless nil, closes all handles as the end of the program does and returns a
	// handle of the same data with other options. Handles that Open returns afterwards have
	// the new options, too.
	Reopen func(t *testing.T, o Options) Engine
	// Checkpoint, unless nil, saves all data. The returned function restores it, like a
	// failover that lost the newest writes, and returns a handle of the result. Earlier
	// handles need not work any more.
	Checkpoint func(t *testing.T) (restore func(t *testing.T) Engine)
	// Corrupt, unless nil, flips bits in the stored form of a value and returns a handle
	// that reads the damaged value. Earlier handles need not work any more.
	Corrupt func(t *testing.T, d Damage) Engine
	// Disturb, unless nil, breaks the transport of notifications between handles once, for
	// instance the connection of a subscription. It returns when the transport is broken.
	Disturb func(t *testing.T)
}

// Damage selects the value to damage.
type Damage struct {
	// Kind is KindEntry, KindField, KindItem, KindCommand or KindCard of a session, or
	// KindDocument.
	Kind    store.Kind
	Session wire.SessionID
	// Name is the table or list, the id of the command, or the document's collection. An
	// entry is selected by the position At.
	Name string
	// Field is the field of the table, or the document's name.
	Field string
	// Index is the index of the list's item.
	Index int
	At    wire.Position
}

// Run checks an engine against every rule of the contract.
func Run(t *testing.T, around Around, setup Setup) {
	t.Helper()
	for _, g := range supportedGroups(t, around, setup) {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			for _, c := range g.checks {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					around(t, func(t *testing.T) {
						t.Helper()
						c.run(newRig(t, setup(t, c.opts)))
					})
				})
			}
		})
	}
}

// supportedGroups returns the groups for which an Env has the hooks.
func supportedGroups(t *testing.T, around Around, setup Setup) (out []group) {
	t.Helper()
	around(t, func(t *testing.T) {
		t.Helper()
		env := setup(t, Options{})
		for _, g := range groups() {
			if g.needs == nil || g.needs(env) {
				out = append(out, g)
			} else {
				t.Logf("group %q skipped: the Env lacks its hook", g.name)
			}
		}
	})
	return out
}

// group is the checks of one concern.
type group struct {
	name   string
	checks []check
	// needs, unless nil, reports whether an Env has the required hooks.
	needs func(Env) bool
}

// check tests one rule of the contract.
type check struct {
	name string
	run  func(*rig)
	opts Options
}

func groups() []group {
	return []group{
		{name: "leases", checks: leaseChecks()},
		{name: "shared leases", checks: sharedLeaseChecks()},
		{name: "fencing", checks: fencingChecks()},
		{name: "commit", checks: commitChecks()},
		{name: "pack", checks: packChecks()},
		{name: "ops", checks: opChecks()},
		{name: "log", checks: logChecks()},
		{name: "load", checks: loadChecks()},
		{name: "tail", checks: tailChecks()},
		{name: "inbox", checks: inboxChecks()},
		{name: "semaphores", checks: semaphoreChecks()},
		{name: "rates", checks: rateChecks()},
		{name: "directory", checks: directoryChecks()},
		{name: "recent", checks: recentChecks()},
		{name: "documents", checks: documentChecks()},
		{name: "quarantine", checks: quarantineChecks()},
		{name: "lifecycle", checks: lifecycleChecks()},
		{name: "lost", checks: lostChecks()},
		{name: "corrupt", checks: corruptChecks(), needs: func(e Env) bool { return e.Corrupt != nil }},
		{name: "restart", checks: restartChecks(), needs: func(e Env) bool { return e.Reopen != nil }},
		{name: "disturbed", checks: disturbedChecks(), needs: func(e Env) bool { return e.Disturb != nil }},
		{name: "rewind", checks: rewindChecks(), needs: func(e Env) bool { return e.Checkpoint != nil }},
	}
}
