// Package history records: what people saw and what models saw of a conversation,
// and how the two go back, shrink and stay in step.
//
// # What it owns
//
// Rules over plain values; it keeps nothing itself. A *row* is a [wire.UIRow], what
// a person sees. A [Message] is what a model sees, in the thread of one agent. A
// conversation is what happens on one monitor: its rows and the threads of its
// agents that last.
//
//   - [Effective] and [View]: what of a thread goes to the model.
//   - [Repair]: what becomes of results of tools when a message is added.
//   - [Rewind]: both histories as they were before a row.
//   - [CondenseInput], [CondenseRequest], [Condensed]: summing up.
//   - [Truncated]: leaving out the older half.
//   - [Tokens] and [Limits]: how full a model's memory is, and what to do about it.
//   - [Tasks]: the list of tasks, which are turns, with who gave them to whom, what
//     they cost and how they ended; [RebuildTasks] makes it from rows.
//   - [Grown], [Finished]: rows that grow, and their last version.
//   - [Asks]: rows that ask, and since when their tasks wait for an answer.
//   - [LoadForeign]: threads as other programs write them.
//   - [Archive]: where all rows of a conversation are, as ops on a list of the
//     store: adding one costs the same however many there are.
//   - [Digest]: rows for programs that only want to know what happened.
//
// # Identity
//
// A row has an id that grows with every row of the session and is never given
// twice. A message has an [Message.ID] that grows in its thread, also never given
// twice: appended messages have even ids ([NextID]), a marker that is put before
// one has the odd id below it. So order is the order of ids, and times are only
// shown. [Message.Row] links a message to the rows: for what a user said it is the
// user's row; for all else it is the id that the next row of the session had when
// the message was added, so no older row shows it, except that the rows of tools
// come before the message with their results. The other way, a row names its thread
// and the newest message that the thread had. Zero is unknown, in data that is older
// than ids or comes from elsewhere: such messages survive every rewind.
//
// # Nothing is lost
//
// Summing up and leaving out tag messages and add a summary or a marker; the tags
// hide them as long as that is there. When a rewind takes it away its tags are
// cleared, and what was hidden is seen again exactly as before.
//
// # Who may call it
//
// Anybody, from any goroutine: these are functions of their arguments. What they
// are given is never changed; what they return shares blocks with it, so nobody may
// change those.
//
// # When it is slow or stops
//
// It never waits. Every function takes time in proportion to what it is given.
//
// # What it refuses
//
// A row that is not there ([ErrNoRow]) or is older than ids ([ErrOldRow]); summing
// up what is too short ([ErrTooShort], [ErrRecently]) or an empty summary
// ([ErrNoSummary]). Tags that name nobody, results without calls and calls without
// results are no errors: they are seen through, and what goes out passes
// [providers.Check].
package history
