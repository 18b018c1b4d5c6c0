package wire_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// Positions order events over changes of the owner: a later epoch comes after every
// event of an earlier one.
func ExamplePosition() {
	old := wire.Position{Epoch: 1, Seq: 900}
	taken := wire.Position{Epoch: 2, Seq: 0}
	fmt.Println(old, taken, old.Compare(taken))
	// Output: 1-900 2-0 -1
}

func ExampleParsePosition() {
	p, err := wire.ParsePosition("7-42")
	fmt.Println(p.Epoch, p.Seq, err)
	_, err = wire.ParsePosition("7")
	fmt.Println(errors.Is(err, wire.ErrPosition))
	// Output:
	// 7 42 <nil>
	// true
}

// An event is encoded once, stored in this form and sent to every tab.
func ExampleAppendEvent() {
	frame := wire.AppendEvent(nil, wire.Event{
		Session: "ses-1", At: wire.Position{Epoch: 1, Seq: 5}, Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Data: wire.AgentResponse{Delta: "Hello", MonitorID: "monitor-0"},
	})
	e, err := wire.Native{}.DecodeEvent(frame)
	fmt.Printf("%s at %s: %q %v\n", wire.TypeOf(e.Data), e.At, e.Data.(wire.AgentResponse).Delta, err)
	// Output: AGENT_RESPONSE at 1-5: "Hello" <nil>
}

// Peek routes a stored event without decoding its payload.
func ExamplePeek() {
	frame := wire.AppendEvent(nil, wire.Event{
		Session: "ses-1", At: wire.Position{Epoch: 1, Seq: 5},
		Data: wire.AgentResponse{Delta: "Hello", AgentID: "main-1", MonitorID: "monitor-0"},
	})
	head, ok := wire.Peek(frame)
	fmt.Println(ok, head.Type, head.At, head.Monitor, head.Agent)
	// Output: true AGENT_RESPONSE 1-5 monitor-0 main-1
}

// A refused frame names the field and carries a code of the protocol.
func ExampleNative_DecodeMessage() {
	_, err := wire.Native{}.DecodeMessage([]byte(
		`{"type":"USER_MESSAGE","message_id":"m-1","data":{"content":7}}`))
	if refused, ok := errors.AsType[*wire.Error](err); ok {
		fmt.Println(refused.Path, refused.Ref)
	}
	// Output: data.content m-1
}

func ExampleNative_AppendMessage() {
	frame := wire.Native{}.AppendMessage(nil, wire.Message{
		ID: "m-1", Data: wire.UserMessage{MessageID: "m-1", Content: "Open my notes"},
	})
	fmt.Printf("%s\n", frame)
	// Output: {"type":"USER_MESSAGE","message_id":"m-1","data":{"messageId":"m-1","content":"Open my notes"}}
}

// The catalog describes every message of the protocol.
func ExampleCatalog() {
	e, ok := wire.Events().Lookup("AGENT_RESPONSE")
	fmt.Println(ok, e.Direction, e.Durable, e.Monitor)
	// Output: true server true monitorId
}

// FormatOf reads and writes parts of frames, such as a list of actions in a request.
func ExampleFormatOf() {
	actions := wire.FormatOf[[]wire.Action]()
	list, err := actions.Decode([]byte(`[{"type":"window.close","windowId":"notes"}]`))
	fmt.Printf("%T %v\n", list[0], err)
	_, err = actions.Decode([]byte(`[{"type":"window.explode"}]`))
	fmt.Println(err)
	// Output:
	// wire.WindowClose <nil>
	// WS_INVALID_MESSAGE: [0].type: unknown value "window.explode"
}

// Codes is the table of all error codes.
func ExampleCodes() {
	for _, c := range wire.Codes() {
		if c.Code == wire.CodeHistoryChanged {
			fmt.Println(int(c.Code), c.Status, c.Recoverable)
		}
	}
	// Output: 3008 409 true
}
