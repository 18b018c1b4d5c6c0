// Package states has `hub checkpoints`, `hub diff` and `hub restore`, which list, compare and restore
// the checkpoints of a session's files.
package states
