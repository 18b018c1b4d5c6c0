package attach

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/everdesk/everdesk/cmd/hub/internal/terminal"
	"github.com/everdesk/everdesk/wire"
)

// A line that begins with a colon is a command of this program; everything else is for the
// agent, including lines that begin with a slash.

// typed is a parsed line: the name of a command, and its arguments. Text for the agent has the
// name say; an empty line has none.
type typed struct{ name, rest string }

// parseTyped parses a line. Two colons at its beginning stand for one, and the line is text.
func parseTyped(text string) (typed, error) {
	text = strings.TrimSpace(terminal.Plain(text))
	command, ok := strings.CutPrefix(text, ":")
	switch {
	case text == "":
		return typed{}, nil
	case !ok:
		return typed{"say", text}, nil
	case strings.HasPrefix(command, ":"):
		return typed{"say", command}, nil
	}
	name, rest := firstWord(command)
	for _, v := range verbs() {
		switch {
		case v.name != name:
		case v.args == "" && rest != "":
			return typed{}, fmt.Errorf(":%s takes nothing more", name)
		default:
			return typed{name, rest}, nil
		}
	}
	return typed{}, fmt.Errorf("no such command: :%s; see :help", name)
}

// firstWord splits the first word off a text. A word in double quotes may contain spaces.
func firstWord(text string) (word, rest string) {
	text = strings.TrimSpace(text)
	if quoted, ok := strings.CutPrefix(text, `"`); ok {
		if word, rest, ok = strings.Cut(quoted, `"`); ok {
			return word, strings.TrimSpace(rest)
		}
	}
	if i := strings.IndexAny(text, " \t\n"); i >= 0 {
		return text[:i], strings.TrimSpace(text[i:])
	}
	return text, ""
}

// maxLine bounds a line of input, and a message of several lines, in bytes. It is the maximum of
// --frame-limit.
const maxLine = 1 << 20

// readLines sends the lines of r. A backslash at the end of a line joins the next one to it; two
// stand for one. The channel is closed at the end of the input, at a line of more than maxLine
// bytes, which is dropped, or when ctx ends while a line waits.
func readLines(ctx context.Context, r io.Reader) <-chan string {
	lines := make(chan string)
	go func() { // see follow
		defer close(lines)
		s := bufio.NewScanner(r)
		s.Buffer(nil, maxLine)
		var begun strings.Builder
		for s.Scan() {
			text, more := unfinished(s.Text())
			begun.WriteString(text)
			if more && begun.Len() < maxLine {
				begun.WriteByte('\n')
				continue
			}
			if !handOver(ctx, lines, begun.String()) {
				return
			}
			begun.Reset()
		}
		if begun.Len() > 0 {
			handOver(ctx, lines, begun.String())
		}
	}()
	return lines
}

func handOver(ctx context.Context, lines chan<- string, text string) bool {
	select {
	case lines <- text:
		return true
	case <-ctx.Done():
		return false
	}
}

// unfinished removes one backslash at the end of a line. more reports whether it was the only
// one: the line continues.
func unfinished(line string) (text string, more bool) {
	text, ok := strings.CutSuffix(line, `\`)
	if !ok {
		return line, false
	}
	return text, !strings.HasSuffix(text, `\`)
}

// shortID returns the last 4 characters of an id of more than 8, which distinguish it from the
// few others on display.
func shortID[T ~string](id T) string {
	text := []rune(terminal.OneLine(string(id)))
	if len(text) > 8 {
		text = text[len(text)-4:]
	}
	return string(text)
}

// find returns the item whose id is given, or the only one whose id ends with given, which may
// begin with #. An empty given means the only item.
func find[T any](items []T, id func(T) string, given, what string) (found T, err error) {
	given = strings.TrimPrefix(given, "#")
	var names []string
	var fits []T
	for _, item := range items {
		switch {
		case given != "" && id(item) == given:
			return item, nil
		case strings.HasSuffix(id(item), given):
			fits = append(fits, item)
		}
		names = append(names, "#"+shortID(id(item)))
	}
	switch {
	case len(items) == 0:
		return found, fmt.Errorf("there is no %s", what)
	case len(fits) != 1:
		return found, fmt.Errorf("which %s? There are %s", what, strings.Join(names, ", "))
	}
	return fits[0], nil
}

// agentLabel returns a short name of an agent: main, main@monitor-1, ephemeral-5XQ2,
// task-5XQ2-1, window-notes.
func agentLabel(role wire.AgentID, monitor wire.MonitorID) string {
	text := terminal.OneLine(string(role))
	kind, rest, _ := strings.Cut(text, "-")
	at := ""
	if monitor != "" && monitor != firstMonitor {
		at = "@" + string(monitor)
	}
	switch wire.AgentKind(kind) {
	case wire.AgentMain:
		return kind + at
	case wire.AgentEphemeral:
		return kind + "-" + shortID(rest) + at
	case wire.AgentTask:
		if i := strings.LastIndexByte(rest, '-'); i > 0 {
			return kind + "-" + shortID(rest[:i]) + rest[i:]
		}
	}
	if text == "" {
		return "agent"
	}
	return terminal.Shorten(text, 32) + at
}

// firstMonitor is the monitor of messages and actions that name none.
const firstMonitor wire.MonitorID = "monitor-0"
