// Package files stores the files of sessions, such as uploads.
//
// The package owns one folder of the disk with one subfolder per session. Files are written
// atomically: a reader sees a complete file or none. A name cannot refer to anything outside
// its session, neither through ".." nor through links.
//
// All methods are safe for concurrent use. The package starts no goroutines.
//
// A slow disk blocks the callers. Writers to one session wait for each other only in the
// first and the last step, not while bytes are received. An upload in progress occupies a
// temporary file, which counts against the limits from its beginning. Temporary files left by
// a crash are removed when the store is opened an hour later or more.
//
// Replicas that serve the same files need the same folder, on a shared file system. Each
// replica counts only its own unfinished uploads, so N replicas may together receive N times
// [Config.SessionUploads] of them, and two that finish a file at the same moment may each use
// the last free space. Finished files are counted on the disk, for all replicas.
//
// The package refuses names that are not safe on every system ([ErrName]), files and sessions
// that are too large ([ErrTooLarge], [ErrFull]), too many concurrent uploads ([ErrBusy]), and
// everything that is not a regular file.
package files
