// Package policies decides: what waits, what is allowed, what a model is told.
//
// # What it owns
//
// Six sets of rules, each a value of its own:
//
//   - [Queue]: who waits for a busy main agent or window, in arrival order, and
//     how many may ([NewMainQueue], [NewWindowQueue]).
//   - Context assembly: what the prompts of [Main], [Window] and [Ephemeral]
//     agents look like, what a [TimelineEntry] says and which ones fold into one.
//   - [ReloadCache]: what was done before and fits what is asked now.
//   - [WindowConnection]: which windows share an agent.
//   - [MonitorBudget]: how much background monitors may do.
//
// # Prompts
//
// A prompt consists of blocks in tags of our own vocabulary, then the content.
// Text that goes into a block is escaped, so it cannot end the block or begin
// another. The content is what the user said, last and without a tag around it;
// [Content] takes the meaning from every tag of the vocabulary in it. Prompts do
// that themselves, so no caller can forget it. Gestures, which desktops write as
// blocks at the beginning of the content, stay as they are; see [Content].
//
// # Who may call
//
// One goroutine at a time per value; the functions from anywhere. There is no
// clock, no I/O and no goroutine here: time is an argument, and what a value
// knows can be taken out, kept as JSON and put back.
//
// # When it is slow or stops
//
// It never waits. All that is kept is bounded, and so is what one call costs.
//
// # What it refuses
//
// Refusals are answers, not errors: a full queue says so, a budget that is used
// up says until when, a trigger without a match has no options. State that cannot
// be (a window in two groups, a count below zero) is mended when it is put back.
package policies
