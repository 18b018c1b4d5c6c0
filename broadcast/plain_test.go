package broadcast_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/wire"
)

// A client without the resume mode gets the whole state, with a message_id as its next cursor, and then
// the events after its position; a client without a position gets the open questions.
func TestPlainClients(t *testing.T) {
	t.Parallel()
	review := wire.HITLPlanReview{RequestID: "hitl_1", PlanID: "plan-1", Options: []wire.PlanAnswer{wire.PlanApprove}}
	input := wire.HITLInputRequest{RequestID: "hitl_2", Field: "day", InputType: wire.AnswerText}
	for name, test := range map[string]struct {
		from, want string // what is wanted after session_state, event by event
		trim       int
		reason     wire.SnapshotReason
	}{
		"a first connection":  {"", "hitl_1 hitl_2", 0, wire.SnapshotFresh},
		"garbage":             {"msg_xyz", "hitl_1 hitl_2", 0, wire.SnapshotUnknown},
		"trimmed":             {"1-1", "hitl_1 hitl_2", 2, wire.SnapshotTrimmed},
		"missed some":         {"1-3", "1-4 1-5", 0, ""},
		"missed nothing":      {"1-5", "", 0, ""},
		"a position to come":  {"1-9", "hitl_1 hitl_2", 0, wire.SnapshotUnknown},
		"everything is there": {"1-1", "1-2 1-3 1-4 1-5", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newTestCenter(t, broadcast.Config{})
			b.src.state.HITLRequests = []wire.HITLRequest{review, input}
			b.show(titles(5)...)
			if test.trim > 0 {
				b.src.trim(test.trim)
			}
			c := b.attach(broadcast.TabConfig{ResumeFrom: test.from, Plain: true})
			e := c.next()
			s, ok := e.Data.(wire.SessionState)
			if !ok || s.Mode != wire.StateSnapshot || s.Reason != test.reason || e.At != b.Head() || s.LastMessageID != b.Head() {
				t.Fatalf("first frame is %+v, want a snapshot with reason %q and message_id %v", e, test.reason, b.Head())
			}
			var got []string
			for range strings.FieldsSeq(test.want) {
				switch e := c.next(); p := e.Data.(type) {
				case wire.HITLPlanReview:
					got = append(got, string(p.RequestID))
				case wire.HITLInputRequest:
					got = append(got, string(p.RequestID))
				default:
					got = append(got, e.At.String())
				}
			}
			if !slices.Equal(got, strings.Fields(test.want)) {
				t.Errorf("after the state came %q, want %q", got, test.want)
			}
			c.expect(b.show(titles(2)...)...)
		})
	}
}

// Such clients get a running plan as an approved one.
func TestPlainPlanStatus(t *testing.T) {
	t.Parallel()
	b := newTestCenter(t, broadcast.Config{})
	b.src.state.Plan = &wire.PlanState{ID: "plan-1", Status: wire.PlanExecuting, TotalTodos: 1}
	b.show(titles(1)...)
	for plain, want := range map[bool]wire.PlanStatus{true: wire.PlanStatusApproved, false: wire.PlanExecuting} {
		e := b.attach(broadcast.TabConfig{Plain: plain}).next()
		if s, ok := e.Data.(wire.SessionState); !ok || s.Plan == nil || s.Plan.Status != want {
			t.Errorf("plain %v: first frame is %+v, want a plan that is %s", plain, e, want)
		}
	}
}

// Tabs that use the session's name get it in all frames, beside tabs that use the id.
func TestNamedTabs(t *testing.T) {
	t.Parallel()
	for name, form := range map[string]broadcast.Form{
		"native": broadcast.FormNative, "batch": broadcast.FormBatch, "server-sent events": broadcast.FormSSE,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newTestCenter(t, broadcast.Config{})
			b.show(titles(3)...)
			tabs := map[wire.SessionID][]*tab{
				session: {b.attach(broadcast.TabConfig{Form: form, Who: who("id")})},
				"mine": {
					b.attach(broadcast.TabConfig{Form: form, Name: "mine", Who: who("fresh")}),
					b.attach(broadcast.TabConfig{Form: form, Name: "mine", Who: who("resumed"), ResumeFrom: "1-1"}),
					b.attach(broadcast.TabConfig{Form: form, Name: "mine", Who: who("plain"), ResumeFrom: "1-2", Plain: true}),
				},
			}
			b.Notify(wire.StoreStatus{Available: true}, false)
			b.show(
				title(4),
				wire.MessageAccepted{MessageID: "m", AgentID: "a", Duplicate: true, To: "fresh"},
				wire.MessageAccepted{MessageID: "m", AgentID: "a", Duplicate: true, To: "id"},
			)
			last := b.show(wire.SessionRenamed{Title: `,"session_id":"` + string(session) + `"`})
			for want, all := range tabs {
				for _, c := range all {
					c.Send(wire.Event{Data: wire.Ping{}})
					for at := (wire.Position{}); ; {
						e := c.next()
						if e.Session != want {
							t.Errorf("%T at %v is of session %q, want %q", e.Data, e.At, e.Session, want)
						}
						if e.At.Compare(at) > 0 {
							at = e.At
						}
						if r, ok := e.Data.(wire.SessionRenamed); at == last[0].At && ok && r.Title != last[0].Data.(wire.SessionRenamed).Title {
							t.Errorf("title at %v: got %q, want %q", at, r.Title, last[0].Data.(wire.SessionRenamed).Title)
						}
						if _, ok := e.Data.(wire.Ping); ok {
							if at != last[0].At {
								t.Errorf("the last event is %v, want %v", at, last[0].At)
							}
							break
						}
					}
				}
			}
		})
	}
}
