// Package agent runs conversations with programs that are agents themselves: they have a memory, a
// loop and tools of their own, and speak a protocol of their own. Packages of such programs
// implement [Backend] and report what the program does to a [Session]; this package makes a
// [providers.Provider] of that.
//
// A session is a process. Its states:
//
//	state   | start, continue | steer, queue | interrupt        | the agent reports
//	idle    | begins a turn   | ErrIdle      | nothing          | nothing: late reports are dropped
//	working | ErrBusy         | taken        | ends the turn    | events of the turn
//	ending  | ErrBusy         | ErrNoSteer   | waits            | events, then the end
//	exited  | ErrClosed       | ErrClosed    | nothing          | nothing
//	closed  | ErrClosed       | ErrClosed    | nothing          | nothing
//
// The hub stores the conversation, and its history is the truth. The id of a thread that a session
// reports is the agent's own id of the conversation and a digest of the texts and calls in it. A
// session that continues with the same texts resumes the agent's own conversation. If the texts
// differ because the conversation was rewound, edited or condensed, or if the agent does not have
// it, the agent begins anew, and its first message contains a transcript. An injected message is
// put before the next message, because agents have no means of adding one that all of them share.
// Text that was published before a turn was interrupted or steered stays in the history. An agent
// that drops it gets it with the next message. While the agent lacks a part of the conversation, no
// id is reported, so that a session that continues then begins anew with a transcript.
//
// A slow listener delays the program: its output is read while at most [MaxPending] bytes wait to
// be delivered. OnEvent is called by one goroutine per session; it may call Send, but neither
// Interrupt nor Close, which wait for it.
//
// Tools of the hub are called through [Session.Call], those that are not marked as parallel one
// at a time, and only while a turn runs. When a turn ends, in whatever way, its calls end, its
// questions are withdrawn and each call in its entries has a result. When the program ends by
// itself, the turn fails, and [providers.EventExit] follows.
package agent
