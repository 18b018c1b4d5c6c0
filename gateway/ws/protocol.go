package ws

import (
	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/wire"
)

// protocol is the transport and codec of a connection.
type protocol uint8

const (
	protocolNative  protocol = iota // everdesk.v2
	protocolBatch                   // everdesk.v2.batch
	protocolPlain                   // no subprotocol: the client may know neither positions nor pongs
	protocolDesktop                 // the desktop dialect
	protocolSSE                     // Server-Sent Events
)

// form returns the encoding of events for the protocol.
func (p protocol) form() broadcast.Form {
	switch p {
	case protocolBatch:
		return broadcast.FormBatch
	case protocolDesktop:
		return broadcast.FormDesktop
	case protocolSSE:
		return broadcast.FormSSE
	default:
		return broadcast.FormNative
	}
}

// dialect returns the codec of the protocol.
func (p protocol) dialect() wire.Dialect {
	if p == protocolDesktop {
		return wire.Desktop{}
	}
	return wire.Native{}
}
