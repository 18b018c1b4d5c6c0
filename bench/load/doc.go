//go:build linux

// Command load drives a hub the way a crowd does, over loopback, and says what
// that cost the hub and whether every tab saw what it had to.
//
//	go -C bench run ./load all
//	go -C bench run ./load --rounds 1 --duration 2s fanout
//
// # What it owns
//
// Every process it starts: the hub, a Redis server when one is asked for, and
// the floor, a bare server that only copies ready-made frames to sockets. All of
// them work in a temporary folder and end with the run. In alternating rounds the
// hub and the floor get the same events over the same client code, so the figures
// are ratios that mean something on any machine.
//
// The tabs are sockets on one epoll in one thread. Frames are not decoded but
// looked into at known places, because client and server share the machine and the
// client must be the cheaper of the two.
//
// # Who may call it
//
// People and scripts, one at a time on a quiet machine. JSON lines, one per run,
// go to stdout; the table and the verdict go to stderr.
//
// # When it is slow or stops
//
// Every phase has a deadline. A server that does not keep up, closes a tab or
// dies ends the run with what was seen until then. Interrupting the command ends
// its children.
//
// # What it refuses
//
// A run in which anything was lost, repeated or out of order, however fast: the
// exit code is 1. Ratios that miss their mark are reported, and with --enforce
// they are failures too.
package main
