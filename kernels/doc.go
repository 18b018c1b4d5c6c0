// Package kernels is the client of a Jupyter server: it starts kernels, executes code in them and collects what
// the code produces, within bounds.
//
// [Client] has the REST calls of the server. A kernel belongs to a notebook: [Client.Open] finds the kernel of a
// notebook by its path, so two hubs that open the same notebook get the same kernel. [Conn] is a connection to the
// channels of a kernel, in either of the two wire formats. The server keeps the messages of a kernel without a
// connection for the next one that has the same client id; see [Client.Connect].
//
// [Run] collects the messages of one execution. An execution is done when both its reply and its idle status have
// come, in any order: the two channels are not ordered against each other.
//
// A hub may be killed after it has read messages and before it has committed them. Python kernels therefore get a
// journal when they start: they remember their newest messages and send them again on request, even while code
// runs. [Conn.Replay] asks for them. Other kernels have none, and what was read by a killed hub is lost.
//
// [Server] is a Jupyter server that hubs start themselves. It outlives a hub that is killed: its process id, start
// time, port and token are in a file, and [UseServer] of the next hub with the same folder returns the same server, if
// the process is still that one and accepts the token. Each hub that uses it has a file locked. A hub that stops ends the
// server if it was the last one, and the server ends itself when no hub has had the lock for an hour.
//
//	server        | hub stops            | hub is killed         | next hub starts
//	used by one   | ends                 | goes on, for an hour  | finds it
//	used by more  | goes on              | goes on               | uses it, too
//	has ended     |                      |                       | starts another one when a kernel is needed
//	does not answer | ends, if no other hub uses it                | ends it and starts another one
package kernels
