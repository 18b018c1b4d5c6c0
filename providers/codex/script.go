package codex

import (
	"strings"

	"github.com/everdesk/everdesk/providers/agent"
)

// script returns the command that a call of a shell executes: Codex runs every command by one, as in
// /bin/bash -lc 'git status', and the wrapper matters neither to users nor to rules. A command line that is
// anything else, or that is not understood with certainty, is returned unchanged. dir is the working directory.
func script(line, dir string) string {
	words, ok := splitWords(line)
	if !ok {
		return line
	}
	if text, ok := agent.ShellScript(words, dir); ok {
		return text
	}
	return line
}

// splitWords splits a command line as a shell does. It returns false if a shell would do more than
// that: substitute, expand, redirect or run several commands.
func splitWords(line string) (words []string, ok bool) {
	var word strings.Builder
	begun := false
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == ' ':
			if begun {
				words = append(words, word.String())
				word.Reset()
			}
			begun = false
			continue
		case c == '\'':
			end := strings.IndexByte(line[i+1:], '\'')
			if end < 0 {
				return nil, false
			}
			word.WriteString(line[i+1 : i+1+end])
			i += end + 1
		case c == '"':
			n, ok := doubleQuoted(line[i+1:], &word)
			if !ok {
				return nil, false
			}
			i += n
		case c == '\\' && i+1 < len(line) && line[i+1] != '\n':
			i++
			word.WriteByte(line[i])
		case strings.IndexByte("\t\n\r\\$`&|;<>()*?[]{}~#!=", c) >= 0:
			return nil, false
		default:
			word.WriteByte(c)
		}
		begun = true
	}
	if begun {
		words = append(words, word.String())
	}
	return words, true
}

// doubleQuoted adds a text in double quotes to a word, and returns its length with the final quote.
func doubleQuoted(text string, word *strings.Builder) (n int, ok bool) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			return i + 1, true
		case '$', '`', '!':
			return 0, false
		case '\\':
			if i+1 < len(text) && strings.IndexByte("$`\"\\", text[i+1]) >= 0 {
				i++
			}
			word.WriteByte(text[i])
		default:
			word.WriteByte(c)
		}
	}
	return 0, false
}
