package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/everdesk/everdesk/providers"
)

var (
	attemptLine = regexp.MustCompile(`(?m)^Attempt: (\d+) of `)
	todoLine    = regexp.MustCompile(`(?m)^Todo: (\S+)`)
	failsTwice  = regexp.MustCompile(`first two attempts fail|처음 두 번은 실패`)
)

// work returns the steps of an agent of a todo: its directives, or simulated work.
func (p planner) work() []step {
	task := section(p.text, "task")
	p.korean = isKorean(task)
	attempt := 1
	if m := attemptLine.FindStringSubmatch(p.text); m != nil {
		attempt, _ = strconv.Atoi(m[1])
	}
	if steps, ok := directives(failing(nextDirective.ReplaceAllString(task, "\n/"), attempt)); ok {
		return noteFiles(steps)
	}
	id := "todo"
	if m := todoLine.FindStringSubmatch(p.text); m != nil {
		id = m[1]
	}
	steps := p.progress(30, p.in("looking", "살펴보는 중"))
	if failsTwice.MatchString(task) && attempt <= 2 {
		return append(steps, step{kind: stepFail, failure: failure(fmt.Sprintf(
			p.in("the demo fails in attempt %d, as it said", "데모가 말한 대로 %d번째 시도는 실패해요"), attempt))})
	}
	steps = append(steps, p.progress(70, p.in("writing it down", "정리하는 중"))...)
	if strings.HasPrefix(id, "report") && p.has("storage_write") {
		return append(steps, p.writeReport(id+".md"), say(written(object{
			"summary": p.in("I wrote the report.", "보고서를 썼어요."), "files": []string{id + ".md"},
		})))
	}
	did := shorten(strings.Join(strings.Fields(task), " "), 100)
	if values := section(p.text, "values"); values != "" {
		did += " (" + strings.Join(strings.Split(values, "\n"), ", ") + ")"
	}
	return append(steps, say(fmt.Sprintf(p.in("I am the demo, so I only say that this is done: %s", "저는 데모라서 마쳤다고만 말씀드려요: %s"), did)))
}

// failing returns the task of an attempt: "/fail N TEXT" becomes /fail in the first N attempts and
// a /think in later ones.
func failing(task string, attempt int) string {
	var b strings.Builder
	for line := range strings.Lines(task) {
		if name, rest, ok := order(line); ok && name == "fail" {
			times, text, _ := strings.Cut(rest, " ")
			if n, err := strconv.Atoi(times); err == nil {
				if attempt > n {
					b.WriteString("/think it went wrong before\n")
					continue
				}
				line = "/fail " + strings.TrimSpace(text) + "\n"
			}
		}
		b.WriteString(line)
	}
	return b.String()
}

// noteFiles adds a step that reports the names of the files that the steps write.
func noteFiles(steps []step) []step {
	files := []string{}
	for _, st := range steps {
		for _, c := range st.calls {
			var in struct {
				Path string `json:"path"`
			}
			if c.Name == "storage_write" && json.Unmarshal(c.Input, &in) == nil && in.Path != "" {
				files = append(files, in.Path)
			}
		}
	}
	if len(files) > 0 {
		steps = append(steps, say(written(object{"files": files})))
	}
	return steps
}

// progress returns steps that wait half a second and report the progress, if the tool exists.
func (p planner) progress(percent int, doing string) []step {
	steps := []step{pause(500 * time.Millisecond)}
	if p.has("plan_progress") {
		steps = append(steps, call(progressCall(float64(percent), doing)))
	}
	return steps
}

func progressCall(percent float64, doing string) providers.ToolCall {
	return providers.ToolCall{Name: "plan_progress", Input: input(object{"percentage": percent, "step": doing})}
}

// writeReport returns the step that stores the results of earlier todos as a file.
func (p planner) writeReport(path string) step {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", p.in("Report", "보고서"))
	for _, d := range p.results() {
		text, _ := d.reported()
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", d.id, text)
	}
	return call(providers.ToolCall{Name: "storage_write", Input: input(object{"path": path, "content": b.String()})})
}

// tellProgress parses "PERCENT STEP".
func tellProgress(rest string) ([]step, error) {
	first, doing, _ := strings.Cut(rest, " ")
	percent, err := strconv.ParseFloat(strings.TrimSuffix(first, "%"), 64)
	if err != nil || percent < 0 || percent > 100 {
		return nil, errors.New("it wants a number from 0 to 100 and perhaps what is done, such as: 50 half of it")
	}
	return []step{call(progressCall(percent, strings.TrimSpace(doing)))}, nil
}

// askValue parses "FIELD TYPE QUESTION | option | option". A type that ends in "!" makes the answer
// required, and daterange is a date with a beginning and an end.
func askValue(rest string) ([]step, error) {
	head, choices, _ := strings.Cut(rest, "|")
	f := strings.Fields(head)
	if len(f) < 3 {
		return nil, errors.New("it wants a field, a type and a question, such as: size number How many?")
	}
	kind, required := strings.CutSuffix(f[1], "!")
	in := object{"field": f[0], "question": strings.Join(f[2:], " ")}
	if kind == "daterange" {
		kind, in["range"] = "date", true
	}
	if in["input_type"] = kind; required {
		in["required"] = true
	}
	var options []string
	for o := range strings.SplitSeq(choices, "|") {
		if o = strings.TrimSpace(o); o != "" {
			options = append(options, o)
		}
	}
	if len(options) > 0 {
		in["options"] = options
	}
	st := step{kind: stepCall, calls: []providers.ToolCall{{Name: "plan_input", Input: input(in)}}}
	st.after = func(o []outcome) string {
		if bad := tellErrors(o); bad != "" {
			return bad
		}
		var got struct {
			Value json.RawMessage `json:"value"`
		}
		if len(o) == 0 || json.Unmarshal([]byte(o[0].result.Text), &got) != nil {
			return ""
		}
		return f[0] + " = " + string(got.Value)
	}
	return []step{st}, nil
}
