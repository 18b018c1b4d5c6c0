// Package loop implements the agent loop around models that only complete: it calls the
// [Model], executes the tools that the reply asks for, adds the results and calls the model
// again, until the reply asks for no tool.
//
// It holds the conversations in memory, as [providers.Entry]s, and the turns on them; the hub
// stores the same entries, which it receives with [providers.EventEntries]. It knows nothing
// of HTTP: a Model is one request and one streamed reply.
//
// [Provider] is a [providers.Provider]. OnEvent is called by one goroutine per conversation; it
// may call Send, but neither Interrupt nor Close, which wait for it.
//
// A slow model delays only its turn. If a model call fails before any part of the reply was
// published, and the failure may pass, it is retried twice. A reply that breaks off later stays in
// the conversation, and the model is asked to continue it, at most three times in a row. If the conversation is too long for
// the model, the turn fails if the hub shortens conversations itself; otherwise the older half
// of the turns is left out and [providers.EventTruncated] is sent. In every case published text
// stays in the conversation, and every tool call in it has a result.
//
// Requests are corrected and then verified, see [providers.Check]: an invalid request is not
// sent.
//
// The package refuses turns of more than [MaxRounds] model calls, empty messages, and more than
// [MaxWaiting] messages waiting for one turn.
package loop
