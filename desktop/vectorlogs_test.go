package desktop_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// logOf makes a log of payloads, a second apart.
func logOf(payloads ...wire.ServerPayload) []wire.Event {
	log := make([]wire.Event, len(payloads))
	for i, p := range payloads {
		log[i] = wire.Event{
			Session: "ses-1", At: wire.Position{Epoch: 1, Seq: uint64(i + 1)},
			Time: time.UnixMilli(1_794_700_000_000 + int64(i)*1000).UTC(), Data: p,
		}
	}
	return log
}

func acting(list ...wire.Action) wire.Actions { return wire.Actions{Actions: list} }

// limitsLog has one more of everything than there may be.
func limitsLog() []wire.Event {
	var all []wire.ServerPayload
	var list []wire.Action
	for i := range 502 {
		id := fmt.Sprintf("n%d", i)
		list = append(list, wire.AppBadge{AppID: wire.AppID(id), Count: uint64(i + 1)})
		if i < 202 {
			list = append(list, wire.CreateShortcut{Shortcut: wire.Shortcut{
				ID: wire.ShortcutID(id), Type: wire.ShortcutURL, CreatedAt: wire.Millis(i % 7),
			}})
			all = append(all, wire.MessageQueued{MessageID: wire.MessageID(id), Position: i%9 + 1})
		}
		if i < 102 {
			list = append(
				list, open(wire.WindowID(id)),
				wire.NotificationShow{Notification: wire.Notification{ID: wire.NoticeID(id)}},
			)
		}
		if i < 52 {
			list = append(
				list, wire.DialogConfirm{ID: wire.DialogID(id)},
				wire.PromptShow{Prompt: wire.Prompt{ID: wire.PromptID(id)}},
				wire.ToastShow{Toast: wire.Toast{ID: wire.NoticeID(id), Duration: 1_000_000}},
			)
		}
		if i < 66 {
			all = append(all, wire.AgentThinking{AgentID: wire.AgentID("main-" + id), Delta: id})
		}
	}
	for i := range 6 {
		all = append(all, wire.MonitorStatus{MonitorID: wire.MonitorID(fmt.Sprintf("m%d", i)), State: wire.MonitorIdle})
	}
	all = append(all, acting(list...))
	for len(all)%5 != 0 { // so that there is a hash before everything is replaced
		all = append(all, wire.SessionRenamed{Title: "full"})
	}
	// The z of standard windows ends here, so the next to be raised renumbers all.
	top := at("top", 1<<21-1)
	all = append(
		all,
		wire.SessionState{
			Mode: wire.StateSnapshot, HeartbeatMS: 1, Windows: []wire.WindowState{at("a", 1<<21-3), top, at("b", 1<<21-2)},
		},
		acting(open("new"), wire.WindowFocus{WindowID: "a"}),
	)
	return logOf(all...)
}

// textsLog says too much, and cuts texts everywhere.
func textsLog() []wire.Event {
	long := strings.Repeat("한x𝛀", 1<<16)
	all := []wire.ServerPayload{
		wire.AgentResponse{AgentID: "main-1", Delta: "𝛀bc"},
		wire.AgentResponse{AgentID: "main-1", Delta: "d", Offset: 1}, // within a character
		wire.AgentResponse{AgentID: "main-1", Delta: "e", Offset: 9}, // behind the end
		wire.AgentResponse{AgentID: "main-1", Content: "whole", Offset: 3},
		wire.AgentThinking{AgentID: "main-2", Delta: "𝛀" + strings.Repeat("y", 9000)},
		wire.AgentThinking{AgentID: "main-2", Delta: "z", Offset: 1},
	}
	for i := range 4 {
		all = append(all, wire.AgentResponse{AgentID: "main-3", Delta: long, Offset: i * 4 << 16})
	}
	all = append(
		all, wire.AgentResponse{AgentID: "main-3", Delta: "x", Offset: 4 << 18},
		wire.AgentResponse{AgentID: "main-4", Content: strings.Repeat(long, 3)},
		wire.AgentResponse{AgentID: "main-4", Delta: "x", Offset: 5},
	)
	for _, op := range []wire.UpdateOperation{
		wire.UpdateInsertAt{Position: 2, Data: json.RawMessage(`"𝛀"`)},
		wire.UpdateInsertAt{Position: 3, Data: json.RawMessage(`"!"`)}, // within a character
		wire.UpdateInsertAt{Position: 99, Data: json.RawMessage(`"end"`)},
		wire.UpdatePrepend{Data: json.RawMessage(`"\ud800"`)},
		wire.UpdateAppend{Data: json.RawMessage(`"\uD834\uDEC0\/"`)},
	} {
		all = append(all, wire.Actions{Actions: []wire.Action{open("w"), wire.WindowUpdateContent{WindowID: "w", Operation: op}}})
		all = append(all, acting(wire.WindowUpdateContent{WindowID: "w", Operation: op, Renderer: "markdown"}))
	}
	return logOf(all...)
}

// appendsLog appends to texts of several sizes, and changes them in other ways in between.
func appendsLog() []wire.Event {
	var all []wire.ServerPayload
	update := func(op wire.UpdateOperation) {
		all = append(all, acting(wire.WindowUpdateContent{WindowID: "w", Operation: op}))
	}
	all = append(all, acting(open("w")))
	for i, n := range []int{3000, 900, 200, 17, 900, 300, 1100, 5000, 20_000, 40_000} {
		for j := range 20 {
			update(wire.UpdateAppend{Data: quoted(strings.Repeat(string([]rune("x한é𝛀")[(i+j)%4]), n/(j+1)))})
		}
		switch i % 5 {
		case 1:
			update(wire.UpdateInsertAt{Position: 4001, Data: quoted("𝛀")})
		case 2:
			update(wire.UpdatePrepend{Data: quoted("before")})
		case 3:
			update(wire.UpdateReplace{Data: quoted(strings.Repeat("whole", n))})
		case 4:
			all = append(all, acting(wire.WindowUpdateContent{
				WindowID: "w", Operation: wire.UpdateAppend{Data: quoted("# other")}, Renderer: "markdown",
			}))
		}
	}
	update(wire.UpdateAppend{Data: json.RawMessage(`"\ud800"`)})
	update(wire.UpdateAppend{Data: json.RawMessage(`7`)})
	return logOf(all...)
}

// rowsLog has too many rows and too long ones, and goes back.
func rowsLog() []wire.Event {
	var all []wire.ServerPayload
	row := func(ts int, text string) wire.MessageUpdated {
		r := wire.UIRow{TS: wire.Millis(ts), Type: wire.RowSay, Say: wire.SayText, Text: text, Images: []string{"é"}}
		return wire.MessageUpdated{Action: wire.RowCreated, Message: r, MonitorID: wire.MonitorID(fmt.Sprintf("monitor-%d", ts%2))}
	}
	for i := range 205 {
		all = append(all, row(i*7%211, strings.Repeat("한", i)))
	}
	all = append(
		all,
		wire.HistoryRewound{TS: 190, Removed: 100, MonitorID: "monitor-0"},
		wire.HistoryRewound{TS: 180, Removed: 1, Included: true},
		row(181, "a"), row(182, "b"), row(183, "d"),
		wire.HistoryRewound{TS: 181, Removed: 2, Kept: []wire.Millis{183}},
		row(181, "c"),
		wire.HistoryRewound{TS: 180, Removed: 2},
		wire.HistoryRewound{TS: 170, Restored: []wire.UIRow{row(3, "three").Message, row(5, "five").Message}, MonitorID: "monitor-1"},
		row(300, strings.Repeat("가", 300_000)),
		row(301, strings.Repeat("나", 49_000)),
		row(302, strings.Repeat("다", 400_000)),
		row(302, "less"),
		wire.AutoApprovalChanged{Rules: wire.AutoApproval{
			AutoApprovalEnabled: true, AllowedCommands: []string{"git", "한"}, AllowedMaxCost: 0.25,
		}, By: "c"},
		wire.AutoApprovalChanged{},
		wire.AutoApprovalChanged{UseDefault: true},
		wire.AutoApprovalChanged{Rules: wire.AutoApproval{AlwaysAllowAfterOutsideData: true}},
		wire.ModeChanged{Mode: wire.AgentMode{ID: "ask", Name: "Ask", ToolProfile: "read"}, By: "c"},
		wire.InstructionsChanged{Instructions: "Answer in rhymes.\n<b>", By: "c"},
		wire.ModeChanged{Mode: wire.AgentMode{ID: "mine", Name: "내 모드", ToolProfile: "all", Model: "gone", ModelMissing: true, OwnRules: true}},
		wire.ModeChanged{},
		wire.InstructionsChanged{},
		wire.ModeChanged{Mode: wire.AgentMode{ID: "code", Name: "Code", ToolProfile: "all"}},
		wire.InstructionsChanged{Instructions: "Short answers."},
	)
	return logOf(all...)
}

// toastsLog ends toasts at the very moment of an event, which come a second apart.
func toastsLog() []wire.Event {
	toast := func(id wire.NoticeID, ms int) wire.Actions {
		return acting(wire.ToastShow{Toast: wire.Toast{ID: id, Duration: ms}})
	}
	tick := wire.SessionRenamed{Title: "tick"}
	return logOf(
		toast("a", 1000), tick, toast("b", 1001), tick, toast("c", 0), toast("d", 4000), tick, tick, tick,
		wire.MessageRejected{MessageID: "m", Code: wire.CodeQueueFull, To: "c1"}, tick,
	)
}

type formLog struct {
	name   string
	frames []string
}

// formLogs are frames whose texts say more than what a parser of JavaScript
// makes of them.
func formLogs() []formLog {
	var frames []string
	frame := func(name, data string) {
		n := len(frames) + 1
		frames = append(frames, fmt.Sprintf(
			`{"type":%q,"session_id":"ses-1","message_id":"1-%d","timestamp":"2026-11-15T00:00:%02d.000Z","data":%s}`,
			name, n, n%60, data,
		))
	}
	act := func(list ...string) { frame("ACTIONS", `{"actions":[`+strings.Join(list, ",")+`]}`) }
	window := func(id, more string) string {
		return `{"type":"window.create","windowId":"` + id + `","title":"t","bounds":{"x":-0,"y":1e-7,"w":1e21,"h":123456789012345680000},` + more + `}`
	}
	free := []string{
		`1e3`, `-0`, `1.50`, `12345678901234567890`, `1e999`, `"\u00e9\/"`, `"\ud800"`, `{"b":1,"1":2,"b":3}`,
		`{ "a" : [ 1 , 2 ] , "s" : " { } " }`, `null`, `[]`, `"\u2028 "`, `{"__proto__":{"a":1}}`,
		strings.Repeat("[", 32) + strings.Repeat("]", 32), strings.Repeat("[", 33) + strings.Repeat("]", 33),
	}
	for i, f := range free {
		act(window(fmt.Sprintf("free%d", i), `"content":{"renderer":"globe","data":`+f+`}`))
		frame("messageUpdated", fmt.Sprintf(`{"action":"created","message":{"ts":%d,"type":"say","say":"text","checkpoint":%s}}`, i+1, f))
	}
	act(window("style", `"content":{"renderer":"text","data":""},"windowStyle":{"z":1,"1":"x","0":true,"__proto__":-0,"big":1e-9}`))
	act(`{"type":"window.move","windowId":"style","x":5,"y":-0}`)
	fits := []string{
		`"text"`, `{"headers":["a"],"rows":[["1"],[]],"more":1}`, `{"headers":null,"rows":[]}`, `{"headers":["a"]}`,
		`{"components":[{"type":"button","label":"l","action":"a","parallel":false,"variant":"danger"}],"cols":[1,2.50],"gap":null}`,
		`{"components":[{"type":"button","label":"l","action":"a","variant":"pink"}]}`, `{"components":[],"cols":0}`, `{"components":[],"cols":[]}`,
		`{"components":[{"type":"image","src":"s","width":0,"height":""},{"type":"input","name":"n","rows":2.0}],"cols":3}`,
		`{"components":[{"type":"image","src":"s","width":true}]}`, `{"components":[{"type":"progress","value":101}]}`,
		`{"components":[{"type":"progress","value":1e2},{"type":"nothing"}]}`, `{"url":"u","sandbox":""}`, `{"url":"u","url":"v","sandbox":"s"}`, `7`,
	}
	for i, data := range fits {
		for j, renderer := range []string{"table", "component", "iframe", "text", "globe"} {
			op := []string{"replace", "append", "prepend"}[(i+j)%3]
			id := fmt.Sprintf("fit%d-%s", i, renderer)
			act(
				`{"type":"window.create","windowId":"`+id+`","title":"","bounds":{"x":0,"y":0,"w":0,"h":0},"content":{"renderer":"text","data":"before"}}`,
				`{"type":"window.updateContent","windowId":"`+id+`","renderer":"`+renderer+`","operation":{"op":"`+op+`","data":`+data+`}}`,
			)
		}
	}
	for i, data := range []string{
		`{"kind":"bar","labels":["a"],"series":[{"name":"s","values":[1.50]}],"stacked":true}`, `{"kind":"scatter","series":[{"points":[[1,2],[-0,1e21]]}]}`,
		`{"kind":"cake","series":[]}`, `{"kind":"pie"}`,
	} {
		id := fmt.Sprintf("chart%d", i)
		act(
			window(id, `"content":{"renderer":"chart","data":{"kind":"line","series":[]}}`),
			`{"type":"window.updateContent","windowId":"`+id+`","operation":{"op":"replace","data":`+data+`}}`,
		)
		if i == 0 {
			act(`{"type":"window.updateContent","windowId":"`+id+`","operation":{"op":"clear"}}`, `{"type":"window.resize","windowId":"`+id+`","w":5,"h":6,"agentId":"main-1"}`)
		}
	}
	for i, data := range []string{
		`{"components":[{"type":"checklist","label":"l","items":[{"text":"a","done":true},{"text":"b","done":false}]}]}`,
		`{"components":[{"type":"kanban","columns":[{"title":"t","cards":[{"text":"a","note":"n"},{"text":"","note":""}]}]}]}`,
		`{"components":[{"type":"checklist","items":[{"text":"` + strings.Repeat("é", 1001) + `"}]}]}`,
		`{"components":[{"type":"kanban","columns":[` + strings.Repeat(`{"title":"","cards":[]},`, 12) + `{"title":"","cards":[]}]}]}`,
		`{"components":[{"type":"checklist","items":[` + strings.Repeat(`{"text":""},`, 500) + `{"text":""}]}]}`,
		`{"components":[{"type":"checklist","items":null}]}`, `{"components":[{"type":"kanban","columns":[{"title":"t"}]}]}`,
	} {
		id := fmt.Sprintf("board%d", i)
		act(
			window(id, `"content":{"renderer":"component","data":{"components":[]}}`),
			`{"type":"window.updateContent","windowId":"`+id+`","operation":{"op":"replace","data":`+data+`}}`,
			// The log never has edits, only their results.
			`{"type":"window.edit","windowId":"`+id+`","op":"check","was":"b","item":1,"done":true}`,
		)
	}
	for i, formats := range []string{`[{"kind":"currency","currency":"EUR","decimals":2},{}]`, `[{"decimals":11}]`, `[{"kind":"roman"}]`, `null`} {
		id := fmt.Sprintf("formats%d", i)
		act(
			window(id, `"content":{"renderer":"table","data":{"headers":[],"rows":[]}}`),
			`{"type":"window.updateContent","windowId":"`+id+`","operation":{"op":"replace","data":{"headers":["a"],"rows":[["1"]],"formats":`+formats+`}}}`,
		)
	}
	numbers := frames
	frames = nil
	act(`{"type":"app.badge","appId":"10","count":1}`, `{"type":"app.badge","appId":"9","count":2.0}`, `{"type":"app.badge","appId":"a","count":3}`,
		`{"type":"app.badge","appId":"\uffff","count":3}`, `{"type":"app.badge","appId":"𝛀","count":3}`)
	frame("QUEUE_UPDATED", `{"monitorId":"7","messages":[{"timestamp":1,"id":"a","text":""}]}`)
	frame("MONITOR_STATUS", `{"monitorId":"12","state":"running","queue":0,"budget":{"actions":0,"actionsLimit":1,"output":0,"outputLimit":1,"running":0,"runningLimit":1}}`)
	frame("QUEUE_UPDATED", `{"monitorId":"12","messages":[{"timestamp":1,"id":"b","text":"","images":[],"new":1}]}`)
	act(`{"type":"desktop.createShortcut","shortcut":{"id":"s","label":"","icon":"","type":"url","target":"","createdAt":1,"osActions":[{"type":"window.updateContent","windowId":"w","operation":{"op":"append","data":1.0}}]}}`)
	act(`{"type":"desktop.updateShortcut","shortcutId":"s","updates":{"label":null,"icon":"i","osActions":[]}}`)
	act(`{"type":"window.create","windowId":"w","title":"t","bounds":{"x":0,"y":0,"w":0,"h":0},"content":{"renderer":"text","data":""},"lock":"x","z":9,"appId":"a"}`)
	frame("ACTIONS", `{"actions":[{"type":"window.explode","windowId":"w"}]}`)
	frame("SESSION_RENAMED", `{"title":1}`)
	frame("NEVER_HEARD_OF", `{"title":1}`)
	frame("SESSION_RENAMED", `{"title":"\ud83d\ude00 \udc00"}`)
	frames = append(frames, `{"type":"SESSION_RENAMED","message_id":"1-99","timestamp":"yesterday","data":{"title":"bad clock"}}`)
	frames = append(frames, `{"type":"PRESENCE","message_id":"1-100","data":{"connections":[],"total":3}}`)
	frames = append(frames, `{"type":"AGENT_THINKING","message_id":"1-101","data":{"agentId":"main-no-clock"}}`)
	frames = append(frames, `{"type":"SESSION_RENAMED","message_id":"1-101","data":{"title":"again"}}`)
	frames = append(frames, `{"type":"OWNER_CHANGED","message_id":"18446744073709551615-9","data":{"replica":"r","epoch":2}}`)
	frames = append(frames, `{"type":"OWNER_CHANGED","message_id":"18446744073709551615-10","data":{"replica":"newer","epoch":2}}`)
	return []formLog{{"forms", numbers}, {"ids", frames}}
}
