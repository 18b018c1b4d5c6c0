// Package sessionfile exports a session as one file that can be read elsewhere, and imports a
// new session made of it.
//
// # What it owns
//
// The format: a zip file with
//
//	metadata.json     what it is, of whom, the conversations, and a checksum of every other file
//	messages.jsonl    what was said, one [Line] per message, as other programs know it
//	desktop.json      the desktop: monitors, windows with their contents, notices, icons, and the last plan if it has ended
//	ui/MONITOR.jsonl  the rows that people saw, one [wire.UIRow] a line
//	api/N.jsonl       what the model of an agent saw, one [history.Message] a line
//	api/N.json        the same as other programs keep it, see [history.LoadForeign]; it is read and never written
//	storage/...       the files of the session
//
// What goes on at the moment of the export is not in it: agents at work, a plan under
// way, messages that wait, questions that are open, who is looking.
//
// A [Policy] says what of a log becomes a session again: everything, the
// conversations of the monitors and of some windows, or all of it with a line
// instead of the conversation of each older window.
//
// # Who may call
//
// Anybody; it starts nothing and holds nothing. [Write] streams, and has one line or
// one file in memory at a time.
//
// # What it refuses
//
// [Read] looks at all of a file before it returns: what is no log, is of a newer hub,
// is damaged, incomplete, larger than it may be, or does not fit together is a
// [*RefusedError] that names the part and the reason. Nothing was changed then.
package sessionfile
