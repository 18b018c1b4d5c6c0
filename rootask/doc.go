// Package rootask reads the task folders of Roo-Code and makes session files of them.
//
// A task folder has the rows that people saw (ui_messages.json) and the messages of the model
// (api_conversation_history.json), linked only by time. [Read] returns both with the links that package
// history wants, and says what it left out.
//
// Folders may be damaged, huge or hostile. Links are not followed, files and numbers of rows are bounded,
// and what cannot be interpreted is left out and counted.
package rootask
