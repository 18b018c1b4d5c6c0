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
// [Server] is a Jupyter server that the hub starts itself.
package kernels
