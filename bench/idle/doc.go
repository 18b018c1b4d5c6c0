//go:build linux

// Command idle measures what idle sessions cost: real hubs on a real Redis on this machine, a
// number of sessions with one open tab each and, for a part of them, a second tab at another hub.
//
//	go -C bench run ./idle
//	go -C bench run ./idle --sessions 2000 --followed 200 --for 30s
//
// It prints the calls of Redis per second by command, those inside scripts included, the CPU time
// of Redis and of each hub, and their memory. It exits with 1 if there are more calls per second
// than --max-calls.
//
// # What it owns
//
// The processes it starts, its temporary folder, and its tabs. It stops and removes them when it
// ends.
//
// # Callers
//
// Developers, also for the figures in docs/SCALE.md.
package main
