//go:build linux

// Package rig runs hubs and Redis as processes of this machine for measurements, and reads
// the CPU time and memory that they have used.
//
// # What it owns
//
// The processes it starts, until they are stopped. The kernel kills them when their parent
// dies. They have their own process group, so that an interrupt at the terminal does not
// reach them: the caller stops them in its own order.
//
// # Concurrency
//
// The commands under bench call it, from any goroutine.
//
// # Timeouts
//
// A process has two minutes to print that it is ready and 10 seconds to exit; then it is
// killed. The error contains the end of its output. When the context of a start ends, so
// does the process. A build has five minutes. Children of an ended process delay the caller
// by one second at most.
//
// # Errors
//
// Unknown names of scenarios, and a hub that does not build.
package rig
