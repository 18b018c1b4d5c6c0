// Package loop answers with models that only complete: it is the agent around
// them. It asks the [Model], calls the tools it wants, gives it the results and
// asks again, until the model has nothing more to do.
//
// It owns the conversations in memory, as [providers.Entry]s, and the turns on
// them; the hub keeps the same entries, told by [providers.EventRemember]. It
// knows nothing of HTTP: a Model is one request and one streamed reply.
//
// Who may call: [Provider] is a [providers.Provider] like any other. Hear is
// called by one goroutine per conversation; it may call Send, but neither
// Interrupt nor Close, which wait for it.
//
// When the model is slow, its turn is. When it fails before it has said
// anything and the trouble may pass, it is asked again, twice. When the
// conversation is too long for it, the turn fails, if the hub makes conversations
// shorter itself; else the older half of the turns is left out, and that is told.
// Whatever happens, people keep what they saw, and every tool call in the
// conversation has a result.
//
// What goes out is mended and then checked, see [providers.Check]: a request that
// makes no sense is not sent.
//
// It refuses turns of more than [MaxRounds] calls of the model, messages with
// nothing in them, and more than [MaxWaiting] messages waiting for one turn.
package loop
