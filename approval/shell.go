package approval

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// shellParser splits a command line into commands and words. It accepts only the subset of
// syntax that all common shells interpret alike: words, quotes, variable expansions,
// assignments before a command, the separators && || ; | & and newline, and redirections to
// /dev/null and between file descriptors. Everything else makes it fail: a construct
// interpreted differently from the real shell could hide the commands after it.
type shellParser struct {
	text     string
	at       int
	commands [][]shellWord
	words    []shellWord
	word     shellWord
	letters  []byte
	begun    bool
}

// shellWord is a word without its quotes.
type shellWord struct {
	text string
	// opaque is set if only the shell knows the text of the word or the number of words it
	// expands to; quoted is set if a part of it was quoted.
	opaque, quoted bool
}

// assigns reports whether the word is a variable assignment.
func (w shellWord) assigns() bool {
	name, _, ok := strings.Cut(w.text, "=")
	return ok && isVariable(strings.TrimSuffix(name, "+"))
}

func isVariable(name string) bool {
	return name != "" && (name[0] < '0' || name[0] > '9') && strings.IndexFunc(name, func(r rune) bool { return !isNameByte(r) }) < 0
}

func isNameByte(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// parseShell returns the commands of a line, and whether the whole line could be parsed.
func parseShell(line string) ([][]shellWord, bool) {
	s := &shellParser{text: line}
	if !utf8.ValidString(line) || strings.ContainsFunc(line, isAmbiguousRune) {
		return nil, false
	}
	for s.at < len(s.text) {
		if !s.parseNext() {
			return nil, false
		}
	}
	s.endCommand()
	return s.commands, true
}

// isAmbiguousRune reports whether shells may disagree about a character (unusual white
// space) or a user cannot see it.
func isAmbiguousRune(r rune) bool {
	return r != ' ' && r != '\t' && r != '\n' && (unicode.IsSpace(r) || !unicode.IsGraphic(r))
}

// parseNext parses the next character or construct and reports whether it is understood.
func (s *shellParser) parseNext() bool {
	b := s.text[s.at]
	s.at++
	switch b {
	case ' ', '\t':
		s.endWord()
	case '\n', ';', '|', '&':
		s.endCommand()
	case '<', '>':
		return s.parseRedirect(b)
	case '\'':
		return s.parseSingleQuoted()
	case '"':
		return s.parseDoubleQuoted()
	case '\\':
		if s.at == len(s.text) || strings.IndexByte("\n;|&'\"", s.text[s.at]) >= 0 {
			return false // shells differ in what the backslash does here
		}
		s.word.quoted = true
		s.add(s.text[s.at])
		s.at++
	case '$':
		return s.parseDollar(" \t\n;|&")
	case '#', '=':
		if !s.begun && b == '#' {
			return false // a comment, in some shells
		}
		s.word.opaque = s.word.opaque || !s.begun
		s.add(b)
	case '(', ')', '{', '}', '`', '!':
		return false
	case '*', '?', '[', '~', '^':
		s.word.opaque = true
		s.add(b)
	default:
		s.add(b)
	}
	return true
}

func (s *shellParser) add(b byte) {
	s.begun = true
	s.letters = append(s.letters, b)
}

func (s *shellParser) endWord() {
	if s.begun {
		s.word.text = string(s.letters)
		s.words = append(s.words, s.word)
	}
	s.word, s.letters, s.begun = shellWord{}, s.letters[:0], false
}

func (s *shellParser) endCommand() {
	s.endWord()
	if len(s.words) > 0 {
		s.commands = append(s.commands, s.words)
	}
	s.words = nil
}

// parseSingleQuoted parses the rest of a single-quoted string after the opening quote.
func (s *shellParser) parseSingleQuoted() bool {
	inside, _, closed := strings.Cut(s.text[s.at:], "'")
	s.begun, s.word.quoted = true, true
	s.letters = append(s.letters, inside...)
	s.at += len(inside) + 1
	return closed
}

// parseDoubleQuoted parses the rest of a double-quoted string after the opening quote.
func (s *shellParser) parseDoubleQuoted() bool {
	s.begun, s.word.quoted = true, true
	for s.at < len(s.text) {
		b := s.text[s.at]
		s.at++
		switch b {
		case '"':
			return true
		case '`':
			return false
		case '$':
			if !s.parseDollar(" \"") {
				return false
			}
		case '!':
			// An interactive shell could expand it from the command history.
			if s.at == len(s.text) || !strings.ContainsRune(" \"=", rune(s.text[s.at])) {
				return false
			}
			s.add(b)
		case '\\':
			switch {
			case s.at == len(s.text) || s.text[s.at] == '\n':
				return false
			case strings.IndexByte("$`\"\\", s.text[s.at]) >= 0:
				b = s.text[s.at]
				s.at++
			}
			s.add(b)
		default:
			s.add(b)
		}
	}
	return false
}

// parseDollar parses a variable expansion after the dollar sign. A dollar sign before one
// of the bytes in ends is a literal one.
func (s *shellParser) parseDollar(ends string) bool {
	rest := s.text[s.at:]
	if rest == "" || strings.IndexByte(ends, rest[0]) >= 0 {
		s.add('$')
		return true
	}
	inner, braced := strings.CutPrefix(rest, "{")
	size := strings.IndexFunc(inner, func(r rune) bool { return !isNameByte(r) })
	if size < 0 {
		size = len(inner)
	}
	after := inner[size:]
	s.at = len(s.text) - len(after)
	if braced {
		s.at++
		if !strings.HasPrefix(after, "}") {
			return false
		}
		after = after[1:]
	}
	s.begun, s.word.opaque = true, true
	return size > 0 && !strings.HasPrefix(after, "[")
}

// parseRedirect parses a redirection to /dev/null or to a file descriptor, after its first
// character.
func (s *shellParser) parseRedirect(first byte) bool {
	if s.begun && !s.word.quoted && !s.word.opaque && strings.Trim(string(s.letters), "0123456789") == "" {
		if len(s.letters) > 1 {
			return false // only some shells take more than one digit as a file descriptor
		}
		s.letters, s.begun = s.letters[:0], false
	}
	s.endWord()
	rest := s.text[s.at:]
	if after, ok := strings.CutPrefix(rest, "&"); ok {
		if after == "" || after[0] < '0' || after[0] > '9' {
			return false
		}
		rest = after[1:]
	} else {
		if first == '>' {
			rest = strings.TrimPrefix(rest, ">")
		}
		if rest, ok = strings.CutPrefix(strings.TrimLeft(rest, " \t"), "/dev/null"); !ok {
			return false
		}
	}
	s.at = len(s.text) - len(rest)
	return rest == "" || strings.IndexByte(" \t\n;|&", rest[0]) >= 0
}
