package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/everdesk/everdesk/wire"
)

// A line that begins with a colon is a command of this program; everything else is for the
// agent, including lines that begin with a slash.

// typed is a parsed line: a command and its argument. Text for the agent has the name say.
type typed struct{ name, rest string }

// parseTyped parses a line.
func parseTyped(text string) (typed, error) {
	text = strings.TrimSpace(plain(text))
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

// maxLine bounds a line of input, and a message of several lines, in bytes. The hub accepts
// less.
const maxLine = 1 << 20

// readLines reads lines until ctx ends; a line that is too long is the last. A backslash at
// the end continues a line; two stand for one.
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

// unfinished removes the continuation backslash of a line and reports whether the line
// continues.
func unfinished(line string) (text string, more bool) {
	text, ok := strings.CutSuffix(line, `\`)
	if !ok {
		return line, false
	}
	return text, !strings.HasSuffix(text, `\`)
}

// shortID returns the end of an id, which distinguishes it from the few others on display.
func shortID[T ~string](id T) string {
	text := []rune(oneLine(string(id)))
	if len(text) > 8 {
		text = text[len(text)-4:]
	}
	return string(text)
}

// find returns the item with an id or the end of one, with or without a #. An empty id
// means the only item.
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
	text := oneLine(string(role))
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
	return shorten(text, 32) + at
}

// firstMonitor is the monitor of everything that names none.
const firstMonitor wire.MonitorID = "monitor-0"
