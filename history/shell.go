package history

import "strings"

// shell reads a command line as a shell would, as far as is needed to know which
// commands it runs. What it cannot follow for certain makes it broken: here
// documents, quotes within quotes, ends without a beginning.
type shell struct {
	text   string
	at     int
	depth  int
	found  []*shellCommand
	broken bool
	// live is the line without what is in single quotes, bare without what is in
	// any: in those the shell finds less to do.
	live, bare strings.Builder
}

// shellCommand is one command with its words.
type shellCommand struct {
	words []shellWord
	// silent says that most shells do not run it.
	silent bool
	// aimed says that the next word is the target of a redirection.
	aimed bool
}

// shellWord is a word without its quotes.
type shellWord struct {
	text string
	// opaque says that only the shell knows what it will be, quoted that some of
	// it was in quotes.
	opaque, quoted bool
}

// assigns reports whether the word sets a variable.
func (w shellWord) assigns() bool {
	name, _, ok := strings.Cut(w.text, "=")
	if !ok || name == "" || name[0] >= '0' && name[0] <= '9' {
		return false
	}
	return strings.Trim(strings.TrimSuffix(strings.ToLower(name), "+"), "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// shellDepth is how deep commands may be in commands.
const shellDepth = 40

func readShell(line string) *shell {
	s := &shell{text: line, broken: strings.ContainsRune(line, 0)}
	s.list(0)
	return s
}

// word is a word in the making.
type word struct {
	strings.Builder
	shellWord
	begun bool
	// braces counts the ${ that are open.
	braces int
}

func (w *word) add(c byte) {
	w.begun = true
	w.WriteByte(c)
}

func (w *word) hide() { w.begun, w.opaque = true, true }

func (s *shell) peek(offset int) byte {
	if s.at+offset < len(s.text) {
		return s.text[s.at+offset]
	}
	return 0
}

// list reads commands until an end, which is a closing parenthesis or nothing, and
// counts those that are in no other.
func (s *shell) list(end byte) (count int) {
	if s.depth++; s.depth > shellDepth {
		s.broken, s.at = true, len(s.text)
		return 0
	}
	defer func() { s.depth-- }()
	c, w := &shellCommand{}, &word{}
	next := func() {
		s.endWord(c, w)
		if len(c.words) > 0 {
			s.found = append(s.found, c)
			count++
		}
		c = &shellCommand{}
	}
	defer func() { next() }()
	for s.at < len(s.text) {
		b := s.text[s.at]
		switch b {
		case ')':
			s.at++
			if end == ')' {
				return count // and what next adds
			}
			s.broken = true
			next()
		case '\n', '\r', ';', '|', '&':
			s.keep(b)
			next()
		case ' ', '\t':
			s.keep(b)
			s.endWord(c, w)
		case '#':
			if w.begun {
				s.keep(b)
				w.add(b)
			} else {
				s.comment()
			}
		case '(':
			if s.group(w) {
				next() // what a function does follows
			}
		case '<', '>':
			s.redirect(c, w)
		default:
			s.inWord(w)
		}
	}
	s.broken = s.broken || end != 0
	return count // and what next adds
}

// keep takes a character that is in no quotes.
func (s *shell) keep(b byte) {
	s.live.WriteByte(b)
	s.bare.WriteByte(b)
	s.at++
}

// endWord ends the word at hand.
func (s *shell) endWord(c *shellCommand, w *word) {
	if w.begun {
		w.text = w.String()
		if c.aimed {
			c.aimed = false
		} else {
			s.nested(c, w)
			c.words = append(c.words, w.shellWord)
		}
		s.broken = s.broken || w.braces > 0
	}
	*w = word{}
}

// nested reads a word that was in quotes and is a command line itself, for a shell
// or another command that runs it.
func (s *shell) nested(c *shellCommand, w *word) {
	if !w.quoted || len(c.words) == 0 || s.depth > shellDepth/2 {
		return
	}
	for _, before := range c.words {
		if shellRunners[strings.ToLower(before.text[strings.LastIndexByte(before.text, '/')+1:])] {
			inner := &shell{text: w.text, depth: s.depth + shellDepth/4}
			inner.list(0)
			s.take(inner)
			return
		}
	}
}

// take takes what was found in a part of the line.
func (s *shell) take(inner *shell) {
	s.found = append(s.found, inner.found...)
	s.broken = s.broken || inner.broken
	s.live.WriteString("\n" + inner.live.String() + "\n")
	s.bare.WriteString("\n" + inner.bare.String() + "\n")
}

// comment reads to the end of the line. Some shells have no comments when people
// type, so what is denied is denied there too.
func (s *shell) comment() {
	rest, _, _ := strings.Cut(s.text[s.at:], "\n")
	s.at += len(rest)
	inner := readShell(strings.TrimLeft(rest, "#"))
	for _, c := range inner.found {
		c.silent = true
		s.found = append(s.found, c)
	}
}

// group reads what is in parentheses: commands, or the values of a variable. It
// reports whether there was nothing, behind the name of a function.
func (s *shell) group(w *word) (function bool) {
	s.keep('(')
	if !w.begun {
		s.list(')')
		return false
	}
	values := len(w.String()) > 1 && strings.HasSuffix(w.String(), "=") && !w.quoted
	count := s.list(')')
	if values && count == 1 {
		// They are words, not a command; what they run was found before them.
		s.found = s.found[:len(s.found)-1]
	}
	w.hide()
	return count == 0 && !values
}

// redirect reads the beginning of a redirection. Its target is no word of the
// command, but commands in it are run.
func (s *shell) redirect(c *shellCommand, w *word) {
	if strings.Trim(w.String(), "0123456789") == "" && !w.quoted && !w.opaque {
		*w = word{} // a number of a file
	}
	s.endWord(c, w)
	b := s.text[s.at]
	s.keep(b)
	switch n := s.peek(0); {
	case n == '(':
		s.keep(n)
		s.list(')')
		w.hide()
		return
	case b == '<' && n == '<':
		s.keep(n)
		if s.peek(0) != '<' {
			s.broken = true // a here document
			return
		}
		s.keep('<')
	case n == b, n == '&', n == '|', n == '>':
		s.keep(n)
	}
	c.aimed = true
}

// inWord reads a character of a word, or a piece of it in quotes.
func (s *shell) inWord(w *word) {
	b := s.text[s.at]
	switch b {
	case '\\':
		s.at++
		if n := s.peek(0); s.at < len(s.text) {
			s.at++
			if n != '\n' {
				w.quoted = true
				w.add(n)
				s.live.Write([]byte{'\\', n})
				s.bare.WriteByte('_')
			}
		} else {
			s.broken = true
		}
	case '\'':
		s.single(w)
	case '"':
		s.at++
		s.double(w)
	case '`':
		s.backticks(w)
	case '$':
		s.dollar(w, false)
	case '}':
		w.braces = max(w.braces-1, 0)
		s.keep(b)
		w.add(b)
	case '*', '?', '[', '{', '~':
		s.keep(b)
		w.opaque = w.opaque || b != '{' || w.begun || s.isWordByte(0)
		w.add(b)
	case '=':
		s.keep(b)
		w.opaque = w.opaque || !w.begun
		w.add(b)
	default:
		s.keep(b)
		w.add(b)
	}
}

// isWordByte reports whether the word goes on.
func (s *shell) isWordByte(offset int) bool {
	return !strings.ContainsRune("\x00 \t\n\r;|&()<>", rune(s.peek(offset)))
}

// single reads what is in single quotes.
func (s *shell) single(w *word) {
	s.at++
	inside, _, ok := strings.Cut(s.text[s.at:], "'")
	w.begun, w.quoted = true, true
	w.WriteString(inside)
	s.live.WriteByte('_')
	s.bare.WriteByte('_')
	s.at += len(inside)
	if !ok {
		s.broken = true
		return
	}
	s.at++
}

// double reads what is in double quotes, after the first.
func (s *shell) double(w *word) {
	w.begun, w.quoted = true, true
	s.bare.WriteByte('_')
	outside := w.braces
	for s.at < len(s.text) {
		b := s.text[s.at]
		switch b {
		case '"':
			s.at++
			s.broken = s.broken || w.braces > outside // whose quote it is depends on the shell
			return
		case '\\':
			s.at++
			n := s.peek(0)
			if n == 0 || strings.IndexByte("$`\"\\\n", n) < 0 {
				w.add(b)
				continue
			}
			if n != '\n' {
				w.add(n)
			}
			s.live.Write([]byte{'_', '_'})
			s.at++
		case '`':
			s.backticks(w)
		case '$':
			s.dollar(w, true)
		default:
			if b == '}' {
				w.braces = max(w.braces-1, outside)
			}
			s.live.WriteByte(b)
			s.at++
			w.add(b)
		}
	}
	s.broken = true
}

// dollar reads what begins with a dollar.
func (s *shell) dollar(w *word, quoted bool) {
	s.live.WriteByte('$')
	s.at++
	switch n := s.peek(0); {
	case n == '(':
		s.live.WriteByte('(')
		s.at++
		s.list(')')
		s.live.WriteByte(')')
		w.hide()
	case n == '{':
		s.live.WriteByte('{')
		s.at++
		w.braces++
		w.hide()
	case n == '\'' && !quoted:
		s.escaped(w)
	case n == '"' && !quoted:
		s.at++
		s.double(w)
		w.hide()
	case n == 0 || !s.isWordByte(0) || n == '"':
		w.add('$')
	default:
		w.hide()
	}
}

// escaped reads what is in $'…', where every character can be written otherwise.
func (s *shell) escaped(w *word) {
	w.hide()
	w.quoted = true
	for s.at++; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case '\\':
			s.at++
		case '\'':
			s.at++
			return
		}
	}
	s.at, s.broken = len(s.text), true
}

// backticks reads a substitution in the old style.
func (s *shell) backticks(w *word) {
	s.at++
	s.live.WriteByte('`')
	var inside strings.Builder
	for s.at < len(s.text) && s.text[s.at] != '`' {
		if n := s.peek(1); s.text[s.at] == '\\' && n != 0 && strings.IndexByte("$`\\\"", n) >= 0 {
			s.at++
		}
		inside.WriteByte(s.text[s.at])
		s.at++
	}
	if s.at >= len(s.text) {
		s.broken = true
	}
	s.at = min(s.at+1, len(s.text))
	inner := &shell{text: inside.String(), depth: s.depth}
	inner.list(0)
	s.take(inner)
	w.hide()
}
