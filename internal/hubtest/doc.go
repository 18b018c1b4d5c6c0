// Package hubtest tests whole hubs under faults: it runs hub processes on a real store,
// uses them through recording tabs, and checks the recorded histories against the properties
// that hold under all faults (P0 to P11, see [Check]).
//
// # What it owns
//
// The processes it starts ([Cluster]), the connections it proxies ([Proxy]) and the file with
// everything that happened ([History]). Stores come from internal/redistest. Tests, mostly
// those of internal/chaos, decide which faults happen when, with random numbers from
// [Plan.Seed].
//
// # Concurrency
//
// Functions with a testing.TB are called from the test's goroutine; a [Hub] and a [Proxy]
// from any goroutine, one call at a time.
//
// # Timeouts
//
// Waiting is bounded by the test's context and by limits far above the expected times.
// Everything that was started ends with the test. A history file is kept only if its test
// fails; the test then prints its path and how to replay it (internal/hubtest/replay).
//
// # Errors
//
// A missing program fails the test: a skipped test protects nothing.
package hubtest
