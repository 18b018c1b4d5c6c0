// Package storetest is the store contract as executable tests. An engine is correct if it
// passes [Run] and [RunModel].
//
// The package declares the interfaces of the contract, because the suite is their first
// consumer, the named checks, one per rule of package store, and a pure model that the
// results of random operation sequences are compared with.
//
// Tests of engines call it, once per kind of deployment. An engine inside the process passes
// synctest.Test as [Around], so that minutes of lease time cost no real time; an engine behind
// a socket passes [Plain] and a small [Env.Unit]. Every check gets a store of its own from the
// setup function.
//
// Checks wait on channels and iterators with a generous deadline that only serves to fail a
// hanging check. No check measures time.
//
// A group of checks whose hook an [Env] lacks is skipped, and the log says so.
package storetest
