package agenttest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/everdesk/everdesk/providers/providertest"
)

// Message is a message of a conversation.
type Message struct {
	Assistant bool
	Text      string
	// Calls is the number of calls of an assistant's message, and Results are the results of calls.
	Calls   int
	Results []string
}

// Conversation is what a stand-in remembers.
type Conversation struct {
	Messages []Message
}

// Load reads a conversation; the error is os.ErrNotExist if there is none.
func Load(home, id string) (*Conversation, error) {
	raw, err := os.ReadFile(filepath.Join(home, id+".json")) //nolint:gosec // a file of a test
	if err != nil {
		return nil, err
	}
	c := new(Conversation)
	return c, json.Unmarshal(raw, c)
}

// Store writes a conversation.
func (c *Conversation) Store(home, id string) error {
	raw, err := json.Marshal(c)
	if err != nil {
		return err
	}
	at := filepath.Join(home, id+".json")
	return errors.Join(os.WriteFile(at+".new", raw, 0o600), os.Rename(at+".new", at))
}

var (
	previous = regexp.MustCompile(`(?s)<previous_conversation>\n(.*?)</previous_conversation>\n`)
	element  = regexp.MustCompile(`(?s)<(user|assistant)>\n(.*?)\n</(?:user|assistant)>\n|<(tool_call) [^>]*>.*?</tool_call>\n|<(tool_result) [^>]*>(.*?)</tool_result>\n`)
)

// User adds a message of the user. A transcript in it becomes the messages that it describes.
func (c *Conversation) User(text string) {
	for _, m := range previous.FindAllStringSubmatch(text, -1) {
		for _, e := range element.FindAllStringSubmatch(m[1], -1) {
			switch {
			case e[3] != "":
				c.Messages = append(c.Messages, Message{Assistant: true, Calls: 1})
			case e[4] != "":
				c.Messages = append(c.Messages, Message{Results: []string{html.UnescapeString(e[5])}})
			default:
				c.Messages = append(c.Messages, Message{Assistant: e[1] == "assistant", Text: html.UnescapeString(e[2])})
			}
		}
	}
	text = previous.ReplaceAllString(text, "")
	if strings.TrimSpace(text) != "" {
		c.Messages = append(c.Messages, Message{Text: text})
	}
}

// Step is a part of a reply.
type Step struct {
	// Verb is say, call, ask, shell, hang or fail. A shell is a question, too; unless it is denied, the
	// stand-in says the output of the command.
	Verb string
	// Text is the text to say, or the class of the failure.
	Text string
	// Tool and Input belong to a call or a question.
	Tool  string
	Input json.RawMessage
}

// Reply returns the model's next reply: the steps up to the next calls, or to the end. Those of
// calls are the last ones.
func (c *Conversation) Reply() (steps []Step) {
	lines, made := []string(nil), 0
	for _, m := range c.Messages {
		if found := directives(m.Text); !m.Assistant && len(found) > 0 {
			lines, made = found, 0
		}
		made += m.Calls
	}
	for i, line := range lines {
		if made == 0 {
			lines = lines[i:]
			break
		}
		if strings.HasPrefix(line, "call ") {
			made--
		}
		if i == len(lines)-1 {
			return nil
		}
	}
	for i, line := range lines {
		steps = append(steps, c.step(line))
		if strings.HasPrefix(line, "call ") && (i == len(lines)-1 || !strings.HasPrefix(lines[i+1], "call ")) {
			break
		}
	}
	return steps
}

func directives(text string) (lines []string) {
	for line := range strings.Lines(text) {
		if line, ok := strings.CutPrefix(strings.TrimSpace(line), "/"); ok {
			lines = append(lines, line)
		}
	}
	return lines
}

func (c *Conversation) step(line string) Step {
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case "say":
		text, err := strconv.Unquote(rest)
		if err != nil {
			text = rest
		}
		return Step{Verb: "say", Text: text}
	case "call", "ask":
		tool, input, _ := strings.Cut(rest, " ")
		return Step{Verb: verb, Tool: tool, Input: json.RawMessage(input)}
	case "shell":
		var input bytes.Buffer
		e := json.NewEncoder(&input)
		e.SetEscapeHTML(false)
		if err := e.Encode(map[string]string{"command": rest}); err != nil {
			panic(err) // never for texts
		}
		return Step{Verb: verb, Text: rest, Tool: "Bash", Input: bytes.TrimSpace(input.Bytes())}
	case "results":
		return Step{Verb: "say", Text: c.results()}
	case "recall":
		var all []string
		for _, m := range c.Messages {
			all = append(append(all, m.Text), m.Results...)
		}
		return Step{Verb: "say", Text: strings.Join(all, "\n")}
	default:
		return Step{Verb: verb, Text: rest}
	}
}

// results returns the results of the newest calls, or the newest message if that contains them.
func (c *Conversation) results() string {
	var all []string
	newest := ""
	for _, m := range c.Messages {
		switch {
		case m.Assistant:
			all, newest = nil, ""
		case len(m.Results) > 0:
			all = append(all, m.Results...)
		default:
			newest = m.Text
		}
	}
	if len(all) == 0 || strings.Contains(newest, "<tool_result") {
		return newest
	}
	return strings.Join(all, "\n")
}

// Pieces splits a text into pieces, as models stream it.
func Pieces(text string) (out []string) {
	for word := range strings.SplitAfterSeq(text, " ") {
		if last := len(out) - 1; last >= 0 && len(out[last]) < len(text)/50 {
			out[last] += word
			continue
		}
		out = append(out, word)
	}
	return out
}

// Prompt returns the directives for these steps.
func Prompt(steps ...providertest.Step) string {
	var b strings.Builder
	for _, s := range steps {
		for _, c := range s.Calls {
			fmt.Fprintf(&b, "/call %s %s\n", c.Name, c.Input)
		}
		switch {
		case s.Say != "":
			fmt.Fprintf(&b, "/say %q\n", s.Say)
		case len(s.Calls) > 0:
			b.WriteString("/results\n")
		case s.Ask != nil:
			fmt.Fprintf(&b, "/ask %s %s\n", s.Ask.Name, s.Ask.Input)
		case s.Recall:
			b.WriteString("/recall\n")
		case s.Hang:
			b.WriteString("/hang\n")
		case s.Fail != "":
			fmt.Fprintf(&b, "/fail %s\n", s.Fail)
		}
	}
	return b.String()
}
