// Package approval holds the auto-approval rules: it decides whether a tool call of
// an agent runs without a user's consent, is refused, or is put to the user.
//
// # What it owns
//
// Functions of plain values. It stores nothing and has no clock.
//
//   - [NewQuestion] classifies a tool call: which kind of permission it needs, which
//     command it runs, whether it touches files outside the workspace or protected ones.
//   - [Decide] applies the [wire.AutoApproval] rules of a session to a [Question].
//   - [JudgeCommand] applies the allowed and denied prefixes to a shell command line.
//   - [Window] counts requests and cost since the user last confirmed, and compares
//     them with the limits of the rules.
//
// # Fail closed
//
// Nothing is approved unless a rule names it. A tool input or a command line that the
// package cannot interpret with certainty is never approved; a denied command in it
// is still denied.
//
// # Concurrency
//
// All functions are safe for concurrent use. They do not modify their arguments.
//
// # Cost
//
// No function blocks or performs I/O. The time is proportional to the size of the
// input; command lines over 4 KiB are not parsed and go to the user.
package approval
