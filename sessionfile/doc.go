// Package sessionfile exports a session as one file, and imports such a file as a new
// session.
//
// # What it owns
//
// The format: a zip file with
//
//	metadata.json     format, session, threads, and a checksum of every other file
//	messages.jsonl    the conversation, one [Line] per message, in a common format for other programs
//	desktop.json      the desktop: monitors, windows with their contents, notices, icons, and the last plan if it has ended
//	ui/MONITOR.jsonl  the rows that users saw, one [wire.UIRow] a line
//	api/N.jsonl       the messages that the model of an agent saw, one [history.Message] a line
//	api/N.json        the same in the format of other programs, see [history.LoadForeign]; read, never written
//	storage/...       the files of the session
//	checkpoints.pack  the checkpoints of these files, if they were asked for
//	workspaces/N.pack those of the workspace N, if they were asked for
//
// Work in progress is not exported: running agents, an active plan, queued messages, open
// questions, presence.
//
// A [Policy] selects what is imported: everything, the conversations of the monitors and of
// some windows, or these with a one-line summary for each other window.
//
// # Concurrency
//
// All functions may be called from any goroutine; they start none and hold no state.
// [Write] streams and has one line or one file in memory at a time.
//
// # Errors
//
// [Read] validates the whole file before it returns. A file that is not a session file, was
// written by a newer version, is damaged, incomplete, too large or inconsistent gives a
// [*RefusedError] that names the part and the reason. Nothing was changed then.
package sessionfile
