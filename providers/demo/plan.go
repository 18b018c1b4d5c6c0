package demo

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// planMark begins the hub's prompts for planning and for todos; the name of the phase follows.
const planMark = "[everdesk plan: "

// planner answers the hub's prompts of a plan.
type planner struct {
	*session
	text    string
	request string
	korean  bool
}

// planSteps returns the steps for a prompt of a plan, and whether the text is one.
func (s *session) planSteps(text string) ([]step, bool) {
	rest, ok := strings.CutPrefix(text, planMark)
	if !ok {
		return nil, false
	}
	kind, _, _ := strings.Cut(rest, "]")
	p := planner{session: s, text: text, request: section(text, "request")}
	p.korean = isKorean(p.request)
	switch kind {
	case "cognitive":
		return p.thinks(p.understand()), true
	case "planning":
		return p.thinks(p.draft()), true
	case "response":
		return p.thinks(p.respond()), true
	case "todo":
		return p.work(), true
	default:
		return []step{say(fmt.Sprintf("I do not know what %q of a plan is.", kind))}, true
	}
}

// section returns the text between an opening and a closing tag, each on a line of its own, or
// "".
func section(text, tag string) string {
	_, rest, _ := strings.Cut(text, "\n<"+tag+">\n")
	body, _, ok := strings.Cut(rest, "\n</"+tag+">")
	if !ok {
		return ""
	}
	return body
}

func (p planner) in(english, korean string) string {
	if p.korean {
		return korean
	}
	return english
}

// thinks returns the steps of an answer: the /sleep, /hang and /fail directives of the request,
// and then the answer in one piece, because it is not displayed.
func (p planner) thinks(answer string) (steps []step) {
	for line := range strings.Lines(p.request) {
		if name, rest, ok := order(line); ok && slices.Contains([]string{"sleep", "hang", "fail"}, name) {
			if st, err := directive(name, rest); err == nil {
				steps = append(steps, st...)
			}
		}
	}
	return append(steps, step{kind: stepPut, text: answer})
}

// written encodes a value as JSON.
func written(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return "{}" // impossible: callers pass values that have a JSON form
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// topics lists the topics that the demo recognizes; the first match counts.
var topics = []struct {
	asked            *regexp.Regexp
	domain, category string
}{
	{regexp.MustCompile(`(?i)analy|compare|sentiment|분석|비교`), "analysis", "data_analysis"},
	{regexp.MustCompile(`(?i)launch|release|product|출시|제품`), "project", "launch"},
	{regexp.MustCompile(`(?i)report|write|summar|보고|작성|요약`), "writing", "report"},
	{regexp.MustCompile(`(?i)trip|travel|flight|여행|항공`), "travel", "trip"},
}

var quotedText = regexp.MustCompile(`["“]([^"”\n]{1,80})["”]`)

// understand classifies the request by its words.
func (p planner) understand() string {
	words := wordsOf(p.request)
	found := object{"domain": "general", "category": "request", "confidence": 0.5}
	for _, t := range topics {
		if t.asked.MatchString(words) {
			found = object{"domain": t.domain, "category": t.category, "confidence": 0.9}
			break
		}
	}
	entities := []object{}
	for _, m := range quotedText.FindAllStringSubmatch(words, 10) {
		entities = append(entities, object{"type": "name", "value": m[1], "confidence": 0.8})
	}
	answer := object{"intent": found, "entities": entities}
	if _, after, ok := strings.Cut(p.request, "?clarify"); ok {
		answer["clarification"] = object{
			"ambiguity":   p.in("It is not clear how much is wanted.", "어디까지 원하시는지 분명하지 않아요."),
			"question":    p.in("Shall it be short or thorough?", "간단히 할까요, 자세히 할까요?"),
			"suggestions": []string{p.in("short", "간단히"), p.in("thorough", "자세히")},
			"required":    strings.HasPrefix(after, "!"),
		}
	}
	return written(answer)
}

// wordsOf returns a request without its directives.
func wordsOf(request string) string {
	var b strings.Builder
	for line := range strings.Lines(request) {
		if _, _, ok := order(line); !ok {
			b.WriteString(line)
		}
	}
	return strings.TrimSpace(b.String())
}

// jsonAfter returns the JSON after a directive at the beginning of a line, unmodified, and
// whether there is any. Invalid JSON extends to the next line that begins with a slash.
func jsonAfter(text, name string) (string, bool) {
	for text != "" {
		line, after, _ := strings.Cut(text, "\n")
		if got, _, ok := order(line); !ok || got != name {
			text = after
			continue
		}
		rest := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(text), "/"+name))
		if !strings.HasPrefix(rest, "{") && !strings.HasPrefix(rest, "[") {
			return "", false
		}
		d := json.NewDecoder(strings.NewReader(rest))
		var raw json.RawMessage
		if d.Decode(&raw) == nil {
			return string(raw), true
		}
		rest, _, _ = strings.Cut(rest, "\n/")
		return rest, true
	}
	return "", false
}

// draft returns the plan: the one given in the instruction or else in the request, the old one
// changed by the instruction, or the demonstration. If the prompt contains a rejected draft, the
// plan after /repair takes precedence.
func (p planner) draft() string {
	said := p.request
	instruction := section(p.text, "instruction")
	if instruction != "" {
		said = instruction
	}
	if section(p.text, "draft") != "" {
		if given, ok := jsonAfter(said, "repair"); ok {
			return given
		}
	}
	if given, ok := jsonAfter(said, "plan"); ok {
		return given
	}
	if instruction != "" {
		return p.changed(instruction)
	}
	return written(object{"todos": p.showPlan()})
}

var (
	adds    = regexp.MustCompile(`(?i)^\s*add\s+(.+)$|^\s*(.+?)\s*(?:을|를)?\s*추가(?:해.*)?$`)
	removes = regexp.MustCompile(`(?i)^\s*remove\s+([\w-]+)\s*\.?\s*$|^\s*([\w-]+)\s*(?:을|를)?\s*(?:삭제|제거|빼)\S*.*$`)
)

// changed returns the old plan changed by an instruction, or the demonstration if there is no old
// plan.
func (p planner) changed(instruction string) string {
	var old struct {
		Todos []object `json:"todos"`
	}
	if json.Unmarshal([]byte(section(p.text, "plan")), &old) != nil || len(old.Todos) == 0 {
		return written(object{"todos": p.showPlan()})
	}
	todos := old.Todos
	for line := range strings.Lines(instruction) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if m := removes.FindStringSubmatch(line); m != nil && hasTodo(todos, m[1]+m[2]) {
			todos = without(todos, m[1]+m[2])
			continue
		}
		if m := adds.FindStringSubmatch(line); m != nil {
			line = m[1] + m[2]
		}
		todos = append(todos, object{"id": freeID(todos), "task": line, "depends_on": []string{}, "estimated_duration_sec": 10})
	}
	return written(object{"todos": todos})
}

func hasTodo(todos []object, id string) bool {
	return slices.ContainsFunc(todos, func(t object) bool { return t["id"] == id })
}

// without removes a todo from a plan, including dependencies on it.
func without(todos []object, id string) (left []object) {
	for _, t := range todos {
		if t["id"] == id {
			continue
		}
		if needs, ok := t["depends_on"].([]any); ok {
			t["depends_on"] = slices.DeleteFunc(needs, func(on any) bool { return on == id })
		}
		left = append(left, t)
	}
	return left
}

func freeID(todos []object) string {
	for n := 1; ; n++ {
		if id := "added_" + strconv.Itoa(n); !hasTodo(todos, id) {
			return id
		}
	}
}

// showPlan returns a plan that demonstrates the features of plans.
func (p planner) showPlan() []object {
	about := shorten(strings.Join(strings.Fields(wordsOf(p.request)), " "), 60)
	if about == "" {
		about = p.in("the demo", "데모")
	}
	about = "“" + about + "”"
	return []object{
		{
			"id": "collect_numbers", "depends_on": []string{}, "priority": 2, "estimated_duration_sec": 5, "estimated_cost_usd": 0.01,
			"task": fmt.Sprintf(p.in("Collect the numbers about %s.", "%s에 관한 숫자를 모아요."), about),
		},
		{
			"id": "collect_voices", "depends_on": []string{}, "priority": 1, "estimated_duration_sec": 5, "estimated_cost_usd": 0.01,
			"task": fmt.Sprintf(p.in("Collect what people say about %s.", "%s에 대한 의견을 모아요."), about),
		},
		{
			"id": "analyse", "depends_on": []string{"collect_numbers", "collect_voices"}, "max_retries": 3, "estimated_duration_sec": 10, "estimated_cost_usd": 0.02,
			"task": p.in("Analyse what was collected. (In this demo the first two attempts fail, so that you see how a plan tries again.)",
				"모은 것을 분석해요. (이 데모에서는 처음 두 번은 실패해요. 계획이 다시 시도하는 모습을 보여 드리려고요.)"),
		},
		{
			"id": "compare", "depends_on": []string{"analyse"}, "estimated_duration_sec": 5, "estimated_cost_usd": 0.01,
			"task": p.in("Compare the period that you choose with the one before.", "고르신 기간을 그 앞의 기간과 비교해요."),
			"inputs": []object{{
				"field": "period", "input_type": "date", "range": true, "required": true,
				"question": p.in("Which period shall be compared?", "어느 기간을 비교할까요?"),
			}},
		},
		{
			"id": "report", "depends_on": []string{"analyse", "compare"}, "requires_approval": true, "estimated_duration_sec": 5, "estimated_cost_usd": 0.01,
			"approval_reason": p.in("It writes a file into the storage of this desktop.", "이 데스크톱의 저장소에 파일을 써요."),
			"task":            p.in("Write the report and keep it as a file.", "보고서를 쓰고 파일로 남겨요."),
		},
	}
}

// doneTodo is a finished todo as described in a prompt.
type doneTodo struct{ id, status, task, result string }

var resultTag = regexp.MustCompile(`(?s)<result todo="([^"]*)" status="([^"]*)">\n([^\n]*)\n(.*?)\n</result>`)

// results returns the finished todos that a prompt lists.
func (p planner) results() (all []doneTodo) {
	for _, m := range resultTag.FindAllStringSubmatch(p.text, -1) {
		all = append(all, doneTodo{m[1], m[2], m[3], m[4]})
	}
	return all
}

var namedFiles = regexp.MustCompile(`"files":(\[[^\]]*\])`)

// reported returns the text that a todo reported, and the files that it wrote.
func (d doneTodo) reported() (text string, files []string) {
	var r struct {
		Summary string   `json:"summary"`
		Text    string   `json:"text"`
		Files   []string `json:"files"`
	}
	_ = json.Unmarshal([]byte(d.result), &r) // missing fields stay empty
	if m := namedFiles.FindStringSubmatch(r.Text); m != nil && len(r.Files) == 0 {
		_ = json.Unmarshal([]byte(m[1]), &r.Files) // an invalid list stays empty
	}
	text, _, _ = strings.Cut(r.Text, "\n")
	if r.Summary != "" {
		text = r.Summary
	}
	return text, r.Files
}

// respond returns the final answer of the plan.
func (p planner) respond() string {
	all := p.results()
	done := 0
	var b strings.Builder
	attachments := []object{}
	for _, d := range all {
		if d.status == "completed" {
			done++
		}
		text, files := d.reported()
		if text == "" {
			text = d.status
		}
		fmt.Fprintf(&b, "\n- **%s**: %s", d.id, shorten(text, 300))
		for _, f := range files {
			kind := "file"
			if strings.HasSuffix(f, ".md") {
				kind = "report"
			}
			attachments = append(attachments, object{"type": kind, "title": f, "path": f})
		}
	}
	summary := fmt.Sprintf(p.in("%d of %d todos are done.", "할 일 %[2]d개 가운데 %[1]d개를 마쳤어요."), done, len(all))
	return written(object{
		"text": summary + "\n" + b.String(), "summary": summary, "attachments": attachments,
		"next_actions": []string{p.in("Plan something else", "다른 것도 계획하기")},
	})
}
