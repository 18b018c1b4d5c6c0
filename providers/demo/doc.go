// Package demo is a backend that needs nothing: no key, no network, no model. It
// answers in plain words, in English and Korean, opens windows when it is asked
// to, plays the scenes of the guided tour, and obeys directives, which tests use.
// Asked for a summary of a conversation it lists what was said.
//
// It plans, too: asked by the hub for a plan it answers in JSON, with the plan that
// the request has after /plan, as it is, also if that is none; asked to mend it, with
// the one after /repair. Without one it makes a plan that shows what plans can do:
// two todos side by side, one that fails twice, one that asks for dates, and one that
// needs a yes and writes a file. "add WORDS" and "remove ID" change a plan, and other
// words become a todo. "?clarify" in a request makes it ask back, and "?clarify!"
// insist; /sleep, /hang and /fail in it are obeyed before each answer. Agents of todos
// obey the directives in their task, after a new line or "; ".
//
// It says plainly that it is a demo.
//
// It owns its answers and nothing else. A message is read into a script of steps,
// which depends on the message, the tools at hand and what was said before, and
// on nothing else; so a turn that was cut off goes on from what is remembered.
//
// Who may call: see package providers. Each session has one goroutine per turn.
// Time passes in timers alone, so virtual time works.
//
// When a listener is slow, the turn waits for it. Stopping a session stops its
// turn in the middle of whatever it does.
//
// It refuses tools that it was not given, and says so in its answer, as it does
// with directives it cannot read; neither ends the turn. Directives are one per
// line, and where a message has some, its other words are not answered:
//
//	/say TEXT                       says it; \n begins a new line
//	/think TEXT                     thinks it
//	/sleep 1500ms                   waits
//	/stream N [RATE]                N numbered words, RATE a second (50)
//	/call TOOL {json} [TOOL {json}] calls tools, at once, and says the results
//	/task PROFILE WORDS             has a task agent do it; "; /" begins its next
//	                                line; consecutive tasks run at once
//	/ask QUESTION | option | option asks the user
//	/window ID TITLE | markdown     opens a window
//	/toast TEXT                     shows it for a moment
//	/recall                         says all that was said so far
//	/fill N                         remembers N tokens more than it says
//	/usage IN OUT                   says that it took so many tokens
//	/nosteer                        this turn takes no further messages
//	/fail [CLASS [WAIT]:] TEXT      the turn fails
//	/hang                           waits until it is stopped or steered
//	/progress PERCENT STEP          says how far a todo is
//	/input FIELD TYPE QUESTION | option | option
//	                                asks for a value that a todo needs: text, choice,
//	                                multi, number, date, daterange, confirm; with "!"
//	                                after the type it must be answered
//	/fail N [CLASS:] TEXT           a todo fails in its first N attempts
//	/help                           says what there is
package demo
