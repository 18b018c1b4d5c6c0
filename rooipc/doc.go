// Package rooipc translates between sessions and the IPC protocol of Roo-Code, with which programs start
// and watch its tasks over a Unix socket.
//
// A frame is a JSON object and a form feed (node-ipc). [ReadFrame] and [ParseCommand] read what clients
// send; a [Task] turns the log of a session into the events that clients get. The package does no I/O of
// its own.
//
// # Tasks
//
// A task of Roo is a conversation, so it is a session here, and the id of the session is the id of the
// task. Turns of the session begin and complete it again and again. What an agent delegates is a subtask
// with an id of its own, "SESSION/TASK".
//
// # Rows
//
// Clients identify a row by its ts. Rows of the log have one, and it never changes. The text of a running
// turn has no row yet: it is sent as a row that grows, and the row of the log takes its place later. So
// that a client which reconnects in between does not get the text twice, the ts of both depends only on
// the message that the turn answers and on the number of the text in the turn: it is the ts of the
// user's row and a fraction.
//
// # Rules of the protocol
//
// Clients check every event against a schema and drop what does not match, without a word. Tuples have
// exact lengths, absent is not null, and names are from closed sets: tools that Roo does not know are
// "custom_tool", and kinds of rows that it retired become text.
//
// # Concurrency
//
// A Task belongs to one goroutine. It holds the state of one desktop, whose values it shares with the
// snapshot that it began with.
package rooipc
