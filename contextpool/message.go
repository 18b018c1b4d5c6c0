package contextpool

import (
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// Message is something a user said or did that an agent is to answer.
type Message struct {
	ID wire.MessageID
	// By is the connection that sent it.
	By      wire.ConnectionID
	Monitor wire.MonitorID
	Text    string
	Images  []providers.Image
	// Window is the window it was said to, if it was.
	Window wire.WindowID
}
