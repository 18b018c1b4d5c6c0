package desktop_test

import (
	"bytes"
	"testing"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/wire"
)

// FuzzApply applies decodable frames. The resulting state can be stored, shown and restored.
func FuzzApply(f *testing.F) {
	f.Add([]byte(`{"type":"ACTIONS","message_id":"1-1","data":{"actions":[` +
		`{"type":"window.create","windowId":"w","title":"t","bounds":{"x":0,"y":0,"w":1,"h":1},"content":{"renderer":"text","data":"a"}},` +
		`{"type":"window.updateContent","windowId":"w","operation":{"op":"insertAt","position":1,"data":"b"}}]}}`))
	f.Add([]byte(`{"type":"AGENT_RESPONSE","message_id":"1-1","data":{"agentId":"x","delta":"ab","isComplete":false}}` + "\n" +
		`{"type":"AGENT_RESPONSE","message_id":"1-2","data":{"agentId":"x","delta":"c","offset":1,"isComplete":false}}`))
	f.Add([]byte(`{"type":"MONITOR_STATUS","message_id":"1-1","data":{"monitorId":"monitor-1","state":"removed","queue":0}}`))
	f.Add([]byte(`{"type":"session_state","data":{"mode":"snapshot","heartbeat_ms":1,"windows":[{"windowId":"w","monitorId":"m","title":"",` +
		`"bounds":{"x":0,"y":0,"w":1,"h":1},"content":{"renderer":"x","data":1},"z":9007199254740991}]}}` + "\n" +
		`{"type":"ACTIONS","message_id":"1-1","data":{"monitorId":"m","actions":[{"type":"window.focus","windowId":"w"}]}}`))
	f.Add([]byte(`{"type":"layer_start","message_id":"1-1","data":{"layer":"cognitive"}}` + "\n" +
		`{"type":"plan_generated","message_id":"1-2","data":{"plan_id":"p","version":1,"status":"pending_approval",` +
		`"todos":[{"id":"a","task":"x","depends_on":[]}],"dependency_graph":{"a":[]}}}` + "\n" +
		`{"type":"hitl_paused","message_id":"1-3","data":{"paused_by":"user","completed_todos":[],"can_resume":true}}` + "\n" +
		`{"type":"todo_completed","message_id":"1-4","data":{"todo_id":"a","task":"x","status":"completed","result_summary":{"n":1e3},` +
		`"duration_ms":1,"next_todos":[]}}`))
	f.Fuzz(func(t *testing.T, frames []byte) {
		owner, client := desktop.New("ses-1"), desktop.New("ses-1")
		client.Apply(overTheWire(t, greeting(owner)))
		for frame := range bytes.SplitSeq(frames, []byte("\n")) {
			e, err := wire.Native{}.DecodeEvent(frame)
			if err != nil {
				continue
			}
			owner.Apply(e)
			client.Apply(e)
		}
		checkSame(t, "client", client, owner)
		stored := storedTables{}
		stored.write(owner.Changes())
		again, err := desktop.Restore("ses-1", owner.At(), stored)
		if err != nil {
			t.Fatalf("restore: %v", err)
		}
		checkSame(t, "restored", again, owner)
	})
}
