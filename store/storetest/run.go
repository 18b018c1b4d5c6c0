package storetest

import (
	"testing"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Around runs one check. In-process engines pass synctest.Test, engines behind
// a socket pass [Plain].
type Around func(t *testing.T, fn func(*testing.T))

// Plain runs a check in real time.
func Plain(t *testing.T, fn func(*testing.T)) {
	t.Helper()
	fn(t)
}

// Options are the settings of an engine that the contract speaks of.
type Options struct {
	Limits store.Limits
	Schema store.Schema
}

// Setup makes an empty store with the given options. It is called inside the
// [Around] and cleans up after itself with t.Cleanup.
type Setup func(t *testing.T, o Options) Env

// Env is one store under test.
type Env struct {
	// Open returns a handle on the store. Several handles stand for several
	// replicas; an in-process engine may return the same one every time. The
	// Env closes them at the end of the test; closing twice is no error.
	Open func(t *testing.T) Engine
	// Advance lets that much of the store's time pass.
	Advance func(d time.Duration)
	// Unit is the tick that lifetimes in checks are multiples of: a minute
	// where time is virtual, some 200 ms where it is real.
	Unit time.Duration
	// Virtual says that nothing but Advance and waiting makes time pass, so
	// that checks may count on what has not run out yet.
	Virtual bool

	// Reopen, unless nil, ends all handles the way a program's end does and
	// returns a handle on the same data with other options. Handles that
	// Open returns afterwards have them, too.
	Reopen func(t *testing.T, o Options) Engine
	// Checkpoint, unless nil, remembers all data as it is now. Calling what it
	// returns brings the store back to it, as a failover does that lost the
	// newest writes, and returns a handle on the result. Handles from before
	// need not work any more.
	Checkpoint func(t *testing.T) (restore func(t *testing.T) Engine)
	// Corrupt, unless nil, flips bits in the stored form of a value and
	// returns a handle that will see it. Handles from before need not work
	// any more.
	Corrupt func(t *testing.T, d Damage) Engine
	// Disturb, unless nil, breaks once whatever carries news between handles,
	// such as a subscription's connection. It returns when it is broken.
	Disturb func(t *testing.T)
}

// Damage says which value to damage.
type Damage struct {
	// Kind is one of KindEntry, KindField, KindItem, KindCommand, KindCard of
	// a session, or KindDocument.
	Kind    store.Kind
	Session wire.SessionID
	// Name is that of the table or list, the id of the command, or the
	// document's collection. An entry is the one that holds At.
	Name string
	// Field is that of the table, or the document's name.
	Field string
	// Index is that of the list's item.
	Index int
	At    wire.Position
}

// Run holds an engine against every sentence of the contract.
func Run(t *testing.T, around Around, setup Setup) {
	t.Helper()
	for _, g := range possible(t, around, setup) {
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

// possible are the groups an Env has the hooks for.
func possible(t *testing.T, around Around, setup Setup) (out []group) {
	t.Helper()
	around(t, func(t *testing.T) {
		t.Helper()
		env := setup(t, Options{})
		for _, g := range groups() {
			if g.needs == nil || g.needs(env) {
				out = append(out, g)
			} else {
				t.Logf("there is no hook for the group %q, it is left out", g.name)
			}
		}
	})
	return out
}

// group is the checks of one concern.
type group struct {
	name   string
	checks []check
	// needs, unless nil, says whether an Env has the hooks for it.
	needs func(Env) bool
}

// check is one sentence of the contract.
type check struct {
	name string
	run  func(*rig)
	opts Options
}

func groups() []group {
	return []group{
		{name: "leases", checks: leaseChecks()},
		{name: "fencing", checks: fencingChecks()},
		{name: "commit", checks: commitChecks()},
		{name: "ops", checks: opChecks()},
		{name: "log", checks: logChecks()},
		{name: "load", checks: loadChecks()},
		{name: "tail", checks: tailChecks()},
		{name: "inbox", checks: inboxChecks()},
		{name: "semaphores", checks: semaphoreChecks()},
		{name: "rates", checks: rateChecks()},
		{name: "directory", checks: directoryChecks()},
		{name: "documents", checks: documentChecks()},
		{name: "quarantine", checks: quarantineChecks()},
		{name: "lifecycle", checks: lifecycleChecks()},
		{name: "forgotten", checks: forgottenChecks()},
		{name: "corrupt", checks: corruptChecks(), needs: func(e Env) bool { return e.Corrupt != nil }},
		{name: "restart", checks: restartChecks(), needs: func(e Env) bool { return e.Reopen != nil }},
		{name: "disturbed", checks: disturbedChecks(), needs: func(e Env) bool { return e.Disturb != nil }},
		{name: "rewind", checks: rewindChecks(), needs: func(e Env) bool { return e.Checkpoint != nil }},
	}
}
