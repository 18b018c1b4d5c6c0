package wire_test

import (
	"testing"

	"github.com/everdesk/everdesk/wire"
)

// While replicas of two versions run side by side, the older one reads events of unknown
// types. It must still find their position, monitor and agent.
func TestPeekAtUnknownType(t *testing.T) {
	t.Parallel()
	got, ok := wire.Peek([]byte(`{"type":"NEW_THING","message_id":"4-7","data":{"monitorId":"monitor-1","agentId":"a","messageId":"m","x":{}}}`))
	want := wire.Head{Type: "NEW_THING", At: wire.Position{Epoch: 4, Seq: 7}, Monitor: "monitor-1", Agent: "a", Message: "m"}
	if !ok || got != want {
		t.Errorf("got %+v, %v, want %+v", got, ok, want)
	}
	for _, frame := range []string{`{"type":"RESET"}`, `{"type":7}`, `{"type":null}`, `{"message_id":"4-7"}`, `{"type":"ping","message_id":"x"}`, `[]`, `{`} {
		if head, ok := wire.Peek([]byte(frame)); ok {
			t.Errorf("peek at %s: got %+v, want it refused", frame, head)
		}
	}
}
