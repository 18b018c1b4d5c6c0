// Package files stores the files of sessions: uploads of people and what agents write.
//
// A [Store] checks names, sizes and limits, receives files in pieces, and keeps deleted files for a
// while. It stores them in a [Backend]: [Folder] is one on the disk. Files are written
// atomically: a reader sees a complete file or none. A name cannot refer to anything outside
// its session, neither through ".." nor through links. A writer can demand that the file is still the
// one that it has read ([Condition]).
//
// All methods are safe for concurrent use. The package starts no goroutines.
//
// A slow backend blocks the callers. Writers to one session wait for each other only in the
// first and the last step, not while bytes are received. An upload in progress counts against the
// limits from its beginning. Temporary files left by
// a crash are removed when the folder is opened an hour later or more; pieces of unfinished uploads
// when another upload begins a day later or more, and with their session.
//
// Each replica counts only its own requests in progress, so N replicas may together receive N times
// [Config.SessionUploads] of them, and two that finish a file at the same moment may each use
// the last free space. Finished files and uploads in pieces are counted in the backend, for all replicas.
//
// The package refuses names that are not safe on every system ([ErrName]), files and sessions
// that are too large ([ErrTooLarge], [ErrFull]), too many concurrent uploads ([ErrBusy]), and
// everything that is not a regular file.
package files
