// Package bridge implements `hub mcp`, a stdio bridge for MCP clients that start a program and exchange
// lines of JSON-RPC with it: it sends each line to the MCP endpoint of a hub and writes the answers.
//
// Standard output carries JSON-RPC only; logs go to standard error. The bridge has no state of a
// conversation, because the endpoint has none, so a restart of the hub does not end it. A request that
// did not reach the hub is sent again until the hub is back, for half a minute. A call whose connection
// broke is answered with an error, because the hub may have executed it. A notification that a request
// is cancelled ends its connection, which interrupts the call.
//
// Unless it is given an MCP token, the bridge makes one that is valid for a day, makes another when the
// hub does not accept it any more, and revokes it at the end.
//
// At the end of the input the bridge waits five seconds for running requests; when the context ends it
// ends at once.
package bridge
