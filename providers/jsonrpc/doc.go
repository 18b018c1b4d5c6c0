// Package jsonrpc is one end of a JSON-RPC 2.0 connection: it calls methods of the other end and
// serves the calls of the other end, over any transport of whole messages.
//
// A [Conn] has no goroutine that reads: its owner passes every received message to [Conn.Receive],
// in order, and ends the connection with [Conn.Close]. Notifications are handled within Receive,
// which keeps their order. Calls of the other end are served on goroutines of their own.
//
// Conn is safe for concurrent use; Receive is called by one goroutine at a time. A handler of
// notifications that blocks delays everything that is received later, including the results that
// Call waits for.
//
// [Conn.Call] ends with its context, and with Close. A result that arrives later is dropped. The
// package refuses more than [Config.MaxCalls] calls waiting for a result with [ErrTooMany], and
// answers more than [Config.MaxServed] calls of the other end at once with an error. Messages that
// are no JSON-RPC make Receive fail; the connection stays usable. Batches are not supported.
package jsonrpc
