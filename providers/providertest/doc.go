// Package providertest is the contract of package providers in executable form.
// A backend is whatever passes [Run].
//
// It owns the named checks, one per sentence of the contract, and a listener
// that watches in every check whether what is heard makes sense: one event at a
// time, turns that begin and end once, calls that are remembered before they are
// made and that each have one result.
//
// It is called from the tests of backends only. A backend in the process passes
// synctest.Test as [Bench.Around], so that nothing takes time and a goroutine
// that is left behind fails the check; a backend behind a socket passes a plain call
// and has goleak in its TestMain.
//
// When a backend is slow, checks wait on what they hear under a generous
// deadline that only ever serves to fail. Nothing here measures time.
//
// It refuses to pass what it did not try: checks of something a backend does not
// claim in its Caps are left out, and the log says so.
package providertest
