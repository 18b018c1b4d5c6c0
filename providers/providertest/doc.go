// Package providertest is the contract of package providers in executable form. A backend must
// pass [Run].
//
// It has named checks, one per sentence of the contract, and a listener that verifies the
// events in every check: one event at a time, turns that begin and end once, tool calls that
// are reported before they are made and that have one result each.
//
// Only tests of backends call it. A backend in the process passes synctest.Test as
// [Bench.Around], so that no real time passes and a leaked goroutine fails the check; a backend
// behind a socket passes a plain call and uses goleak in its TestMain.
//
// Checks wait for events with a generous deadline, which only serves to fail a check that
// hangs. Nothing here measures time.
//
// Checks of capabilities that a backend does not claim in its Caps are left out and logged.
package providertest
