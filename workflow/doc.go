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
// Every call that changes something ends the same way: what can go on now goes on,
// events tell of it, and what has changed is kept, all in the step of the call. Who
// folds the events knows the todos and the open questions as the flow does.
//
// Nothing runs twice. A todo that is completed or skipped never begins again. One
// that was begun and on which nobody works any more, or whose agent was cut off
// within a tool, is put back and asked about. Names of jobs and questions are never
// given twice in a session, also after a reset.
//
// What models and people write is read by functions without state: plans, their
// changes and graphs, answers, insights, results.
//
// # Who may call it
//
// The session's own goroutine, within a step. Nothing here waits. [Hands] do not call
// back before the call that called them has returned. [Flow.Interrupted] is called
// before the jobs are interrupted, so that they begin anew and do not fail.
//
// # When it is slow or stops
//
// A plan has at most [MaxTodos] todos, of which as many run at once as the
// configuration says, and 20 open questions; a call costs about as much as what it
// changes. A plan that stands still costs nothing: its deadlines stop, and go on with
// what they had left. After a crash [Flow.Restore] and [Flow.Recover] go on with what
// was committed.
//
// # What it refuses
//
// With a [*Refusal], which has the code for the client: a second plan while one is
// under way, orders that do not fit the state, answers that are invalid, late or to
// nothing. Plans of models that are no graph are sent back once, with what is wrong.
// [Flow.Restore] refuses what a newer hub wrote in a form that is not known here.
package workflow
