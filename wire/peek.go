package wire

// Head is what can be told of an event without decoding it.
type Head struct {
	Type    string
	At      Position
	Monitor MonitorID
	Agent   AgentID
	Message MessageID
}

// Peek reads the head of a native frame of the hub's own making, so that stored
// events can be filtered and routed cheaply. It reports false for anything else.
func Peek(frame []byte) (Head, bool) {
	var h Head
	env, err := open(frame, hubText)
	if err != nil || env.name == nil {
		return h, false
	}
	entry, err := lookup(env.name, FromServer)
	if err != nil {
		return h, false
	}
	h.Type = entry.Type
	if at, err := text(env.id, "message_id"); err == nil && at != "" {
		p, fault := ParsePosition(at)
		if fault != nil {
			return h, false
		}
		h.At = p
	}
	if env.data == nil || env.data[0] != '{' {
		return h, true
	}
	for key, value := range members(env.data) {
		if value[0] != '"' {
			continue
		}
		switch string(keyText(key)) {
		case entry.Monitor:
			h.Monitor = MonitorID(unquote(value))
		case entry.Agent:
			h.Agent = AgentID(unquote(value))
		case entry.Message:
			h.Message = MessageID(unquote(value))
		}
	}
	return h, true
}
