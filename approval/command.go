package approval

import (
	"path"
	"slices"
	"strings"
)

// Verdict is the result of applying the rules to a tool call.
type Verdict string

// The verdicts.
const (
	Approve Verdict = "approve"
	Deny    Verdict = "deny"
	// AskUser leaves the decision to the user. AfterTimeout asks as well, and the suggested
	// answer is used when the user does not answer in time.
	AskUser      Verdict = "ask"
	AfterTimeout Verdict = "timeout"
)

// commandBytes is the maximum length of a command line in bytes that the rules judge.
const commandBytes = 4 << 10

// JudgeCommand decides whether a shell command line may run, by prefixes of allowed and of
// denied commands. It judges every command in the line: those separated by && || ; | & and
// newlines, and those after words that run another command, like sudo. A prefix consists of
// whole words, so that git does not allow gitk; * matches every command. The longer
// matching prefix wins; of two equally long ones the denial wins. One denied command denies
// the whole line.
//
// A line that contains more than a list of commands (substitutions, groups, functions,
// redirections to files) is never approved, because the parser does not interpret it. In
// such a line a denied prefix denies wherever it occurs, because the starts of commands are
// unknown. Lines over [commandBytes] are not parsed and go to the user.
func JudgeCommand(line string, allowed, denied []string) Verdict {
	if len(line) > commandBytes {
		return AskUser
	}
	r := commandRules{prefixesOf(allowed), prefixesOf(denied)}
	commands, understood := parseShell(line)
	verdict := Approve
	for _, words := range commands {
		v, plain := r.judge(words)
		switch v {
		case Deny:
			return Deny
		case AskUser:
			verdict = AskUser
		}
		understood = understood && plain
	}
	switch {
	case understood:
		return verdict
	case r.deniesAnywhere(line):
		return Deny
	}
	return AskUser
}

// commandRules holds the allowed and the denied prefixes.
type commandRules struct{ allow, deny []prefix }

// prefix is the first words of a command; size is their length joined by single spaces.
type prefix struct {
	words []string
	size  int
}

func prefixesOf(texts []string) []prefix {
	var out []prefix
	for _, text := range texts {
		if words := strings.Fields(text); len(words) > 0 {
			out = append(out, prefix{words, len(strings.Join(words, " "))})
		}
	}
	return out
}

// matches reports whether the command begins with p, and whether it could begin with p
// depending on the values of opaque words. first replaces the text of words[0].
func (p prefix) matches(first string, words []shellWord) (does, may bool) {
	if p.words[0] == "*" && len(p.words) == 1 {
		return true, true
	}
	for i, want := range p.words {
		switch {
		case i == len(words):
			return false, false
		case words[i].opaque:
			return false, true // an opaque word can expand to any number of words
		case i == 0 && !strings.EqualFold(first, want), i > 0 && !strings.EqualFold(words[i].text, want):
			return false, false
		}
	}
	return true, true
}

// longestMatch returns the size of the longest prefix that the command begins with, and of
// the longest that it could begin with. first replaces the text of words[0].
func longestMatch(prefixes []prefix, first string, words []shellWord) (does, may int) {
	for _, p := range prefixes {
		d, m := p.matches(first, words)
		if d {
			does = max(does, p.size)
		}
		if m {
			may = max(may, p.size)
		}
	}
	return does, may
}

// deniedLength returns the sizes of the longest denied prefix that words match and that
// they could match, comparing the command name both as written and without its directory.
func (r commandRules) deniedLength(words []shellWord) (does, may int) {
	does, may = longestMatch(r.deny, words[0].text, words)
	d, m := longestMatch(r.deny, words[0].name(), words)
	return max(does, d), max(may, m)
}

// judge returns the verdict on one command, and whether the command is simple: without
// shell keywords, interpreters or arithmetic that could run further commands.
func (r commandRules) judge(words []shellWord) (v Verdict, plain bool) {
	allowed, _ := longestMatch(r.allow, words[0].text, words)
	denied, mayBeDenied := r.deniedLength(words)
	for len(words) > 1 && words[0].assigns() {
		words = words[1:]
	}
	plain = !words[0].evaluatesArithmetic(words[1:])
	for i, w := range words {
		d, m := r.deniedLength(words[i:])
		denied, mayBeDenied = max(denied, d), max(mayBeDenied, m)
		plain = plain && !shellKeywords[w.name()] && (len(r.deny) == 0 || !interpreters[w.name()])
		if !wrapperCommands[words[0].name()] && !interpreters[words[0].name()] {
			break // the remaining words are arguments
		}
	}
	switch {
	case denied > 0 && denied >= allowed:
		return Deny, plain
	case allowed == 0 || mayBeDenied >= allowed && mayBeDenied > 0:
		return AskUser, plain
	}
	return Approve, plain
}

// name returns the command name in lower case without its directory.
func (w shellWord) name() string { return strings.ToLower(path.Base(w.text)) }

// evaluatesArithmetic reports whether a builtin could take one of its arguments as an array
// index: shells evaluate an index as arithmetic, which runs command substitutions in it.
func (w shellWord) evaluatesArithmetic(words []shellWord) bool {
	return arithmeticBuiltins[w.name()] && slices.ContainsFunc(words, func(w shellWord) bool {
		return w.opaque || strings.Contains(w.text, "[") && strings.ContainsAny(w.text, "$`")
	})
}

// deniesAnywhere reports whether a denied prefix occurs anywhere in a line that the parser
// did not understand.
func (r commandRules) deniesAnywhere(line string) bool {
	line = unquote.Replace(line)
	for part := range strings.FieldsFuncSeq(line, func(c rune) bool { return strings.ContainsRune("\r\n;|&()<>{}`$,", c) }) {
		var words []shellWord
		for text := range strings.FieldsSeq(part) {
			words = append(words, shellWord{text: text})
		}
		for i := range words {
			allowed, _ := longestMatch(r.allow, words[i].text, words[i:])
			denied, _ := r.deniedLength(words[i:])
			// Behind the first word of a part, the prefix * does not count: those words are
			// probably arguments.
			if denied > 0 && denied >= allowed && (i == 0 || denied > len("*")) {
				return true
			}
		}
	}
	return false
}

// unquote removes quotes, backslashes and line continuations, which spell the same word in
// other ways.
var unquote = strings.NewReplacer("\\\r\n", "", "\\\n", "", "\\", "", `"`, "", "'", "")

var (
	// shellKeywords are words that make a line more than a list of simple commands.
	shellKeywords = wordSet("if then else elif fi do done while until for foreach repeat select case esac in function coproc time " +
		"[[ ]] begin end switch always nocorrect noglob - and or not eval alias unalias trap hash enable bind complete fc autoload zmodload abbr")
	// wrapperCommands run the command that their arguments name.
	wrapperCommands = wordSet("sudo doas env command exec nohup nice ionice xargs builtin stdbuf timeout setsid chroot find " +
		"unshare strace ltrace flock taskset setpriv chrt firejail toybox pkexec runuser nsenter bwrap fakeroot systemd-run numactl prlimit")
	// interpreters run commands, too, but parse their arguments or further input
	// themselves.
	interpreters = wordSet("sh bash zsh dash ksh ash fish csh tcsh mksh su ssh script watch parallel busybox source . at batch entr")
	// arithmeticBuiltins are shell builtins that evaluate arguments as arithmetic.
	arithmeticBuiltins = wordSet("let declare typeset local export readonly read unset test [ printf wait mapfile readarray integer float print getopts")
)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}
