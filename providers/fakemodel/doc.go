// Package fakemodel is a model server for tests and trials by hand. It implements
// the Anthropic Messages API, the OpenAI Chat Completions and Responses APIs and the Gemini API without
// a model: it executes the directives in the newest message of the user, one per line.
//
//	/say TEXT            say it, in pieces; a quoted Go string is unquoted
//	/think TEXT          think it
//	/stream N [RATE]     say N numbered words, RATE per second (default 50)
//	/sleep 1500ms        do nothing for a while
//	/call TOOL {json}    call a tool; calls on consecutive lines are in one reply, and the
//	                     directives after them are executed in the reply to their results
//	                     In the Responses API, NAMESPACE.TOOL calls a tool of a namespace
//	/results             say the results of the newest calls
//	/recall              say all text in the messages of the request
//	/length              end the reply as truncated by its maximum length
//	/hang                do nothing until the client disconnects
//	/fail WHAT [TEXT]    fail: auth, rate, overloaded, transport, context_length,
//	                     refused, invalid or a status; inside a reply that has
//	                     begun it is an error of the stream
//	/cut [TOOL {json}]   abort the connection, in the middle of a call of the tool
//	/end                 end the stream cleanly, but without the end of the reply
//	/garbage             send an event that is no JSON
//	/huge                send an event of eight million bytes
//
// A request to continue a reply that broke off is answered with the directives after the one that
// ended the reply; if there are none, that one is executed again.
//
// A message without directives is answered with its own text, and a request for a summary
// of the conversation with a short one. [Server.Next] overrides the next responses.
//
// The lists of models of both APIs and of Ollama have the names in [Server.Models].
//
// The server records the newest 1,000 requests, except those for the list of models. It
// requires no key unless [Server.Key] is set, and refuses requests above 64 MiB or
// [Server.Window].
package fakemodel
