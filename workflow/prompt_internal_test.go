package workflow

import (
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/wire"
)

// promptsWith returns all prompts, with the text s in every part that comes from users or models.
func promptsWith(s string) map[string]string {
	todos := []draftTodo{{ID: "a", Task: s, ApprovalReason: s}, {ID: "b", Task: s, DependsOn: []wire.TodoID{"a"}}}
	done := []todoResult{{ID: "a", Task: s, Status: wire.TodoStatusCompleted, Result: compact(map[string]string{"text": s})}, {ID: "x", Task: s, Status: wire.TodoSkipped}}
	brief := planningBrief{
		Request: s, Understood: compact(s), Question: s, Answer: s, Tools: someTools,
		Old: todos, Frozen: map[wire.TodoID]bool{"a": true}, Instruction: s,
	}
	return map[string]string{
		"cognitive": cognitivePrompt(s),
		"planning":  planningPrompt(brief),
		"repair":    repairPrompt(brief, errors.New("bad "+s), s),
		"todo": todoPrompt(todoBrief{
			Request: s, Comment: s, Todo: todos[1], Attempt: 2, Attempts: 4, Results: done,
			Values: []todoValue{{Field: "days", Value: compact(s)}, {Field: s, Value: compact(5)}}, PreviousError: s,
		}),
		"response": responsePrompt(responseBrief{Request: s, Comment: s, Results: done}),
	}
}

func TestPromptsContainTheirParts(t *testing.T) {
	t.Parallel()
	all := promptsWith("Write about <b>tea</b>")
	for name, parts := range map[string][]string{
		"cognitive": {"[everdesk plan: cognitive]\n", "<request>\nWrite about <b>tea</b>\n</request>", `"clarification"`, jsonRule},
		"planning": {
			"[everdesk plan: planning]\n", `one of "collector","writer";`, "<understood>\n\"Write about \\u003cb", "<answer>\n",
			"<begun>\na\n</begun>", "<plan>\n{\"todos\":[{\"id\":\"a\"", "<instruction>\n", "1 to 50 todos", jsonRule,
		},
		"repair": {"[everdesk plan: planning]\n", "<request>\n", "<draft>\nWrite about", "<faults>\n- bad Write about", jsonRule},
		"todo": {
			"[everdesk plan: todo]\n", "\nTodo: b\n", "\nAttempt: 2 of 4\n", "<task>\nWrite about", "<result todo=\"a\" status=\"completed\">\nWrite about <b>tea</b>\n{\"text\":\"Write",
			"<values>\ndays = \"Write about \\u003cb", "\nWrite about <b>tea</b> = 5\n</values>", "<trouble>\n", "<comment>\n",
		},
		"response": {"[everdesk plan: response]\n", "<request>\n", "<result todo=\"x\" status=\"skipped\">\nWrite about <b>tea</b>\nnull\n</result>", `"next_actions"`, jsonRule},
	} {
		for _, part := range parts {
			if !strings.Contains(all[name], part) {
				t.Errorf("prompt %s lacks a part, want %q in\n%s", name, part, all[name])
			}
		}
		if !strings.HasPrefix(all[name], parts[0]) {
			t.Errorf("prompt %s begins with %.40q, want %q", name, all[name], parts[0])
		}
	}
	if short := planningPrompt(planningBrief{Request: "x"}); strings.Contains(short, "\n<plan>\n") || strings.Contains(short, "\n<answer>\n") || strings.Contains(short, "\n\n\n") {
		t.Errorf("the prompt of a plain request has additional parts, want neither plan nor answer:\n%s", short)
	}
}

func TestPromptExamplesAreValid(t *testing.T) {
	t.Parallel()
	_, example, _ := strings.Cut(planningRules, "Example: ")
	d, err := readDraft(example, nil)
	if err != nil || len(d.Todos) != 2 {
		t.Errorf("the example of the rules gives %+v, error %v, want 2 todos", d, err)
	}
	_, example, _ = strings.Cut(cognitiveRules, "Example: ")
	if got := readInsight(example); string(got.Result) != example {
		t.Errorf("got %s, want %s", got.Result, example)
	}
}

// tagLine matches everything that looks like a tag of prompts.
var tagLine = regexp.MustCompile(`(?i)<[\s/\\\p{Cf}]*(?:request|understood|question|answer|plan|instruction|begun|faults|draft|task|comment|results?|values|trouble|system|user|assistant)(?:[^\pL\pN_>-][^<>]*)?>`)

func TestPromptTagsAreEscaped(t *testing.T) {
	t.Parallel()
	piece := rapid.SampledFrom([]string{
		"</request>", "< /task>", "<system>", "</VALUES >", "<result todo=\"x\">", "</\u200brequest>", "<", ">", "</", "&lt;",
		"[everdesk plan: todo]", "Attempt: 9 of 9", "\n", "\u0000", "ignore", "안녕", `"`, "=", " ",
	})
	want := make(map[string][]string)
	for name, p := range promptsWith("plain") {
		want[name] = tagLine.FindAllString(p, -1)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := "x" + strings.Join(rapid.SliceOfN(piece, 0, 8).Draw(t, "text"), "") + "x"
		for name, p := range promptsWith(s) {
			if got := tagLine.FindAllString(p, -1); !slices.Equal(got, want[name]) {
				t.Fatalf("prompt %s with %q has the tags %q, want %q", name, s, got, want[name])
			}
			if strings.ContainsRune(p, 0) {
				t.Fatalf("prompt %s has control characters, want none", name)
			}
		}
	})
}

func TestPromptsAreBounded(t *testing.T) {
	t.Parallel()
	huge := strings.Repeat("<", 128<<10)
	for name, p := range promptsWith(huge) {
		if len(p) > 512<<10 {
			t.Errorf("prompt %s has %d bytes, want fewer", name, len(p))
		}
	}
	many := make([]todoResult, MaxTodos)
	for i := range many {
		many[i] = todoResult{ID: "a", Task: "x", Result: json.RawMessage(`"` + huge + `"`)}
	}
	if p := responsePrompt(responseBrief{Results: many}); len(p) > 512<<10 {
		t.Errorf("the prompt with results has %d bytes, want fewer", len(p))
	}
}

// The example plan in the guide is valid.
func TestPlanOfGuideIsValid(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../docs/plans.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, ok := strings.Cut(string(guide), "\n"+`{"todos":`)
	example, _, _ = strings.Cut(example, "\n")
	d, err := readDraft(`{"todos":`+example, []string{"web"})
	if err != nil || !ok || len(d.Todos) != 2 {
		t.Errorf("the example of the guide gives %+v, error %v, want 2 todos", d, err)
	}
}
