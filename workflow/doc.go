// Package workflow plans: it works a message off as a plan.
//
// # What it owns
//
// [Flow] is the plan of a session: the layers that a message goes through
// (understood, planned, executed, answered), the todos and the graph they form, and
// the questions to people that it waits for. It is a state machine: no clock, no
// goroutine, no waiting. The session feeds it messages, answers, orders, what came
// of work, and the time; it answers by writing into the step of the session through
// [Stage], and by giving work to [Hands]. Everything it knows is in one table of the
// session, so whoever owns the session next goes on where it was.
//
// # Who may call it
//
// The session's own goroutine, within a step. Nothing here waits.
//
// # When it is slow or stops
//
// A plan has at most [MaxTodos] todos, of which as many run at once as the
// configuration says; a call costs about as much as what it changes. A plan that
// stands still costs nothing.
//
// # What it refuses
//
// With a [*Refusal], which has the code for the client: a second plan while one is
// under way, orders that do not fit the state, answers that are invalid, late or to
// nothing. Plans of models that are no graph are sent back once, with what is wrong.
package workflow
