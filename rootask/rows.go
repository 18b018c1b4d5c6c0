package rootask

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/wire"
)

// monitor is the monitor of the conversation.
const monitor wire.MonitorID = "monitor-0"

var rowFormat = sync.OnceValue(wire.FormatOf[wire.UIRow])

// readRows reads the rows that people saw.
func (t *Task) readRows(data []byte) {
	var items []json.RawMessage
	if err := json.Unmarshal(data, &items); err != nil {
		t.Left = append(t.Left, fmt.Sprintf("%s is damaged: %v", rowsName, err))
		return
	}
	if n := len(items) - maxRows; n > 0 {
		t.Left = append(t.Left, fmt.Sprintf("the %d oldest rows", n))
		items = items[n:]
	}
	turn, bad := 0, 0
	last := wire.Millis(0)
	latest := wire.Millis(time.Now().UnixMilli())
	for _, item := range items {
		row, ok := rowOf(item)
		if !ok || row.TS > latest {
			bad++
			continue
		}
		if row.TS <= last {
			row.TS = last + 1 // Roo-Code gives rows of the same millisecond the same ts
		}
		last = row.TS
		if row.Say == wire.SayText && len(t.Rows) == 0 {
			row.Say = wire.SayUserFeedback // the first row is the request
		}
		if row.Say == wire.SayUserFeedback {
			turn++
		}
		row.ID, row.MonitorID, row.MessageID = wire.RowID(len(t.Rows)+1), monitor, wire.MessageID("import-"+strconv.Itoa(turn))
		t.Rows = append(t.Rows, row)
	}
	for len(t.Rows) > 0 && asksToResume(t.Rows[len(t.Rows)-1]) {
		t.Rows = t.Rows[:len(t.Rows)-1] // the hub asks itself
	}
	if bad > 0 {
		t.Left = append(t.Left, fmt.Sprintf("%d rows that cannot be read", bad))
	}
}

func asksToResume(row wire.UIRow) bool {
	return row.Ask == wire.AskResumeTask || row.Ask == wire.AskResumeCompletedTask
}

// rowOf returns a row of Roo-Code as one of a session. Questions are answered: nothing waits for them any
// more. Checkpoints are in repositories of Roo-Code, so they are left out.
func rowOf(item json.RawMessage) (wire.UIRow, bool) {
	var fields map[string]json.RawMessage
	if len(item) > maxLine || json.Unmarshal(item, &fields) != nil {
		return wire.UIRow{}, false
	}
	for name := range fields {
		if !slices.Contains([]string{
			"ts", "type", "ask", "say", "text", "images", "reasoning", "progressStatus", "contextCondense", "contextTruncation", "isProtected", "apiProtocol",
		}, name) || string(fields[name]) == "null" {
			delete(fields, name)
		}
	}
	if ts, err := strconv.ParseFloat(string(fields["ts"]), 64); err == nil && ts >= 1 && ts < 1<<53 {
		fields["ts"] = json.RawMessage(strconv.FormatInt(int64(ts), 10))
	} else {
		return wire.UIRow{}, false
	}
	data, err := json.Marshal(fields)
	if err != nil {
		return wire.UIRow{}, false
	}
	row, err := rowFormat().DecodeOwn(data)
	if err != nil || row.Type == wire.RowAsk && (row.Ask == "" || row.Say != "") || row.Type == wire.RowSay && (row.Say == "" || row.Ask != "") {
		return wire.UIRow{}, false
	}
	row.IsAnswered = row.Type == wire.RowAsk
	if row.Say == wire.SayAPIReqStarted {
		row.Text = withoutRequest(row.Text)
	}
	return history.FinalVersion(row), true
}

// withoutRequest returns the text of a row about a request without the request itself, which has whole files.
func withoutRequest(text string) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &fields) != nil {
		return ""
	}
	delete(fields, "request")
	data, err := json.Marshal(fields)
	if err != nil {
		return ""
	}
	return string(data)
}
