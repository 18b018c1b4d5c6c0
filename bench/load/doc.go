//go:build linux

// Command load generates load for a hub over loopback, measures the CPU time and memory of the
// hub, and checks that every tab receives every event once and in order.
//
//	go -C bench run ./load all
//	go -C bench run ./load --rounds 1 --duration 2s fanout
//
// # What it owns
//
// Every process it starts: the hub, a Redis server for scenarios with Redis, and the floor, a
// minimal server that only copies prepared frames to sockets. All of them work in a temporary
// folder and end with the run. In alternating rounds the hub and the floor get the same events
// from the same client code, so that the figures are ratios that can be compared between machines.
// In the scenarios of peers the other server is a node of the Centrifuge library, the one behind
// Centrifugo, with a channel per session, history and recovery.
//
// The tabs are sockets on one epoll in one thread. Frames are not decoded: the client reads known
// offsets, because client and server share the machine and the client must be cheaper.
//
// # Callers
//
// Developers and scripts, one run at a time on an idle machine. JSON lines, one per run, go to
// stdout; the table and the limits go to stderr.
//
// # Timeouts
//
// Every phase ends after 20 seconds without progress. A server that does not keep up, closes a
// tab or exits ends the run with the faults so far. An interrupt also stops the processes it
// started.
//
// # Errors
//
// Lost, repeated or reordered events: the exit code is 1. Figures above their limit are reported,
// and with --enforce the exit code is 1 as well.
package main
