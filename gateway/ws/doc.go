// Package ws serves the streaming connections of a hub: WebSockets in the native and in the
// desktop dialect, and Server-Sent Events.
//
// [Server] accepts connections. Each is a conn of these parts, in layers:
//
//	conn         connects, reads, is parked, ends; owned by one goroutine at a time
//	inbox        what the client's messages do
//	frameReader  reads frames
//	peer         the identity and the access of the client; sends to it and closes the connection
//	link         the socket as the WebSocket library sees it
//
// Beside them, the admission decides which clients may connect, the registry holds all
// connections, rights changes what they may do, and the heartbeat pings them and closes those
// that are silent or whose credential has expired. On Linux a poller waits for idle
// connections, which then need no goroutine (docs/adr/0018-parked-connections.md).
//
// When many clients connect at once, at most 24 of them use the store at a time, each for at
// most 250 ms. A slow client is closed by package broadcast. A panic ends its connection only.
// [Server.Drain] refuses new clients; [Server.DisconnectAll] sends the connected ones to
// other replicas; [Server.Close] does so too, and ends all goroutines.
package ws
