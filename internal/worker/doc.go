// Package worker runs work that must not hurt the hub in a process of its own: the hub's own
// program, started again with an argument that says what to do. The process gets its input at once
// and returns its output at the end. It has an empty environment, and limits that it sets itself
// with [Limit].
//
// A worker that needs too much memory, time or stack ends alone. It also ends when its caller does
// not wait any more, or when the hub is killed.
package worker
