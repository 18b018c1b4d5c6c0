package wire

// Head holds the parts of an event that [Peek] reads without decoding its payload.
type Head struct {
	Type    string
	At      Position
	Monitor MonitorID
	Agent   AgentID
	Message MessageID
}

// Peek reads the head of a native frame of the hub, so that stored events can be filtered
// and routed without decoding them. It also reads the head of a type that is not in the
// catalog, which a newer version may write: a reader that skips such an event still needs
// its position. It returns false for anything else.
func Peek(frame []byte) (Head, bool) {
	var h Head
	var env envelope
	err := env.open(frame, hubText)
	name := env.members[typeMember]
	if err != nil || name == nil || name[0] != '"' {
		return h, false
	}
	h.Type = unquote(name)
	entry := theCatalog().find(keyText(name))
	switch {
	case entry == nil:
		entry = &Entry{Monitor: "monitorId", Agent: "agentId", Message: "messageId"}
	case entry.Direction != FromServer:
		return Head{}, false
	}
	if at, err := text(env.members[idMember], "message_id"); err == nil && at != "" {
		p, fault := ParsePosition(at)
		if fault != nil {
			return Head{}, false
		}
		h.At = p
	}
	data := env.members[dataMember]
	if data == nil || data[0] != '{' {
		return h, true
	}
	for at := skipSpace(data, 1); data[at] != '}'; at = skipComma(data, at) {
		key, start := memberAt(data, at)
		at = skipValue(data, start)
		value := data[start:at]
		if value[0] != '"' {
			continue
		}
		switch string(key) {
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
