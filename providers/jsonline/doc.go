// Package jsonline runs a child process that exchanges lines of JSON over its standard input and
// output, as command-line agents do.
//
// [Start] starts a [Process] in a process group of its own, with exactly the given environment.
// [Process.Next] returns the next line of its output and [Process.Write] sends it a line; both
// treat lines as bytes. The end of its standard error is kept for error messages, with secrets
// removed.
//
// A process passes through these states:
//
//	state    | until                              | what happens
//	running  | it exits or Stop is called         | lines are exchanged
//	stopping | it exits                           | these steps, one after the other:
//	         |                                    | close standard input, SIGTERM to the group,
//	         |                                    | SIGKILL to the group and all descendants
//	exited   | its output is read, or too late    | the rest of its group is killed
//	ended    |                                    | [Process.Done] is closed
//
// A process that has ended has left no process of its group, no descriptor and no goroutine. On
// Linux the process also receives SIGTERM when the hub itself is killed. Descendants that leave the
// group and outlive their parents, after the process was killed by someone else, are found by
// [Config.Mark] only.
//
// One goroutine may call Next; all other methods are safe for concurrent use. A process that reads
// nothing blocks Write, which its context ends. A process whose output is not read blocks itself.
//
// The package refuses output lines above [Config.MaxLine]: Next skips such a line and returns
// [ErrLineTooLong], and the process goes on. It refuses to start a program with a secret in its
// arguments, because every user of the machine can read those.
package jsonline
