// Package tracing traces a user's message from the replica that receives it to the tabs
// that get its answer, over all replicas, and sends the spans to an OpenTelemetry collector
// (OTLP over HTTP).
//
// # What it owns
//
// The exporter and its queue, and the messages that this replica has received and not
// answered yet. [Tracer.Close] ends everything.
//
// A message has one trace. Its trace id and root span id are a hash of the session and the
// message id: every replica can compute them, also one that takes the session over later,
// and nothing is stored or sent along (docs/adr/0012-traces-have-names.md). A trace has
//
//	accept                    gateway: from reading the message to its answer
//	├ append                  owner: a commit that accepts, queues, rejects or ends it
//	├ queue                   owner: from its arrival until its turn has a slot
//	├ invoke_agent <kind>     owner: a run of the turn; a resumed one has a new span
//	│ ├ chat <model>          a call of the model
//	│ └ execute_tool <name>   a call of a tool
//	└ deliver                 each replica: the end is written to its tabs
//
// # Concurrency
//
// All methods may be called from any goroutine. The traced packages do not import this
// one: gateway, session and agentpool each declare an interface, and cmd/hub connects them.
//
// # Failures
//
// No caller waits for the exporter. Spans that the collector does not accept in time are
// dropped; an unavailable collector is logged once. A killed process loses the spans of the
// last second; the trace continues with the next owner.
//
// # What it leaves out
//
// Content. Spans name the message, the tool and the number of tokens, but contain neither
// messages nor error texts, which may quote them.
package tracing
