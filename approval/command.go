package approval

import (
	"path"
	"slices"
	"strings"
)

// Verdict is what rules say to something that an agent wants to do.
type Verdict string

// What rules say.
const (
	Approve Verdict = "approve"
	Deny    Verdict = "deny"
	// AskUser means that a person decides, and AfterWait that a person may, for a
	// while.
	AskUser   Verdict = "ask"
	AfterWait Verdict = "timeout"
)

// commandBytes is how long a command line may be that rules judge.
const commandBytes = 4 << 10

// JudgeCommand says whether a command line of a shell may run, by prefixes of the
// commands that are allowed and of those that are denied. Every command in it is
// judged: those between && || ; | & and newlines, and those behind words that run
// another command. A prefix is whole words, so that git does not allow gitk, and * is
// every command. The longer prefix wins, and of two that are alike the denial. One
// denial denies the whole line. What is not understood for certain is never approved:
// substitutions, groups, functions, files that are written, and all else that is
// more than a list of commands. In such a line what is denied is denied wherever it
// is, as nobody knows where commands begin. What is too long is for people to read.
func JudgeCommand(line string, allowed, denied []string) Verdict {
	if len(line) > commandBytes {
		return AskUser
	}
	r := commandRules{prefixesOf(allowed), prefixesOf(denied)}
	commands, understood := readShell(line)
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
	case r.deniesPart(line):
		return Deny
	}
	return AskUser
}

// commandRules are what is allowed and what is denied.
type commandRules struct{ allow, deny []prefix }

// prefix is the words that a command begins with.
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

// begins reports whether words begin with a prefix, or may if what is not known of
// them is what one fears.
func (p prefix) begins(first string, words []shellWord) (does, may bool) {
	if p.words[0] == "*" && len(p.words) == 1 {
		return true, true
	}
	for i, want := range p.words {
		switch {
		case i == len(words):
			return false, false
		case words[i].opaque:
			return false, true // it may be any number of words
		case i == 0 && !strings.EqualFold(first, want), i > 0 && !strings.EqualFold(words[i].text, want):
			return false, false
		}
	}
	return true, true
}

// longest is the size of the longest prefix that words begin with, and of the
// longest that they may begin with, if the first of them is called so.
func longest(prefixes []prefix, first string, words []shellWord) (does, may int) {
	for _, p := range prefixes {
		d, m := p.begins(first, words)
		if d {
			does = max(does, p.size)
		}
		if m {
			may = max(may, p.size)
		}
	}
	return does, may
}

// denies is how much of words is denied, or feared to be, if they are a command:
// as it is and without the folder it is in.
func (r commandRules) denies(words []shellWord) (bad, feared int) {
	bad, feared = longest(r.deny, words[0].text, words)
	b, f := longest(r.deny, words[0].name(), words)
	return max(bad, b), max(feared, f)
}

// judge says whether one command may run, and whether it is no more than a command.
func (r commandRules) judge(words []shellWord) (v Verdict, plain bool) {
	good, _ := longest(r.allow, words[0].text, words)
	bad, feared := r.denies(words)
	for len(words) > 1 && words[0].assigns() {
		words = words[1:]
	}
	plain = !words[0].calculates(words[1:])
	for i, w := range words {
		b, f := r.denies(words[i:])
		bad, feared = max(bad, b), max(feared, f)
		plain = plain && !shellWords[w.name()] && (len(r.deny) == 0 || !shellReaders[w.name()])
		if !shellRunners[words[0].name()] && !shellReaders[words[0].name()] {
			break // the others are no commands
		}
	}
	switch {
	case bad > 0 && bad >= good:
		return Deny, plain
	case good == 0 || feared >= good && feared > 0:
		return AskUser, plain
	}
	return Approve, plain
}

// name is what a command is called, without the folder it is in.
func (w shellWord) name() string { return strings.ToLower(path.Base(w.text)) }

// calculates reports whether a command may take a word for the place in a list:
// shells calculate that, and run what is in it.
func (w shellWord) calculates(words []shellWord) bool {
	return shellCounters[w.name()] && slices.ContainsFunc(words, func(w shellWord) bool {
		return w.opaque || strings.Contains(w.text, "[") && strings.ContainsAny(w.text, "$`")
	})
}

// deniesPart reports whether something is denied somewhere in a line that is not
// understood.
func (r commandRules) deniesPart(line string) bool {
	line = unquote.Replace(line)
	for part := range strings.FieldsFuncSeq(line, func(c rune) bool { return strings.ContainsRune("\r\n;|&()<>{}`$,", c) }) {
		var words []shellWord
		for text := range strings.FieldsSeq(part) {
			words = append(words, shellWord{text: text})
		}
		for i := range words {
			good, _ := longest(r.allow, words[i].text, words[i:])
			bad, _ := r.denies(words[i:])
			// Of every command only the first word is one.
			if bad > 0 && bad >= good && (i == 0 || bad > len("*")) {
				return true
			}
		}
	}
	return false
}

// unquote leaves out all with which a word can be written otherwise.
var unquote = strings.NewReplacer("\\\r\n", "", "\\\n", "", "\\", "", `"`, "", "'", "")

var (
	// shellWords make a line more than a list of commands.
	shellWords = wordSet("if then else elif fi do done while until for foreach repeat select case esac in function coproc time " +
		"[[ ]] begin end switch always nocorrect noglob - and or not eval alias unalias trap hash enable bind complete fc autoload zmodload abbr")
	// shellRunners are commands that run what follows them.
	shellRunners = wordSet("sudo doas env command exec nohup nice ionice xargs builtin stdbuf timeout setsid chroot find " +
		"unshare strace ltrace flock taskset setpriv chrt firejail toybox pkexec runuser nsenter bwrap fakeroot systemd-run numactl prlimit")
	// shellReaders run what follows them too, but read it themselves, or read more.
	shellReaders = wordSet("sh bash zsh dash ksh ash fish csh tcsh mksh su ssh script watch parallel busybox source . at batch entr")
	// shellCounters are commands of the shell that calculate.
	shellCounters = wordSet("let declare typeset local export readonly read unset test [ printf wait mapfile readarray integer float print getopts")
)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}
