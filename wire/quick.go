package wire

import "reflect"

// Nearly all that is said in a busy session are actions that fill a window. They
// are written here without reflection, which takes several times as long; that
// the form is the one of their shapes is tested.

// actionsName is the type of [Actions].
const actionsName = "ACTIONS"

// append adds the payload.
func (p *Actions) append(dst []byte) []byte {
	dst = append(dst, `{"actions":[`...)
	for i, a := range p.Actions {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendAction(dst, a)
	}
	dst = append(dst, ']')
	dst = appendOptional(dst, `,"agentId":`, string(p.AgentID))
	dst = appendOptional(dst, `,"monitorId":`, string(p.MonitorID))
	dst = appendOptional(dst, `,"messageId":`, string(p.MessageID))
	dst = appendOptional(dst, `,"by":`, string(p.By))
	return append(dst, '}')
}

func appendAction(dst []byte, action Action) []byte {
	a, ok := action.(WindowSetContent)
	if !ok {
		return theCatalog().action.appendVariant(dst, reflect.ValueOf(action))
	}
	dst = append(dst, `{"type":"window.setContent","windowId":`...)
	dst = appendString(dst, string(a.WindowID))
	dst = append(dst, `,"content":`...)
	dst = appendContent(dst, a.Content)
	dst = appendOptional(dst, `,"agentId":`, string(a.AgentID))
	dst = appendOptional(dst, `,"requestId":`, string(a.RequestID))
	return append(dst, '}')
}

func appendContent(dst []byte, content Content) []byte {
	switch c := content.(type) {
	case MarkdownContent:
		return appendText(dst, `{"renderer":"markdown","data":`, c.Data)
	case HTMLContent:
		return appendText(dst, `{"renderer":"html","data":`, c.Data)
	case TextContent:
		return appendText(dst, `{"renderer":"text","data":`, c.Data)
	}
	return theCatalog().content.appendVariant(dst, reflect.ValueOf(content))
}

// appendText adds an object whose last field is a text.
func appendText(dst []byte, head, text string) []byte {
	return append(appendString(append(dst, head...), text), '}')
}

// appendOptional adds a field unless it is empty.
func appendOptional(dst []byte, head, text string) []byte {
	if text == "" {
		return dst
	}
	return appendString(append(dst, head...), text)
}
