// Package providers is one interface over the model backends.
//
// A [Provider] opens [Session]s, each a conversation with a model. A session runs one turn at a
// time and delivers [Event]s, in order, to [Spec.OnEvent]. The hub stores the conversation: a
// backend without memory of its own sends new entries with [EventEntries], and receives them
// in [Spec.From] when the conversation continues elsewhere.
//
// Providers and sessions are safe for concurrent use. OnEvent is called by one goroutine at a time
// and may block: a backend that must not block puts a queue in between.
//
// A slow backend delays only its own turn. When it fails, the turn ends with a [*Failure] that
// classifies the failure and says when to retry. Package providertest is the contract as a test
// that every backend passes.
//
// A conversation that is sent to a model begins with the user, alternates, and has every tool
// call followed by its result. [Check] verifies this, and every backend that sends a
// conversation calls it last: a conversation that does not pass is not sent, and the turn fails
// as [Invalid]. [Corrected] makes any conversation pass.
//
// A [Table] holds the providers of a hub by name, keeps those ready that take a while to start,
// and retries and logs when that fails. It refuses duplicate names. Nothing registers itself:
// cmd/hub lists the providers.
package providers
