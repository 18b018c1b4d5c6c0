// Package history holds the rules over the two histories of a conversation: the rows that
// users see and the messages that models see. It rewinds, condenses and truncates them, and
// keeps the two consistent.
//
// # What it owns
//
// Functions over plain values; the package stores nothing. A row is a [wire.UIRow], which
// users see. A [Message] is part of the thread of one agent, which its model sees. A
// conversation is the rows of one monitor and the threads of its persistent agents.
//
//   - [Effective] and [View]: the part of a thread that goes to the model.
//   - [Repair]: matches tool results to their calls when a message is added.
//   - [Rewind]: returns both histories to the state before a row.
//   - [CondenseInput], [CondenseRequest], [Condensed]: replace a thread by a summary.
//   - [Truncated]: leaves out the older part of a thread.
//   - [Tokens] and [Limits]: how full the context window of a model is, and what to do
//     about it.
//   - [Tasks]: the list of tasks (a task is a turn) with parents, costs and outcomes;
//     [RebuildTasks] rebuilds it from rows.
//   - [NextVersion], [FinalVersion]: rows that are written in several versions while they
//     stream.
//   - [OpenAsks]: unanswered rows that ask the user, and how long their tasks have waited.
//   - [LoadForeign]: reads threads that other programs wrote.
//   - [Archive]: the list of all rows of a conversation in the store, as store operations;
//     adding a row has a constant cost.
//   - [Digest]: a short form of rows for programs.
//
// # Identity
//
// A row has an id that increases with every row of the session and is never reused. A
// message has a [Message.ID] that increases within its thread and is never reused either:
// appended messages have even ids ([NextID]), a marker inserted before a message has the
// odd id below it. So the order is the order of ids; times are for display only.
//
// [Message.Row] links a message to the rows. For a user's message it is the user's row. For
// other messages it is the id that the next row of the session had when the message was
// added, so that no older row shows the message; only the rows of tools precede the message
// with their results. In the other direction, a row names its thread and the newest message
// of the thread at that time. Zero means unknown, in data that is older than ids or
// imported: such messages survive every rewind.
//
// # Nothing is lost
//
// Condensing and truncating tag messages and add a summary or a marker; the tags hide the
// messages as long as the summary or marker exists. A rewind that removes it clears its
// tags, which makes the hidden messages visible again, unchanged.
//
// # Concurrency
//
// All functions may be called from any goroutine, except that [Tasks], [OpenAsks] and
// [Archive] are values of one owner. Arguments are not modified. Results share blocks with
// the arguments, so callers must not modify blocks.
//
// # Cost
//
// No function blocks. Each takes time proportional to its input.
//
// # Errors
//
// An unknown row ([ErrNoRow]) or one without an id ([ErrOldRow]); condensing a thread that
// is too short ([ErrTooShort], [ErrRecently]) or with an empty summary ([ErrNoSummary]).
// Each is an [Error] with a code that clients translate.
// Tags without a summary, results without calls and calls without results are not errors:
// they are tolerated, and the output always passes [providers.Check].
package history
