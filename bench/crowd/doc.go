//go:build linux

// Command crowd is a fleet with life in it, to look at and to check the monitor
// with: real hubs on a real Redis on this machine, thousands of sessions, people
// who come and go and say things, questions that nobody answers, turns that fail
// and models that say nothing.
//
//	go -C bench run ./crowd
//	go -C bench run ./crowd --for 60s --check
//
// It prints the address of the monitor and, every second, how it goes on. With
// --check it measures what watching costs and whether everything is seen from every
// hub, and ends with 1 when something is missing. When that goes on for 70 seconds or
// longer, the models that say nothing must be called stalled.
//
// # What it owns
//
// The processes it starts, in a folder of its own, and its tabs. Everything is
// gone when it ends.
//
// # Who may call it
//
// People, and whoever writes bench/README.md.
//
// # When it is slow or stops
//
// Sessions are made before anything else happens, some hundred a second. An
// interrupt, a SIGTERM and the end of the terminal end the tabs, then the hubs, then
// Redis, within ten seconds each. When Redis or the last hub ends by itself, so does
// everything, with its last words; with --check, when any hub does. Else the crowd goes on
// with the hubs that are left. Building the hub is given up after five minutes,
// an answer that a check waits for after 15 seconds.
//
// # What it refuses
//
// Settings that make no sense.
package main
