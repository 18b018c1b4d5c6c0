package history

import "github.com/everdesk/everdesk/wire"

// Thread is what the model of an agent that lasts has seen, and whose it is.
type Thread struct {
	Agent    string
	Provider string
	// ID is the backend's name of it, which means nothing to another hub.
	ID      string
	Monitor wire.MonitorID
	// Windows are those that share the agent; none for a main agent.
	Windows  []wire.WindowID
	Messages []Message
}
