package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

func (d *testDesktop) Progress(_ context.Context, _ tools.Caller, p wire.TodoProgress) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.progress = append(d.progress, p)
	return d.lost
}

func (d *testDesktop) Input(_ context.Context, _ tools.Caller, q wire.HITLInputRequest) (json.RawMessage, error) {
	return d.input(q)
}

// The plan tools are only for agents of todos.
func TestPlanToolsBelongToTodos(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	for _, c := range []tools.Caller{b.caller(), b.worker(), b.todo()} {
		has := slices.ContainsFunc(b.exec.Tools(c), func(t providers.Tool) bool { return strings.HasPrefix(t.Name, "plan_") })
		if has != (c.Todo != "") {
			t.Errorf("%s has the tools of plans: %v, want %v", c.Agent, has, c.Todo != "")
		}
	}
	if told, err := b.exec.Brief(t.Context(), b.todo()); err != nil || !strings.Contains(told.Whole(), "plan_input") {
		t.Errorf("system prompt is %v, error %v, want plan_input in it", told, err)
	}
	if r := b.callAs(b.worker(), "plan_progress", `{"percentage":5}`); !r.IsError || len(b.desktop.progress) != 0 || len(b.desktop.acted) != 1 {
		t.Errorf("progress of an agent without a todo gives %+v, want an error", r)
	}
}

func TestPlanProgress(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	b.mustAs(b.todo(), "plan:progress", `{"percentage":42.5,"step":"reading","items_processed":3,"items_total":7}`)
	want := []wire.TodoProgress{{TodoID: "collect", ProgressPercentage: 42.5, CurrentStep: "reading", ItemsProcessed: 3, ItemsTotal: 7}}
	if diff := cmp.Diff(want, b.desktop.progress); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	for _, input := range []string{`{}`, `{"percentage":101}`, `{"percentage":-1}`, `{"percentage":"x"}`, `{"percentage":1,"items_total":-1}`} {
		if r := b.callAs(b.todo(), "plan_progress", input); !r.IsError || len(b.desktop.progress) != 1 {
			t.Errorf("plan_progress %s gives %+v, want an error", input, r)
		}
	}
	b.desktop.lost = errors.New("the plan has ended")
	if r := b.callAs(b.todo(), "plan_progress", `{"percentage":1}`); !r.IsError || r.Text != "The plan has ended." {
		t.Errorf("progress of an ended plan gives %+v, want an error that it has ended", r)
	}
	if n := len(b.desktop.acted) + len(b.desktop.begun) + len(b.desktop.ended); n != 0 {
		t.Errorf("the session received %d calls, want 0", n)
	}
}

func TestPlanInput(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	var asked []wire.HITLInputRequest
	answer := json.RawMessage(`{"from":"2026-02-01","to":"2026-02-06"}`)
	b.desktop.input = func(q wire.HITLInputRequest) (json.RawMessage, error) {
		asked = append(asked, q)
		return answer, nil
	}
	got := b.mustAs(b.todo(), "plan_input", `{"field":"period","question":"When?","input_type":"date","range":true,"required":true,"timeout_sec":60}`)
	if got != `{"value":{"from":"2026-02-01","to":"2026-02-06"}}` {
		t.Errorf("the answer is %s, want the period", got)
	}
	answer = nil
	got = b.mustAs(b.todo(), "plan_input", `{"field":"size","question":"Which?","input_type":"choice","options":["s",{"value":"l","label":"Large"}],"default_value":"s"}`)
	if got != `{"value":null}` {
		t.Errorf("no answer is %s, want a null value", got)
	}
	want := []wire.HITLInputRequest{
		{
			Field: "period", Question: "When?", InputType: wire.AnswerDate, Range: true, Required: true, TodoID: "collect",
			HITLDeadline: wire.HITLDeadline{TimeoutSec: 60},
		},
		{
			Field: "size", Question: "Which?", InputType: wire.AnswerChoice, TodoID: "collect", DefaultValue: json.RawMessage(`"s"`),
			Options: []wire.Option{{Value: "s", Label: "s"}, {Value: "l", Label: "Large"}},
		},
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("questions (-want +got):\n%s", diff)
	}
	for _, input := range []string{
		`{"field":"","question":"?","input_type":"text"}`,
		`{"field":"f","question":"?","input_type":"colour"}`,
		`{"field":"f","question":"?","input_type":"choice"}`,
		`{"field":"f","question":"?","input_type":"multi","options":["one"]}`,
		`{"field":"f","question":"?","input_type":"text","timeout_sec":86401}`,
	} {
		if r := b.callAs(b.todo(), "plan_input", input); !r.IsError || len(asked) != 2 {
			t.Errorf("plan_input %s gives %+v, want an error", input, r)
		}
	}
	if n := len(b.desktop.acted) + len(b.desktop.begun) + len(b.desktop.ended); n != 0 {
		t.Errorf("the session received %d calls, want 0", n)
	}
}
