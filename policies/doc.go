// Package policies holds the rules without side effects: queue limits, budgets, prompts,
// window groups and the reload cache.
//
// # What it owns
//
// Six sets of rules, each a value of its own:
//
//   - [Queue]: messages waiting for a busy main agent or window, in arrival order, with a
//     limit ([NewMainQueue], [NewWindowQueue]).
//   - Context assembly: the prompts of [Main], [Window] and [Ephemeral] agents, the text of a
//     [TimelineEntry], and which entries are folded into one.
//   - [ReloadCache]: earlier actions that match the current request.
//   - [WindowConnection]: which windows share an agent.
//   - [MonitorBudget]: limits of the monitors other than the first one.
//
// # Prompts
//
// A prompt consists of blocks in tags of the hub's own vocabulary, followed by the content.
// Text inside a block is escaped, so it can neither end the block nor begin another. The
// content is the user's text, last and without a tag around it; [Content] neutralizes every
// tag of the vocabulary in it. The prompt functions call it themselves, so no caller can omit
// it. Gestures, which desktops write as blocks at the beginning of the content, stay as they
// are; see [Content].
//
// # Concurrency
//
// One goroutine at a time per value; the functions are safe for concurrent use. There is no
// clock, no I/O and no goroutine in this package: time is an argument, and the state of a
// value can be exported, stored as JSON and restored.
//
// # Bounds
//
// No call blocks. All state is bounded, and so is the cost of a call.
//
// # What it refuses
//
// Refusals are return values, not errors: a full queue says so, an exhausted budget returns
// until when, a trigger without a match has no options. Inconsistent state (a window in two
// groups, a negative count) is corrected when it is restored.
package policies
