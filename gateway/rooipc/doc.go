// Package rooipc serves the IPC protocol of Roo-Code on a Unix socket: it checks who connects, executes
// the commands of clients, and sends each the log of its task as package rooipc at the top translates it.
//
// # Clients
//
// All clients are programs of the user who runs the hub; others are refused by the folder of the socket,
// its mode, and their credentials. Each client has a task of its own, or none: a second client neither
// stops nor sees the task of the first, unless it resumes that task. A client that leaves stops nothing.
// A process that connects again, as the library of these clients does by itself, goes on with its task.
//
// # Bounds
//
// [maxClients] bounds the connections, [rooipc.MaxFrame] the frames. What a client does not read is not
// kept: it is read from the log again when the client has room, and a client that reads nothing for
// writeTimeout is disconnected.
package rooipc
