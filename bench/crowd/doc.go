//go:build linux

// Command crowd runs replicas with thousands of active sessions, to try and to check the admin
// page: real hubs on a real Redis on this machine, tabs that open and close and send messages,
// questions without an answer, turns that fail and models without output.
//
//	go -C bench run ./crowd
//	go -C bench run ./crowd --for 60s --check
//
// It prints the address of the admin page and, every second, the resource usage. With --check
// it measures what a live stream of the admin API costs and checks the admin views of every hub,
// and exits with 1 if a check fails. With --for 70s or longer, sessions whose model has no
// output must be reported as stalled.
//
// # What it owns
//
// The processes it starts, its temporary folder, and its tabs. It stops and removes them when it
// ends.
//
// # Callers
//
// Developers, also for the figures in bench/README.md.
//
// # Timeouts
//
// It first creates the sessions, a few hundred per second. An interrupt, SIGTERM and SIGHUP stop
// the tabs, then the hubs, then Redis, within ten seconds each. If Redis or the last hub exits
// on its own, the command ends with the end of that process's output; with --check, if any hub
// does. Otherwise it continues with the remaining hubs. The build of the hub has five minutes,
// each check 15 seconds.
//
// # Errors
//
// Invalid flags: the exit code is 2.
package main
