// Package fakemodel is a model server for tests and trials by hand. It implements
// the Anthropic Messages API and the OpenAI Chat Completions and Responses APIs without a
// model: it executes the directives in the newest message of the user, one per line.
//
//	/say TEXT            say it, in pieces; a quoted Go string is unquoted
//	/think TEXT          think it
//	/stream N [RATE]     say N numbered words, RATE per second (default 50)
//	/sleep 1500ms        do nothing for a while
//	/call TOOL {json}    call a tool; calls on neighbouring lines are made at once,
//	                     and what follows is done when their results are there
//	/results             say the results of the newest calls
//	/recall              say all text that the request holds
//	/length              end the reply because it became too long
//	/hang                do nothing until the client goes away
//	/fail WHAT [TEXT]    fail: auth, rate, overloaded, transport, context_length,
//	                     refused, invalid or a status; inside a reply that has
//	                     begun it is an error of the stream
//	/cut                 break the connection off
//	/end                 end the stream well, but before the reply has ended
//	/garbage             send an event that is no JSON
//	/huge                send an event of eight million bytes
//
// A message without directives is answered in plain text, and a request for a summary of
// the conversation with a short one. [Server.Next] overrides the next responses.
//
// Tests create and close it; Close ends all responses in progress and waits for them. It
// records the newest 1,000 requests for tests, requires no key unless [Server.Key] is set,
// and refuses requests above 64 MiB or [Server.Window].
package fakemodel
