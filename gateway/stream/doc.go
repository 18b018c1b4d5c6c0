// Package stream responds to requests with Server-Sent Events that are made for one client.
//
// A [Set] bounds the open streams of one kind. It ends a stream when the client disconnects or is
// too slow, when its credential ends, when the hub stops, or when its [Source] has ended. The
// streams of sessions' logs to tabs are not here: package gateway/ws has those, since thousands of
// tabs share their frames.
package stream
