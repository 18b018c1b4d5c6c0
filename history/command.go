package history

import (
	"path"
	"regexp"
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

// JudgeCommand says whether a command line of a shell may run, by prefixes of the
// commands that are allowed and of those that are denied. Every command in it is
// judged: those between && || ; | & and newlines, those in substitutions, in groups
// and behind words that run another command. A prefix is whole words, so that git
// does not allow gitk, and * is every command. The longer prefix wins, and of two
// that are alike the denial. One denial denies the whole line; what cannot be read
// for certain is never approved.
func JudgeCommand(line string, allowed, denied []string) Verdict {
	s := readShell(line)
	verdict := Approve
	allow, deny := prefixesOf(allowed), prefixesOf(denied)
	for _, c := range s.found {
		switch v := c.judge(allow, deny); {
		case v == Deny:
			return Deny
		case v == AskUser && !c.silent:
			verdict = AskUser
		}
	}
	if s.broken || s.dangerous() {
		return AskUser
	}
	return verdict
}

// prefix is the words that a command begins with.
type prefix struct {
	words []string
	size  int
}

func prefixesOf(texts []string) []prefix {
	var out []prefix
	for _, text := range texts {
		if words := strings.Fields(strings.ToLower(text)); len(words) > 0 {
			out = append(out, prefix{words, len(strings.Join(words, " "))})
		}
	}
	return out
}

// begins reports whether words begin with a prefix, or may if what is not known of
// them is what one fears.
func (p prefix) begins(words []shellWord) (does, may bool) {
	if p.words[0] == "*" && len(p.words) == 1 {
		return true, true
	}
	if len(words) < len(p.words) && !slices.ContainsFunc(words, func(w shellWord) bool { return w.opaque }) {
		return false, false
	}
	does = len(words) >= len(p.words)
	for i, want := range p.words[:min(len(words), len(p.words))] {
		switch {
		case words[i].opaque:
			does = false
		case !strings.EqualFold(words[i].text, want):
			return false, false
		}
	}
	return does, true
}

// longest is the size of the longest prefix that words begin with, and of the
// longest that they may begin with.
func longest(prefixes []prefix, words []shellWord) (does, may int) {
	for _, p := range prefixes {
		d, m := p.begins(words)
		if d {
			does = max(does, p.size)
		}
		if m {
			may = max(may, p.size)
		}
	}
	return does, may
}

// judge says whether one command may run.
func (c *shellCommand) judge(allow, deny []prefix) Verdict {
	words := c.words
	for len(words) > 0 && shellKeywords[words[0].text] && !words[0].quoted {
		words = words[1:]
	}
	if len(words) == 0 {
		return Approve
	}
	good, _ := longest(allow, words)
	bad, feared := 0, 0
	for _, seen := range disguises(words) {
		b, f := longest(deny, seen)
		bad, feared = max(bad, b), max(feared, f)
	}
	switch {
	case bad > 0 && bad >= good:
		return Deny
	case good == 0 || feared >= good && feared > 0:
		return AskUser
	default:
		return Approve
	}
}

// disguises are the ways in which a command may be the one that is denied: as it
// is, without what is set for it, without the folder it is in, and behind words
// that run what follows them.
func disguises(words []shellWord) [][]shellWord {
	all := [][]shellWord{words}
	for len(words) > 0 && words[0].assigns() {
		words = words[1:]
		all = append(all, words)
	}
	for from := range words {
		if from > 0 && !shellRunners[strings.ToLower(path.Base(words[0].text))] {
			break
		}
		rest := slices.Clone(words[from:])
		rest[0].text = path.Base(rest[0].text)
		all = append(all, words[from:], rest)
	}
	return all
}

// shellKeywords are words of the shell that a command follows.
var shellKeywords = wordSet("if then else elif fi do done while until ! { } time coproc esac")

// shellRunners are commands that run what follows them.
var shellRunners = wordSet("sudo doas env command exec nohup nice ionice time xargs builtin eval stdbuf timeout " +
	"setsid watch busybox chroot find parallel sh bash zsh dash ksh ash fish su ssh script unshare strace")

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

// Substitutions with which a command can be hidden: values that are run as a
// prompt, values that are written in escapes, names that are values, a command fed
// to another as its input, and what zsh runs in file names.
var (
	hiddenLive = regexp.MustCompile(`\$\{[^}]*@[PQEAaULuK]|\$\{[^}]*[=+?-][^}]*\\([0-7]{3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4})|\$\{!|<<<\s*(\$\(|` + "`" + `)`)
	hiddenBare = regexp.MustCompile(`(^|[\s;|&(<>])=\(|[*?]\(e[:[{'"]`)
)

// dangerous reports whether something in the line can hide a command.
func (s *shell) dangerous() bool {
	return hiddenLive.MatchString(s.live.String()) || hiddenBare.MatchString(s.bare.String())
}
