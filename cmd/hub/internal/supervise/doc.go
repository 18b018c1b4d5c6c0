// Package supervise has `hub supervise`, which runs the hub in a child process and starts it again when
// a signal has ended it, such as SIGKILL. A hub that exits by itself is not started again.
package supervise
