package approval

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// shell reads a command line as far as it is written in a small language that all
// shells read alike: words, quotes, values of variables, what is set for a command,
// commands between && || ; | & and newlines, and redirections to /dev/null and
// between numbers. It does not try to follow what else there is in shells: one thing
// that is read otherwise than they do would hide all that follows.
type shell struct {
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
	// opaque says that only the shell knows what it will be, or how many words;
	// quoted that some of it was in quotes.
	opaque, quoted bool
}

// assigns reports whether the word sets a variable.
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

// readShell returns the commands of a line, and whether it could be read to its end.
func readShell(line string) ([][]shellWord, bool) {
	s := &shell{text: line}
	if !utf8.ValidString(line) || strings.ContainsFunc(line, isStrange) {
		return nil, false
	}
	for s.at < len(s.text) {
		if !s.next() {
			return nil, false
		}
	}
	s.endCommand()
	return s.commands, true
}

// isStrange reports whether shells may disagree about what a character is, or people
// do not see it.
func isStrange(r rune) bool {
	return r != ' ' && r != '\t' && r != '\n' && (unicode.IsSpace(r) || !unicode.IsGraphic(r))
}

// next reads what comes next, if it is known what it is.
func (s *shell) next() bool {
	b := s.text[s.at]
	s.at++
	switch b {
	case ' ', '\t':
		s.endWord()
	case '\n', ';', '|', '&':
		s.endCommand()
	case '<', '>':
		return s.redirect(b)
	case '\'':
		return s.single()
	case '"':
		return s.double()
	case '\\':
		if s.at == len(s.text) || strings.IndexByte("\n;|&'\"", s.text[s.at]) >= 0 {
			return false // not every shell has it so
		}
		s.word.quoted = true
		s.add(s.text[s.at])
		s.at++
	case '$':
		return s.dollar(" \t\n;|&")
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

func (s *shell) add(b byte) {
	s.begun = true
	s.letters = append(s.letters, b)
}

func (s *shell) endWord() {
	if s.begun {
		s.word.text = string(s.letters)
		s.words = append(s.words, s.word)
	}
	s.word, s.letters, s.begun = shellWord{}, s.letters[:0], false
}

func (s *shell) endCommand() {
	s.endWord()
	if len(s.words) > 0 {
		s.commands = append(s.commands, s.words)
	}
	s.words = nil
}

// single reads what is in single quotes, after the first.
func (s *shell) single() bool {
	inside, _, closed := strings.Cut(s.text[s.at:], "'")
	s.begun, s.word.quoted = true, true
	s.letters = append(s.letters, inside...)
	s.at += len(inside) + 1
	return closed
}

// double reads what is in double quotes, after the first.
func (s *shell) double() bool {
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
			if !s.dollar(" \"") {
				return false
			}
		case '!':
			// Where people type it may stand for a line before.
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

// dollar reads the value of a variable, after the dollar, or a dollar that is only
// that since one of the ends follows.
func (s *shell) dollar(ends string) bool {
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

// redirect reads a redirection to nowhere or to a number, after its first character.
func (s *shell) redirect(first byte) bool {
	if s.begun && !s.word.quoted && !s.word.opaque && strings.Trim(string(s.letters), "0123456789") == "" {
		if len(s.letters) > 1 {
			return false // a number in some shells only
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
