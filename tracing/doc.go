// Package tracing traces: it follows a user's message from the door that took it to
// the tabs that see its answer, over all replicas, and sends what it saw to an
// OpenTelemetry collector (OTLP over HTTP).
//
// # What it owns
//
// The exporter and its queue; the messages that were read at a door of this replica
// and have no answer yet. [Tracer.Close] ends everything.
//
// A message has one trace, whose id and whose root span are a hash of the session and
// the message: every replica knows them, also one that takes the session over later,
// and nothing is kept or sent along (docs/adr/0012-traces-have-names.md). A trace has
//
//	accept                    the door: the message is read until it is answered
//	├ append                  the owner: a commit with a promise, one for each promise
//	├ queue                   the owner: it came, until its turn has a slot
//	├ invoke_agent <kind>     the owner: a run of the turn; one that goes on is another
//	│ ├ chat <model>          a call of the model
//	│ └ execute_tool <name>   a call of a tool
//	└ deliver                 each replica: the end is written to its tabs
//
// # Who may call it
//
// Everybody at any time. Those who work do not know this package: gateway, session
// and agentpool each say what they tell, and cmd/hub brings them together.
//
// # When it is slow or stops
//
// Nobody waits for it. Spans that the collector does not take in time are dropped; that
// it is away is logged once. What a process had not sent when it was killed is lost,
// which is a second's worth; the trace goes on with the next owner.
//
// # What it refuses
//
// Content. Spans say which message, which tool, how many tokens; never what was said,
// nor why something failed in the words of others, which may quote it.
package tracing
