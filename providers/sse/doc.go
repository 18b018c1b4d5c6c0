// Package sse asks model servers over HTTP and reads what they stream: the part
// that all of them have in common.
//
// It owns one request at a time: posting JSON, making a [providers.Failure] of
// everything that is not a stream, and taking server-sent events off the wire.
// What the events mean is for its callers, the clients in providers/anthropic
// and providers/openai; nobody else needs it.
//
// When a server is silent for [Config.Idle] the request ends with a failure, as
// it does when the context ends. Nothing is tried again here.
//
// It refuses lines and events above [MaxEvent], streams above [MaxStream],
// redirects (they would carry the key elsewhere) and answers that are no stream.
// Error texts are cut to a few hundred characters and never hold the key.
package sse
