// Package hubtest breaks: it runs whole hubs as processes on a real store, lets
// recording tabs use them, and checks what they saw against the promises that hold
// whatever happens (P0 to P11, see [Check]).
//
// # What it owns
//
// The processes it starts ([Fleet]), the connections it carries ([Proxy]) and the
// file in which everything is written down ([History]). Stores are those of
// internal/redistest; what happens to whom and when is decided by tests, mostly
// those of internal/chaos, with the numbers of [Plan.Seed].
//
// # Who may call it
//
// Tests and benchmarks, from the test's goroutine where something takes a
// testing.TB; a [Hub] and a [Proxy] from any goroutine, one call at a time.
//
// # When it is slow or stops
//
// Whoever waits is bounded by the test's context and by limits that are far above
// what is expected. Everything that was started ends with the test. A history is
// kept only when its test fails; the test says then where it is and how to look at
// it again (internal/hubtest/replay).
//
// # What it refuses
//
// To go on without the programs it needs: a test that is skipped protects nobody.
package hubtest
