package session_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// The directives of the guided tour run with the real tools without errors.
func TestGuidedTour(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]wire.WindowID{
		"Show me some windows":                     {"tour-brief", "tour-pipeline", "tour-dashboard", "tour-chart", "tour-today"},
		"양식 만들어 줘: 이름, 이메일, 내용":                    {"form-1"},
		"Ask me before you delete the old reports": {"reports", "reports-result", "reports-summary"},
		"제품 출시를 병렬 작업으로 계획해 줘":                     {"launch-plan", "launch-1", "launch-2", "launch-3"},
		"Watch the build in the background":        {"build"},
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := startAgentHub(t, newSyncDeployment(t), hubConfig{})
				d := o.newDesktop(t, "ses-1")
				on := firstMonitor
				if want[0] == "build" {
					on = "monitor-1" // in the background, within its budget
				}
				d.sendText(on, "m1", text)
				if want[0] == "reports" {
					dialog := waitEvent(t, d.eventLog, anyOf[wire.ApprovalRequest])
					if !strings.Contains(dialog.Message, "reports_delete") || !strings.Contains(dialog.Message, "audit-2022.pdf") {
						t.Errorf("the dialog says %q, want it to name reports_delete and audit-2022.pdf", dialog.Message)
					}
					d.send("", wire.DialogFeedback{DialogID: dialog.DialogID, Confirmed: true})
					p := d.waitPrompt("main-monitor-0-m1")
					d.send("", wire.UserPromptResponse{PromptID: p.ID, SelectedValues: []string{"markdown"}})
				}
				if end := d.waitTurnEnd("m1"); end.Outcome != wire.OutcomeCompleted {
					t.Errorf("the turn is %s: %s, want %s", end.Outcome, end.Reason, wire.OutcomeCompleted)
				}
				now := d.snapshot()
				for _, id := range want {
					found := false
					for _, w := range now.Windows {
						found = found || w.WindowID == id
					}
					if !found {
						t.Errorf("there is no window %s, want all of %v", id, want)
					}
				}
				if len(now.Windows) != len(want) {
					t.Errorf("%d windows are open, want %d", len(now.Windows), len(want))
				}
				events, _ := d.from(0)
				for _, e := range events {
					if p, is := e.Data.(wire.ToolProgress); is && p.Status == wire.ToolError {
						t.Errorf("%s failed with %s, want no tool errors", p.ToolName, p.Message)
					}
				}
				checkRows(t, now.RecentMessages, len(want))
			})
		})
	}
}

// Every window that the demo offers in its help opens with the real tools without errors.
func TestEveryWindowOfTheDemo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := startAgentHub(t, newSyncDeployment(t), hubConfig{})
		d := o.newDesktop(t, "ses-1")
		var requests []string
		for n, help := range []string{"help", "도움"} {
			id := wire.MessageID(fmt.Sprint("help-", n))
			d.sendText(firstMonitor, id, help)
			d.waitTurnEnd(id)
		}
		for _, r := range d.snapshot().RecentMessages {
			for line := range strings.Lines(r.Text) {
				_, list, ok := strings.Cut(line, ": ")
				if all := strings.Split(strings.TrimSpace(list), " · "); ok && len(all) > 20 {
					requests = append(requests, all...)
				}
			}
		}
		if len(requests) < 60 {
			t.Fatalf("the help names %d requests, want at least 30 in each language", len(requests))
		}
		// A session for a few requests: the work of a turn grows with the conversation.
		n := 0
		for chunk := range slices.Chunk(requests, 6) {
			n++
			d := o.newDesktop(t, wire.SessionID(fmt.Sprint("ses-", n+1)))
			ask := func(text string) {
				n++
				id := wire.MessageID(fmt.Sprint("m", n))
				d.sendText(firstMonitor, id, text)
				d.waitTurnEnd(id)
			}
			for i, text := range chunk {
				ask(text)
				if got := len(d.snapshot().Windows); got != i+1 {
					t.Errorf("after %q %d windows are open, want %d", text, got, i+1)
				}
				ask("make it bigger")
			}
			ask("tidy up")
			ask("close everything")
			if got := len(d.snapshot().Windows); got != 0 {
				t.Errorf("%d windows are open, want all closed", got)
			}
			events, _ := d.from(0)
			for _, e := range events {
				if p, is := e.Data.(wire.ToolProgress); is && p.Status == wire.ToolError {
					t.Errorf("%s failed with %s, want no tool errors", p.ToolName, p.Message)
				}
			}
		}
	})
}

// An approval that was open before a crash is asked for once, and the answer counts, whenever it
// comes.
func TestApprovalAfterACrash(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSyncDeployment(t)
		o := startAgentHub(t, s, hubConfig{})
		d := o.newDesktop(t, "ses-1")
		d.sendText(firstMonitor, "m1", "오래된 보고서를 지우기 전에 물어봐 줘")
		dialog := waitEvent(t, d.eventLog, anyOf[wire.ApprovalRequest])
		o.stop()
		o = startAgentHub(t, s, hubConfig{replica: "b"})
		d = o.openDesktop(t, "ses-1")
		time.Sleep(5 * time.Second)
		if open := d.snapshot().Dialogs; len(open) != 1 || open[0].DialogID != dialog.DialogID || open[0].PermissionOptions.ToolName != "reports_delete" {
			t.Fatalf("the dialogs are %+v, want only %s of reports_delete", open, dialog.DialogID)
		}
		d.send("", wire.DialogFeedback{DialogID: dialog.DialogID})
		p := d.waitPrompt("main-monitor-0-m1")
		d.send("", wire.UserPromptResponse{PromptID: p.ID, Dismissed: true})
		d.waitTurnEnd("m1")
		rows := d.snapshot().RecentMessages
		checkRows(t, rows, 3)
		var said strings.Builder
		for _, r := range rows {
			if r.Say == wire.SayText {
				said.WriteString(r.Text)
			}
		}
		if got := said.String(); strings.Count(got, "그대로 두었어요") != 1 || strings.Count(got, "허락하시기 전에는") != 1 {
			t.Errorf("the turn said %q, want each of its two sentences once", got)
		}
	})
}

// checkRows reports rows that cannot be decoded, and turns without an end.
func checkRows(t *testing.T, rows []wire.UIRow, calls int) {
	t.Helper()
	ends := map[wire.AgentID]int{}
	for _, r := range rows {
		if r.Say != wire.SayTool && r.Say != wire.SayAPIReqFinished {
			continue
		}
		var said struct{ Tool, Status, Outcome string }
		if err := json.Unmarshal([]byte(r.Text), &said); err != nil || said.Status+said.Outcome == "" {
			t.Errorf("a row says %s (%v), want a status or an outcome", r.Text, err)
		}
		if r.Say == wire.SayTool {
			calls--
		} else {
			ends[r.AgentID]++
		}
	}
	if calls > 0 {
		t.Errorf("%d calls have no row, want 0", calls)
	}
	for agent, n := range ends {
		if n != 1 {
			t.Errorf("%s ended %d times, want once", agent, n)
		}
	}
	if ends["main-monitor-0-m1"]+ends["main-monitor-1-m1"] != 1 {
		t.Errorf("the ends by agent are %v, want one of main-monitor-0-m1 or main-monitor-1-m1", ends)
	}
}
