// Package storetest is the store contract in executable form. An engine is
// whatever passes [Run] and [RunModel].
//
// It owns the interfaces of the contract, declared here because the suite is
// their first consumer, the named checks, one per sentence of package store,
// and a pure model that random operation sequences are compared with.
//
// It is called from the tests of engines only, once per kind of deployment. An
// engine in the process passes synctest.Test as [Around], so that minutes of
// leases cost no time; an engine behind a socket passes [Plain] and a small
// [Env.Unit]. Every check gets a store of its own from the setup function.
//
// When an engine is slow, checks wait on channels and iterators under a
// generous deadline that only ever serves to fail. Nothing here measures time.
//
// It refuses to pass what it did not try: a group whose hook an [Env] lacks is
// left out, and the log says so.
package storetest
