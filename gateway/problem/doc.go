// Package problem has the one table of errors of the gateway: it maps the errors of all
// packages below to what clients get over REST, Server-Sent Events and WebSockets.
//
// An error becomes a code of package wire, whose own table has the HTTP status, the default
// text, whether the client can continue and what it can do, and how a connection is closed.
// The table here (table.go) has the code for each error and, where they differ from those of
// the code, a status, a text and the part of the request that is wrong. An error outside the
// table is internal: its text goes to the log only, and it never says anything about the
// store.
//
// Handlers return errors of the packages below as they are, or an [*Error] where they know
// better. All functions are safe for concurrent use.
package problem
