package history

import "github.com/everdesk/everdesk/wire"

// Thread is the messages of a persistent agent, with the identity of the agent.
type Thread struct {
	Agent    string
	Provider string
	// ID is the id that the backend gave the conversation; another hub cannot use it.
	ID      string
	Monitor wire.MonitorID
	// Windows are the windows that share the agent; empty for a main agent.
	Windows  []wire.WindowID
	Messages []Message
}
