package wire

import "reflect"

// What quick.go writes without a shape is read here in the same way: word for word
// in the form in which we write it, without looking up names. Whatever looks different
// is left to the shapes, which know all forms and can tell what is wrong with one;
// that they find the same in what is read here is tested.

// readBare reads a client's frame that has nothing but a type and actions into an
// empty message.
func readBare(frame []byte, m *Message) bool {
	var l lexer // a literal would be made elsewhere and copied here
	l.data, l.rules, l.depth = frame, clientText, 1
	at, ok := l.has(0, `{"type":"EMIT","data":`)
	if !ok {
		return false
	}
	var p Emit
	if at, ok = l.readEmit(at, &p); !ok || l.at(at) != '}' || !l.ends(at+1) {
		return false
	}
	m.ID, m.Data = p.MessageID, p
	return true
}

// quickly reads the payload of an entry if it is one of these and has that form.
func (e *Entry) quickly(l *lexer, at int) (any, int, bool) {
	switch e.typ {
	case emitType:
		var p Emit
		if end, ok := l.readEmit(at, &p); ok {
			return p, end, true
		}
	case actionsType:
		if p, end, ok := l.readShown(at); ok {
			return p, end, true
		}
	}
	return nil, at, false
}

var emitType, actionsType = reflect.TypeFor[Emit](), reflect.TypeFor[Actions]()

// readEmit reads an EMIT.
func (l *lexer) readEmit(at int, p *Emit) (end int, ok bool) {
	if p.Actions, at, ok = l.readActions(at); ok {
		p.MonitorID, at, ok = readOptional[MonitorID](l, at, `,"monitorId":`)
	}
	if ok {
		p.MessageID, at, ok = readOptional[MessageID](l, at, `,"messageId":`)
	}
	return at + 1, ok && l.at(at) == '}'
}

// readShown reads an ACTIONS.
func (l *lexer) readShown(at int) (p Actions, end int, ok bool) {
	if p.Actions, at, ok = l.readActions(at); ok {
		p.AgentID, at, ok = readOptional[AgentID](l, at, `,"agentId":`)
	}
	if ok {
		p.MonitorID, at, ok = readOptional[MonitorID](l, at, `,"monitorId":`)
	}
	if ok {
		p.MessageID, at, ok = readOptional[MessageID](l, at, `,"messageId":`)
	}
	if ok {
		p.By, at, ok = readOptional[ConnectionID](l, at, `,"by":`)
	}
	return p, at + 1, ok && l.at(at) == '}'
}

// readActions reads the beginning of an object that begins with actions.
func (l *lexer) readActions(at int) (list []Action, end int, ok bool) {
	at, ok = l.has(at, `{"actions":[`)
	if !ok {
		return nil, at, false
	}
	for {
		var a Action
		if a, at, ok = l.readAction(at); !ok {
			return nil, at, false
		}
		if list == nil {
			list = []Action{a} // as most have only one
		} else {
			list = append(list, a)
		}
		switch l.at(at) {
		case ',':
			at++
		case ']':
			return list, at + 1, true
		default:
			return nil, at, false
		}
	}
}

func (l *lexer) readAction(at int) (a Action, end int, ok bool) {
	id, ok := l.has(at, `{"type":"window.setContent","windowId":`)
	if !ok {
		return l.readOther(at)
	}
	var set WindowSetContent
	if set.WindowID, end, ok = readID[WindowID](l, id); !ok {
		return nil, end, false
	}
	if end, ok = l.has(end, `,"content":`); !ok {
		return nil, end, false
	}
	if set.Content, end, ok = l.readContent(end); ok {
		set.AgentID, end, ok = readOptional[AgentID](l, end, `,"agentId":`)
	}
	if ok {
		set.RequestID, end, ok = readOptional[RequestID](l, end, `,"requestId":`)
	}
	return set, end + 1, ok && l.at(end) == '}'
}

// readOther leaves an action to its shape.
func (l *lexer) readOther(at int) (a Action, end int, ok bool) {
	value, end, ok := l.readVariant(theCatalog().action, at, 2) // in an object and its array
	a, _ = value.(Action)
	return a, end, ok
}

// readVariant reads the value of a union that lies so deep in what is read here.
func (l *lexer) readVariant(s *Shape, at, deep int) (value any, end int, ok bool) {
	depth := l.depth
	l.depth += deep
	value, end, err := s.decodeVariant(l, at)
	l.depth = depth
	return value, end, err == nil
}

func (l *lexer) readContent(at int) (c Content, end int, ok bool) {
	var text string
	if end, ok = l.has(at, `{"renderer":"text","data":`); ok {
		text, end, ok = l.readText(end)
		c = TextContent{text}
	} else if end, ok = l.has(at, `{"renderer":"markdown","data":`); ok {
		text, end, ok = l.readText(end)
		c = MarkdownContent{text}
	} else if end, ok = l.has(at, `{"renderer":"html","data":`); ok {
		text, end, ok = l.readText(end)
		c = HTMLContent{text}
	} else {
		value, end, ok := l.readVariant(theCatalog().content, at, 3) // in an action
		c, _ = value.(Content)
		return c, end, ok
	}
	return c, end + 1, ok && l.at(end) == '}'
}

// readText reads a string.
func (l *lexer) readText(at int) (text string, end int, ok bool) {
	if l.at(at) != '"' {
		return "", at, false
	}
	if end = special(l.data, at+1); l.at(end) == '"' {
		return string(l.data[at+1 : end]), end + 1, true
	}
	end, err := l.string(at)
	if err != nil {
		return "", end, false
	}
	return unescape(l.data[at+1 : end-1]), end, true
}

// readID reads an id without escapes.
func readID[T interface {
	~string
	hasRule
}](l *lexer, at int,
) (id T, end int, ok bool) {
	text, end, usual := l.readName(at)
	if usual {
		return T(text), end, true
	}
	if l.at(at) != '"' {
		return "", at, false
	}
	if end = special(l.data, at+1); l.at(end) != '"' {
		return "", end, false
	}
	id = T(l.data[at+1 : end])
	return id, end + 1, id.rule().check(string(id)) == nil
}

// readName reads an id that follows the rules of all kinds of ids, as most do.
func (l *lexer) readName(at int) (name string, end int, ok bool) {
	if end, ok = l.has(at, `"monitor-0"`); ok {
		return "monitor-0", end, true // which every session has, and which needs no memory
	}
	end = at + 1
	for isNameRune(rune(l.at(end))) {
		end++
	}
	if n := end - at - 1; l.at(at) != '"' || l.at(end) != '"' || n == 0 || n > maxID {
		return "", at, false
	}
	return string(l.data[at+1 : end]), end + 1, true
}

// readOptional reads an id if its key is there.
func readOptional[T interface {
	~string
	hasRule
}](l *lexer, at int, head string,
) (id T, end int, ok bool) {
	value, ok := l.has(at, head)
	if !ok {
		return "", at, true
	}
	return readID[T](l, value)
}
