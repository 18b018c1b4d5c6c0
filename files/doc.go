// Package files stores: the files of a session, such as uploads.
//
// It owns one folder of the disk with one sub-folder per session. A file is there
// whole or not at all, whoever reads it while it is written; a name that leads out
// of its session, through dots or through links, leads nowhere.
//
// Who may call: doors, and later tools, from any goroutine. It starts none.
//
// When the disk is slow, its callers wait; those who write to one session wait for
// each other only for the first and the last step, never while bytes come in. Bytes
// that come slowly hold a temporary file, which counts from the beginning as if it
// were finished. What a crash leaves behind is removed when the file store is opened an
// hour later or more.
//
// Replicas that are to show the same files need the same folder, over a shared file
// system. Each counts only its own unfinished files, so that while they come in, N
// replicas may together hold N times [Config.SessionUploads] of them, and two that
// finish a file at the same moment may each take the last room. Finished files are
// counted on the disk, for all replicas alike.
//
// It refuses names that are not safe on every system ([ErrName]), files and
// sessions that are too large ([ErrTooLarge], [ErrFull]), too many at once
// ([ErrBusy]), and everything that is
// not a plain file.
package files
