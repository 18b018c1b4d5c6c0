// Package providertest tests a backend against the contract of package providers. Tests of every
// backend call [Run].
//
// It has named checks, each for one rule of the contract, and a listener that verifies the
// events in every check: one event at a time, turns that begin and end once, tool calls that
// are reported before they are made and that have one result each.
//
// A backend in the process passes synctest.Test as [Bench.Around], so that no real time passes
// and a leaked goroutine fails the check; a backend behind a socket passes a plain call and uses
// goleak in its TestMain.
//
// Each check has a deadline of a minute, which only serves to fail a check that hangs. No check
// measures time.
//
// Groups of checks for capabilities that a backend does not claim are skipped and logged.
package providertest
