// Package checkpoints stores the states of folders with git, and restores them.
//
// A [Worktree] is a folder: the own files of a session, or a workspace of the operator in which
// agents work. Each has one bare repository in the folder of the [Store], which sessions that share
// a workspace share too, so equal content is stored once. A checkpoint is a commit without parents
// that holds the files, the windows of the session, and a [Note]. A ref of its own keeps it:
// refs/checkpoints/SESSION/NUMBER. The ref is written last, after everything it needs is on the
// disk, so a checkpoint exists as a whole or not at all.
//
// Git runs as a process with an environment of its own. No configuration, hook, template, filter,
// signature or GIT_* variable of a user has an effect, and bytes are stored as they are. A
// repository of the user in the worktree, at its root or below, is neither read nor written:
// repositories below the root are left out of checkpoints with their files.
//
// Each operation has an index of its own. It begins as a copy of the index of the last operation,
// which makes unchanged files cheap, and replaces that one at its end. Operations on one repository
// exclude each other, also across processes: git inherits the lock, so a process that outlives a
// killed hub still excludes the next hub. Locks of git itself that are found then are stale.
//
// [Store.Restore] first saves a checkpoint of the present files. It then changes only paths that
// differ between both checkpoints. It never cleans: a file that no checkpoint has is not deleted.
//
// Methods are safe for concurrent use and block; the package starts no goroutines. A worktree with
// too many or too large files is refused with [ErrTooLarge], one that takes too long with
// [ErrTooSlow], one that waits too long for another operation with [ErrBusy], and a full disk is
// [ErrNoSpace]; none of them changes a worktree.
package checkpoints
