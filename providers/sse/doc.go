// Package sse sends requests to model servers over HTTP and reads their streams: the part
// common to all model APIs.
//
// It handles one request at a time: posting JSON, converting every response that is no stream
// to a [providers.Failure], and decoding server-sent events. The clients in providers/anthropic
// and providers/openai interpret the events.
//
// When a server is silent for [Config.Idle] the request ends with a failure, as it does when
// the context ends. Nothing is retried here.
//
// It refuses lines and events above [MaxEvent], streams above [MaxStream], redirects (they
// would send the key to another host) and responses that are no stream. Error texts are
// truncated to a few hundred characters and never contain the key.
package sse
