//go:build linux

// Package rig sets up what trials are run on: hubs and a Redis as processes of
// this machine, and what they have used so far.
//
// # What it owns
//
// The processes it starts, until they are stopped. They are killed by the system
// when their caller dies, so a trial leaves none behind. An interrupt at the terminal
// does not reach them: their caller says when they end.
//
// # Who may call it
//
// The commands under bench. Everything may be called from any goroutine.
//
// # When it is slow or stops
//
// A process has 30 seconds to say that it is ready and 10 to end; then it is
// killed. What it said last comes with the error. When the context of a start
// ends, so does the process. A build has five minutes. What a process leaves behind
// holds nobody up.
//
// # What it refuses
//
// Names of scenarios that there are not, and a hub that does not build.
package rig
