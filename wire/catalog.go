package wire

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Inbound marks the payloads that a client may send. It is embedded in them.
type Inbound struct{}

// Outbound marks the payloads that the hub may send. It is embedded in them.
type Outbound struct{}

func (Inbound) inbound()   {}
func (Outbound) outbound() {}

// ClientPayload is the data of a message from a client.
type ClientPayload interface{ inbound() }

// ServerPayload is the data of an event from the hub.
type ServerPayload interface{ outbound() }

// Direction is the sender of a message.
type Direction string

// The directions.
const (
	FromClient Direction = "client"
	FromServer Direction = "server"
)

// Family groups messages by feature. Desktop names are UPPER_SNAKE with camelCase fields,
// workflow names lower_snake with snake_case fields (except messageId), as existing clients
// of each expect.
type Family string

// The families.
const (
	FamilyDesktop    Family = "desktop"
	FamilyWorkflow   Family = "workflow"
	FamilyHistory    Family = "history"
	FamilyProgram    Family = "program"
	FamilyConnection Family = "connection"
)

// DesktopForm is the form of an event in the desktop dialect.
type DesktopForm string

// The forms in the desktop dialect.
const (
	FormFlat DesktopForm = "flat" // the same fields, beside the type
	FormNone DesktopForm = "none" // no frame: that client does not use it
	FormOwn  DesktopForm = "own"  // another form, see [Desktop.AppendFrames]
)

// Entry describes one type of message.
type Entry struct {
	Type      string
	Direction Direction
	Family    Family
	// Durable events are in the session's log and have a position.
	Durable bool
	// Desktop is the form of the event in the desktop dialect. Messages from
	// clients are always flat there.
	Desktop DesktopForm
	// Doc is a one-line description.
	Doc string
	// Monitor, Agent and Message are the names of the payload's fields that
	// carry the monitor, the agent and the client's message id, or empty.
	Monitor, Agent, Message string
	Shape                   *Shape

	monitor, agent, message *Field
	typ                     reflect.Type
	maker                   *maker
}

// lasting marks events that are in the log.
const lasting = true

// client declares a message that clients send.
func client[T ClientPayload](name string, family Family, doc string) Entry {
	return Entry{
		Type: name, Direction: FromClient, Family: family, Desktop: FormFlat, Doc: doc,
		typ: reflect.TypeFor[T](), maker: makerOf[T](),
	}
}

// event declares an event that the hub sends.
func event[T ServerPayload](name string, family Family, durable bool, form DesktopForm, doc string) Entry {
	return Entry{
		Type: name, Direction: FromServer, Family: family, Durable: durable, Desktop: form, Doc: doc,
		typ: reflect.TypeFor[T](), maker: makerOf[T](),
	}
}

// Catalog holds all types of messages.
type Catalog struct {
	entries  []Entry
	byType   names
	byGo     map[reflect.Type]*Entry
	compiler *compiler
	frame    *Shape // shape of native frames
	// flat holds the frame shapes of the desktop dialect by sender.
	flat map[Direction]*Shape
}

// Events returns the catalog of this protocol.
func Events() *Catalog { return theCatalog() }

var theCatalog = sync.OnceValue(func() *Catalog {
	entries := slices.Concat(clientEntries(), serverEntries())
	c := &Catalog{
		entries: entries,
		byGo:    make(map[reflect.Type]*Entry, len(entries)), compiler: newCompiler(),
		frame: frameShape(),
		flat:  map[Direction]*Shape{FromClient: {Kind: KindUnion}, FromServer: {Kind: KindUnion}},
	}
	types := make([]string, len(entries))
	for i := range c.entries {
		e := &c.entries[i]
		e.Shape = c.compiler.shape(e.typ)
		e.roles()
		if slices.Contains(types, e.Type) || c.byGo[e.typ] != nil {
			panic(fmt.Sprintf("wire: %s (%v) is in the catalog twice", e.Type, e.typ))
		}
		types[i], c.byGo[e.typ] = e.Type, e
		flat := c.flat[e.Direction]
		flat.Variants = append(flat.Variants, Variant{Name: e.Type, Shape: e.Shape, maker: e.maker})
	}
	c.byType = namesOf(types)
	for _, flat := range c.flat {
		flat.nameVariants("type")
	}
	return c
})

// roles finds the fields that carry the monitor, the agent and the client's message id. A
// message id in a field of another name, such as the target of DELETE_QUEUED_MESSAGE, does
// not count.
func (e *Entry) roles() {
	for i := range e.Shape.Fields {
		f := &e.Shape.Fields[i]
		switch {
		case f.Shape.typ == reflect.TypeFor[MonitorID]():
			e.monitor, e.Monitor = f, f.Name
		case f.Shape.typ == reflect.TypeFor[AgentID]():
			e.agent, e.Agent = f, f.Name
		case f.Shape.typ == reflect.TypeFor[MessageID]() && strings.HasSuffix(f.Source, ".MessageID"):
			e.message, e.Message = f, f.Name
		}
	}
}

// All returns every entry, in the order of the catalog.
func (c *Catalog) All() []Entry { return slices.Clone(c.entries) }

// Lookup returns the entry of a type.
func (c *Catalog) Lookup(name string) (Entry, bool) {
	e := c.find([]byte(name))
	if e == nil {
		return Entry{}, false
	}
	return *e, true
}

// find returns the entry of a type, or nil.
func (c *Catalog) find(name []byte) *Entry {
	i, ok := c.byType.find(name)
	if !ok {
		return nil
	}
	return &c.entries[i]
}

// Of returns the entry of a payload, which is a [ClientPayload] or a
// [ServerPayload].
func (c *Catalog) Of(payload any) (Entry, bool) {
	e, ok := c.byGo[reflect.TypeOf(payload)]
	if !ok {
		return Entry{}, false
	}
	return *e, true
}

// entryOf returns the entry of a payload. It panics for types of other packages: one that
// embeds [Inbound] or [Outbound] compiles as a payload but has no encoding.
func entryOf(payload any) *Entry {
	e, ok := theCatalog().byGo[reflect.TypeOf(payload)]
	if !ok {
		panic(fmt.Sprintf("wire: payload %T is not in the catalog", payload))
	}
	return e
}

// TypeOf returns the type of a payload, such as USER_MESSAGE.
func TypeOf(payload any) string { return entryOf(payload).Type }

// MonitorOf returns the monitor that a payload is about, or "".
func MonitorOf(payload any) MonitorID {
	if p, ok := payload.(Actions); ok { // the most frequent payload, looked up for every tab
		return p.MonitorID
	}
	return MonitorID(entryOf(payload).monitor.text(payload))
}

// AgentOf returns the agent that a payload is about, or "".
func AgentOf(payload any) AgentID { return AgentID(entryOf(payload).agent.text(payload)) }

// MessageOf returns the client's message id in a payload, or "".
func MessageOf(payload any) MessageID { return MessageID(entryOf(payload).message.text(payload)) }

// AddresseeOf returns the only connection that may receive an event, or "" when it is for
// all.
func AddresseeOf(payload ServerPayload) ConnectionID {
	switch p := payload.(type) {
	case MessageAccepted:
		return p.To
	case MessageQueued:
		return p.To
	case MessageRejected:
		return p.To
	case MessageRepeated:
		return p.To
	case AppProtocolRequest:
		return p.To
	}
	return ""
}

// text returns the string in a field of a payload; a nil field has none.
func (f *Field) text(payload any) string {
	if f == nil {
		return ""
	}
	return f.get(reflect.ValueOf(payload)).String()
}
