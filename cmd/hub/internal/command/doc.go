// Package command describes the subcommands of hub: a call of one with its arguments and streams,
// its flags, and the mistakes in them.
//
// A subcommand that talks to a running hub knows none of the hub's settings. It passes the flags
// that it does not know to [Call.Local], which reads them as settings and returns where the
// local hub is.
package command
