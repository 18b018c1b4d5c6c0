// Package demo is a provider without a model: it needs no key and no network. It
// answers simple requests by fixed rules, in English and Korean, opens windows on
// request (the table intents; their contents are files in pages), closes, arranges and
// changes them, takes changes back, plays the scenes of the guided tour, and executes
// directives, which tests use. Its answers say that it is a demo; what no rule knows is
// answered with suggestions to click. Its summary of a conversation lists the
// newest messages of the user.
//
// It also plans. The hub's request for a plan is answered in JSON with the plan
// that follows /plan in the user's request, unmodified even if it is invalid; a request
// to repair a plan, with the one after /repair. Without these it returns a plan that
// demonstrates the features: two concurrent todos, one that fails twice, one that asks
// for dates, and one that needs approval and writes a file. "add WORDS" and "remove ID"
// change a plan, and other words become a todo. "?clarify" in a request makes the demo
// ask back, "?clarify!" with a required answer; /sleep, /hang and /fail in a request
// are executed before each answer. Agents of todos execute the directives in their
// task, which begin on a new line or after ";".
//
// A message becomes a script of steps, which depends only on the message, the
// available tools and the conversation so far. Thus a turn that was cut off can be
// continued from the stored conversation.
//
// A session has one goroutine per turn. Delays use timers only, so the package works in a
// synctest bubble. A slow listener delays its turn. Closing a session or interrupting
// it ends the turn at once.
//
// Missing tools and directives that cannot be parsed are reported in the answer and do
// not end the turn. Directives are one per line; if a message has any, the rest of its
// text is not answered:
//
//	/say TEXT                       emit the text; \n is a line break
//	/think TEXT                     emit it as thinking
//	/sleep 1500ms                   wait
//	/stream N [RATE]                emit N numbered words, RATE per second (default 50)
//	/call TOOL {json} [TOOL {json}] call tools, concurrently if all of them allow it, and
//	                                emit the results; shell {"command": LINE} runs nothing,
//	                                but asks for approval
//	/task PROFILE WORDS             delegate to a task agent; "; /" begins its next
//	                                line; consecutive tasks run concurrently
//	/ask QUESTION | option | option ask the user
//	/window ID TITLE | markdown     open a window
//	/toast TEXT                     show a toast
//	/recall                         emit the text of the conversation, at most the last
//	                                64 KiB
//	/fill N                         add N tokens to the conversation without emitting them
//	/usage IN OUT                   report this usage in tokens
//	/nosteer                        accept no further messages in this turn
//	/fail [CLASS [WAIT]:] TEXT      fail the turn
//	/hang                           wait until the turn is interrupted or steered
//	/progress PERCENT STEP          report the progress of a todo
//	/input FIELD TYPE QUESTION | option | option
//	                                ask for a value that a todo needs: text, choice,
//	                                multi, number, date, daterange, confirm; "!" after
//	                                the type makes the answer required
//	/fail N [CLASS:] TEXT           fail the first N attempts of a todo
//	/help                           list the features
package demo
