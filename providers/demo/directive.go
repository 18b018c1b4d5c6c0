package demo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everdesk/everdesk/providers"
)

// Bounds of the arguments of directives.
const (
	maxSteps  = 500
	maxSleep  = time.Hour
	maxWords  = 100_000
	maxRate   = 10_000
	maxFill   = 50_000 // the hub bounds the size of an entry
	maxClaim  = 10_000_000
	rateUsual = 50
)

// order parses a directive line. A path such as /usr/bin is not a directive.
func order(line string) (name, rest string, ok bool) {
	line, ok = strings.CutPrefix(strings.TrimSpace(line), "/")
	if !ok {
		return "", "", false
	}
	name, rest, _ = strings.Cut(line, " ")
	notLetter := func(r rune) bool { return r < 'a' || r > 'z' }
	return name, strings.TrimSpace(rest), name != "" && !strings.ContainsFunc(name, notLetter)
}

// directives parses the directives of a text, one per line, and reports whether there are any.
// Consecutive tasks become one step. After maxSteps it stops.
func directives(text string) (steps []step, found bool) {
	var tasks []providers.ToolCall
	endTasks := func() {
		if len(tasks) > 0 {
			steps = append(steps, step{kind: stepCall, calls: tasks, after: tellTasks})
			tasks = nil
		}
	}
	for line := range strings.Lines(text) {
		name, rest, ok := order(line)
		if !ok {
			continue
		}
		found = true
		if len(steps)+len(tasks) >= maxSteps {
			endTasks()
			return append(steps, say("That is more than I do in one turn; I stop here.")), found
		}
		if name == "task" {
			c, err := task(rest)
			if err == nil {
				tasks = append(tasks, c)
				continue
			}
			steps = append(steps, complaint(name, err))
			continue
		}
		endTasks()
		st, err := directive(name, rest)
		if err != nil {
			st = []step{complaint(name, err)}
		}
		steps = append(steps, st...)
	}
	endTasks()
	return steps, found
}

// refusesSteers reports whether a message contains /nosteer.
func refusesSteers(text string) bool {
	for line := range strings.Lines(readPrompt(text).content) {
		if name, _, ok := order(line); ok && name == "nosteer" {
			return true
		}
	}
	return false
}

func complaint(name string, err error) step {
	return say(fmt.Sprintf("I cannot do /%s: %v.", name, err))
}

// directive parses one directive.
func directive(name, rest string) ([]step, error) {
	switch name {
	case "say":
		return []step{say(newlines(rest))}, nil
	case "think":
		return []step{{kind: stepThink, text: newlines(rest)}}, nil
	case "sleep":
		d, err := time.ParseDuration(rest)
		if err != nil || d < 0 || d > maxSleep {
			return nil, errors.New("it wants a time of at most an hour, such as 1500ms")
		}
		return []step{{kind: stepSleep, wait: d}}, nil
	case "stream":
		return stream(rest)
	case "fill":
		n, err := strconv.Atoi(rest)
		if err != nil || n < 1 || n > maxFill {
			return nil, fmt.Errorf("it wants a number of tokens up to %d", maxFill)
		}
		return []step{{kind: stepFill, n: n}}, nil
	case "usage":
		var in, out int
		if n, err := fmt.Sscanf(rest, "%d %d", &in, &out); n != 2 || err != nil || in < 0 || out < 0 || max(in, out) > maxClaim {
			return nil, fmt.Errorf("it wants how many tokens were read and written, up to %d each", maxClaim)
		}
		return []step{{kind: stepUsage, n: in, rate: out}}, nil
	case "call":
		return calls(rest)
	case "ask":
		return ask(rest)
	case "window":
		return window(rest)
	case "toast":
		if rest == "" {
			return nil, errors.New("it wants a text")
		}
		return []step{toast(rest)}, nil
	case "fail":
		return []step{{kind: stepFail, failure: failure(rest)}}, nil
	case "hang":
		return []step{{kind: stepHang}}, nil
	case "recall":
		return []step{{kind: stepRecall}}, nil
	case "progress":
		return tellProgress(rest)
	case "input":
		return askValue(rest)
	case "plan", "repair":
		return []step{say("A plan is made in plan mode: send this there.")}, nil
	case "nosteer":
		return nil, nil // see refusesSteers
	case "help":
		return []step{say(help(false))}, nil
	default:
		return nil, errors.New("there is no such directive; /help says what there is")
	}
}

// newlines replaces \n with line breaks, because a directive is one line.
func newlines(s string) string { return strings.ReplaceAll(s, `\n`, "\n") }

func stream(rest string) ([]step, error) {
	f := strings.Fields(rest)
	st := step{kind: stepStream, rate: rateUsual}
	var err error
	if len(f) == 0 || len(f) > 2 {
		err = errors.New("wrong number of numbers")
	} else {
		st.n, err = strconv.Atoi(f[0])
		if err == nil && len(f) == 2 {
			st.rate, err = strconv.Atoi(f[1])
		}
	}
	if err != nil || st.n < 1 || st.n > maxWords || st.rate < 1 || st.rate > maxRate {
		return nil, fmt.Errorf("it wants a number of words up to %d, and perhaps how many a second, up to %d", maxWords, maxRate)
	}
	return []step{st}, nil
}

// calls parses names of tools, each with its input. Names are those of the registry, such as
// window:create, or those of models, such as window_create.
func calls(rest string) ([]step, error) {
	st := step{kind: stepCall, after: tellResults}
	for rest != "" {
		name, after, _ := strings.Cut(rest, " ")
		c := providers.ToolCall{Name: strings.Replace(name, ":", "_", 1), Input: json.RawMessage("{}")}
		rest = strings.TrimSpace(after)
		if strings.HasPrefix(rest, "{") {
			d := json.NewDecoder(strings.NewReader(rest))
			var raw json.RawMessage
			if err := d.Decode(&raw); err != nil {
				if errors.Is(err, io.ErrUnexpectedEOF) {
					err = errors.New("it ends too early")
				}
				return nil, fmt.Errorf("the input of %s is not JSON: %w", name, err)
			}
			var small bytes.Buffer
			if err := json.Compact(&small, raw); err != nil {
				return nil, fmt.Errorf("the input of %s is not JSON: %w", name, err)
			}
			c.Input = small.Bytes()
			rest = strings.TrimSpace(rest[d.InputOffset():])
		}
		st.calls = append(st.calls, c)
	}
	if len(st.calls) == 0 {
		return nil, errors.New("it wants a tool and its input, such as window:list {}")
	}
	return []step{st}, nil
}

// nextDirective matches where a task's next line begins.
var nextDirective = regexp.MustCompile(`;\s*/`)

func task(rest string) (providers.ToolCall, error) {
	profile, objective, _ := strings.Cut(rest, " ")
	objective = nextDirective.ReplaceAllString(strings.TrimSpace(objective), "\n/")
	if objective == "" {
		return providers.ToolCall{}, errors.New("it wants a profile and what to do")
	}
	return providers.ToolCall{Name: "task_run", Input: input(map[string]string{"profile": profile, "objective": objective})}, nil
}

func ask(rest string) ([]step, error) {
	parts := strings.Split(rest, "|")
	for n := range parts {
		parts[n] = strings.TrimSpace(parts[n])
	}
	question := parts[0]
	options := slices.DeleteFunc(parts[1:], func(s string) bool { return s == "" })
	if question == "" || len(options) == 1 {
		return nil, errors.New("it wants a question and no options or several")
	}
	c := providers.ToolCall{Name: "user_request", Input: input(map[string]string{"title": "A question", "message": question})}
	if len(options) > 0 {
		type option struct {
			Value string `json:"value"`
			Label string `json:"label"`
		}
		choices := make([]option, len(options))
		for n, o := range options {
			choices[n] = option{o, o}
		}
		c = providers.ToolCall{Name: "user_ask", Input: input(map[string]any{"title": "A question", "message": question, "options": choices})}
	}
	return []step{{kind: stepCall, calls: []providers.ToolCall{c}, after: tellResults}}, nil
}

func window(rest string) ([]step, error) {
	head, content, _ := strings.Cut(rest, "|")
	id, title, _ := strings.Cut(strings.TrimSpace(head), " ")
	if id == "" {
		return nil, errors.New("it wants an id, a title and markdown, such as: w1 Hello | # Hi")
	}
	if title = strings.TrimSpace(title); title == "" {
		title = id
	}
	c := markdownWindow(id, title, newlines(strings.TrimSpace(content)))
	return []step{{kind: stepCall, calls: []providers.ToolCall{c}, after: tellErrors}}, nil
}

func toast(text string) step {
	c := providers.ToolCall{Name: "window_show_toast", Input: input(map[string]string{"message": text, "variant": "info"})}
	return step{kind: stepCall, calls: []providers.ToolCall{c}, after: tellErrors}
}

// failure parses "[CLASS [WAIT]:] TEXT"; the default class is Invalid.
func failure(rest string) *providers.Failure {
	f := &providers.Failure{Class: providers.Invalid}
	if head, text, ok := strings.Cut(rest, ":"); ok {
		class, wait, timed := strings.Cut(strings.TrimSpace(head), " ")
		d, err := time.ParseDuration(wait)
		if isClass(providers.Class(class)) && (!timed || err == nil) {
			f.Class, f.RetryAfter, rest = providers.Class(class), d, strings.TrimSpace(text)
		}
	}
	if rest == "" {
		rest = "the demo was told to fail"
	}
	f.Err = errors.New(rest)
	return f
}

func isClass(c providers.Class) bool {
	switch c {
	case providers.Auth, providers.Rate, providers.Overloaded, providers.Transport,
		providers.ContextLength, providers.Refused, providers.Invalid:
		return true
	}
	return false
}

// tellResults describes the results of calls.
func tellResults(outcomes []outcome) string {
	lines := make([]string, 0, len(outcomes))
	for _, o := range outcomes {
		text := o.result.Text
		switch {
		case o.result.IsError:
			text = o.call.Name + " did not work: " + text
		case text == "":
			text = o.call.Name + " is done."
		}
		lines = append(lines, text)
	}
	return strings.Join(lines, "\n")
}

// tellErrors describes the failed calls; without any it returns "".
func tellErrors(outcomes []outcome) string {
	return tellResults(slices.DeleteFunc(slices.Clone(outcomes), func(o outcome) bool { return !o.result.IsError }))
}

// tellTasks describes the result of each task.
func tellTasks(outcomes []outcome) string {
	lines := make([]string, 0, len(outcomes))
	for _, o := range outcomes {
		var in struct {
			Profile string `json:"profile"`
		}
		_ = json.Unmarshal(o.call.Input, &in) // without a profile it stays empty
		lines = append(lines, fmt.Sprintf("Task (%s): %s", in.Profile, tellResults([]outcome{o})))
	}
	return strings.Join(lines, "\n")
}

func lacking(tool string) string { return "I do not have the tool " + tool + " here." }
