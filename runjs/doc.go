// Package runjs executes JavaScript that agents write.
//
// Each run is a process of its own: [Runner] starts the hub's own program again with [WorkerArg],
// gives it the code, and reads the result, which is data. The process has no access to the network
// or to files beyond what the interpreter offers, which is nothing: code sees the language, console
// and input. Memory, processor time and wall time are bounded, and the process is killed at the end,
// so that nothing survives a run.
//
// The interpreter is goja, which is written in Go: a program that breaks out of JavaScript would
// still be in a memory-safe process with an empty environment.
package runjs
