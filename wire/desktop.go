package wire

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
)

// Desktop is the dialect of desktops written for YAAR: flat frames, with the payload's
// fields beside the type.
//
//	{"type":"USER_MESSAGE","messageId":"m1","content":"hello"}
//
// AGENT_THINKING and AGENT_RESPONSE are sent with their whole Content. The caller, which
// has the text of the turn, must fill it in; the codec has no state.
//
// Such a desktop knows no positions, sessions or times in frames, shows ERROR as a lost
// connection, and ignores unknown types and outcomes. Events that it cannot use get no
// frame; some get another form, see [DesktopForm].
//
// It considers an agent idle until the first text of its turn, and cannot interrupt an idle
// agent. So the MESSAGE_ACCEPTED that begins a turn is followed by an empty AGENT_THINKING.
type Desktop struct {
	// Numbered is for newer desktops of that kind. They name monitor-0 by its number 0,
	// and so on, and scope window ids by it, as in 0/notes. AppendMessage and DecodeEvent
	// do not convert these.
	Numbered bool
}

var _ Dialect = Desktop{}

// AppendFrames implements [Dialect].
func (d Desktop) AppendFrames(dst [][]byte, e Event) [][]byte {
	switch entryOf(e.Data).Desktop {
	case FormNone:
		return dst
	case FormFlat:
		return append(dst, d.frame(e.Data, ""))
	}
	switch p := e.Data.(type) {
	case AgentThinking:
		rest := contentField(p.Content)
		p.Delta, p.Offset = "", 0
		return append(dst, d.frame(p, rest))
	case AgentResponse:
		rest := contentField(p.Content)
		p.Delta, p.Offset = "", 0
		dst = append(dst, d.frame(p, rest))
		if p.Outcome != OutcomeFailed {
			return dst
		}
	case MessageAccepted:
		dst = append(dst, d.frame(p, ""))
		if p.Duplicate || p.How != TakenDirect && p.How != TakenEphemeral {
			return dst // no turn begins
		}
		return append(dst, d.frame(AgentThinking{
			AgentID: p.AgentID, MonitorID: p.MonitorID, MessageID: p.MessageID,
		}, contentField("")))
	case SessionState:
		return d.appendState(dst, e.Session, p)
	case ProviderChanged:
		return append(dst, d.frame(ConnectionStatus{
			Status: LinkConnected, Provider: p.Provider, SessionID: e.Session,
		}, ""))
	}
	return append(dst, d.frame(asActions(e), ""))
}

// contentField returns the field of an empty content, which the shape omits but such a
// desktop needs, and "" for any other content.
func contentField(content string) string {
	if content == "" {
		return `,"content":""`
	}
	return ""
}

// asActions converts an event to actions that such a desktop supports.
func asActions(e Event) Actions {
	switch p := e.Data.(type) {
	case AgentResponse:
		return Actions{
			AgentID: p.AgentID, MonitorID: p.MonitorID, MessageID: p.MessageID,
			Actions: []Action{toast(noticeID("failed", e), cmp.Or(p.Reason, CodeExecutionFailed.Info().Message), NoticeError)},
		}
	case TurnInterrupted:
		return Actions{
			AgentID: p.AgentID, MonitorID: p.MonitorID, MessageID: p.MessageID,
			Actions: []Action{toast(noticeID("interrupted", e), p.Reason, NoticeWarning)},
		}
	case AgentError:
		return Actions{
			AgentID: p.AgentID, MonitorID: p.MonitorID, MessageID: p.MessageID,
			Actions: []Action{toast(noticeID("error", e), p.Error, NoticeError)},
		}
	case MessageRejected:
		return Actions{
			MonitorID: p.MonitorID, MessageID: p.MessageID,
			Actions: []Action{toast(noticeID("rejected", e), cmp.Or(p.Reason, p.Code.Info().Message), NoticeWarning)},
		}
	case ErrorNotice:
		return Actions{
			MessageID: p.MessageID,
			Actions:   []Action{toast(noticeID("error-"+strconv.Itoa(int(p.Code)), e), p.Message, NoticeError)},
		}
	case PromptClosed:
		return Actions{
			MonitorID: p.MonitorID, MessageID: p.MessageID,
			Actions: []Action{PromptDismiss{ID: p.PromptID}},
		}
	}
	return Actions{}
}

// drawable returns the actions with content that such a desktop draws: tables instead of charts, texts instead of
// checklists and boards. It changes nothing in the argument.
func drawable(actions []Action) []Action {
	changed := actions
	for i, action := range actions {
		var other Action
		switch a := action.(type) {
		case WindowCreate:
			if c, ok := drawableContent(a.Content); ok {
				a.Content = c
				other = a
			}
		case WindowSetContent:
			if c, ok := drawableContent(a.Content); ok {
				a.Content = c
				other = a
			}
		}
		if other == nil {
			continue
		}
		if &changed[0] == &actions[0] {
			changed = slices.Clone(actions)
		}
		changed[i] = other
	}
	return changed
}

// drawableContent returns what such a desktop draws instead of a content, if it cannot draw that.
func drawableContent(content Content) (Content, bool) {
	switch c := content.(type) {
	case ChartContent:
		return TableContent{Data: c.Data.Table()}, true
	case ComponentContent:
		if slices.ContainsFunc(c.Data.Components, isBoard) {
			c.Data.Components = plainComponents(c.Data.Components)
			return c, true
		}
	}
	return content, false
}

func isBoard(c Component) bool {
	switch c.(type) {
	case ChecklistComponent, KanbanComponent:
		return true
	}
	return false
}

func toast(id NoticeID, message string, variant NoticeVariant) ToastShow {
	return ToastShow{Toast: Toast{ID: id, Message: message, Variant: variant}}
}

// noticeID derives the id of a toast from the event, so that encoding it again gives the
// same id.
func noticeID(kind string, e Event) NoticeID {
	if e.At.IsZero() {
		return NoticeID(kind + "-" + strconv.FormatInt(e.Time.UnixMilli(), 10))
	}
	return NoticeID(kind + "-" + e.At.String())
}

// frame returns the flat frame of a payload, with the text in rest before its fields.
func (d Desktop) frame(payload any, rest string) []byte {
	if p, ok := payload.(Actions); ok {
		p.Actions = drawable(p.Actions)
		payload = p
	}
	if d.Numbered {
		payload = numbered(payload)
	}
	return appendFlat(nil, payload, rest)
}

// appendFlat appends a flat frame. The text in rest precedes the payload's own fields.
func appendFlat(dst []byte, payload any, rest string) []byte {
	if dst == nil {
		return fitted(func(dst []byte) []byte { return appendFlat(dst, payload, rest) })
	}
	entry := entryOf(payload)
	dst = append(dst, `{"type":"`...)
	dst = append(dst, entry.Type...)
	dst = append(dst, '"')
	dst = append(dst, rest...)
	return append(entry.Shape.appendFields(dst, reflect.ValueOf(payload)), '}')
}

// AppendMessage implements [Dialect].
func (Desktop) AppendMessage(dst []byte, m Message) []byte {
	rest := ""
	if m.ID != "" && MessageOf(m.Data) == "" {
		rest = `,"message_id":` + string(appendString(nil, string(m.ID)))
	}
	return appendFlat(dst, m.Data, rest)
}

// DecodeMessage implements [Dialect].
func (d Desktop) DecodeMessage(frame []byte) (Message, error) {
	m, err := decodeFlatMessage(frame)
	if err != nil {
		err.Ref = refOf(frame)
		return Message{}, err
	}
	if d.Numbered {
		m.Data = named(m.Data)
	}
	return m, nil
}

func decodeFlatMessage(frame []byte) (m Message, err *Error) {
	p, err := decodeFlat(frame, clientText, FromClient)
	if err != nil {
		return m, err
	}
	first := skipSpace(frame, skipSpace(frame, 0)+1)
	if at := memberOf(frame, first, "message_id"); at >= 0 {
		if m.ID, err = id[MessageID](frame[at:skipValue(frame, at)], "message_id"); err != nil {
			return m, err
		}
	}
	m.ID = cmp.Or(MessageOf(p), m.ID)
	m.Data = p.(ClientPayload) //nolint:forcetypeassert // the catalog takes no others
	return m, nil
}

// decodeFlat decodes the payload of a flat frame. Valid frames are decoded in one pass;
// errors are located in a second one.
func decodeFlat(frame []byte, rules textRules, from Direction) (any, *Error) {
	at := skipSpace(frame, 0)
	l := lexer{data: frame, rules: clientText}
	if p, end, err := theCatalog().flat[from].decodeVariant(&l, at); err == nil && l.ends(end) {
		return p, nil
	}
	var env envelope
	if err := env.split(frame, rules); err != nil {
		return nil, err
	}
	entry, err := lookup(env.members[typeMember], from)
	if err != nil {
		return nil, err
	}
	p, err := entry.decodeChecked(frame)
	if err != nil && from == FromClient {
		err = err.asAnswer(entry)
	}
	return p, err
}

// DecodeEvent implements [Dialect]. The event has no session, position or time, because the
// frame has none.
func (Desktop) DecodeEvent(frame []byte) (Event, error) {
	p, err := decodeFlat(frame, hubText, FromServer)
	if err != nil {
		return Event{}, err
	}
	return Event{Data: p.(ServerPayload)}, nil //nolint:forcetypeassert // the catalog takes no others
}
