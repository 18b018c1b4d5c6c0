package approval

import (
	"strings"

	"github.com/everdesk/everdesk/wire"
)

// Reason says why the rules decide as they do on a command line.
type Reason string

// The reasons.
const (
	ReasonOff     Reason = "off"      // the rules are switched off
	ReasonKind    Reason = "kind"     // they allow no commands at all
	ReasonEmpty   Reason = "empty"    // there is no command
	ReasonTooLong Reason = "too_long" // the line is too long to be judged
	ReasonAllowed Reason = "allowed"  // every command has an allowed prefix
	ReasonDenied  Reason = "denied"   // a command has a denied prefix
	ReasonNoRule  Reason = "no_rule"  // a command has no allowed prefix
	ReasonUnclear Reason = "unclear"  // the line is more than a list of commands
)

// Explanation is the decision on a command line with its reason.
type Explanation struct {
	Verdict Verdict `json:"verdict"`
	Reason  Reason  `json:"reason"`
	// Command is the command of the line that the reason is about, and Rule the prefix that
	// decided on it, if they are known.
	Command string `json:"command,omitempty"`
	Rule    string `json:"rule,omitempty"`
}

// ExplainCommand returns the decision of the rules on a command line, which is that of [Decide], and
// why they decide so.
func ExplainCommand(rules wire.AutoApproval, line string) Explanation {
	e := Explanation{Verdict: Decide(rules, Question{Ask: wire.AskCommand, Command: line})}
	switch {
	case strings.TrimSpace(line) == "":
		e.Reason = ReasonEmpty
	case !rules.AutoApprovalEnabled:
		e.Reason = ReasonOff
	case !rules.AlwaysAllowExecute:
		e.Reason = ReasonKind
	case len(line) > commandBytes:
		e.Reason = ReasonTooLong
	default:
		e.explain(commandRules{prefixesOf(rules.AllowedCommands), prefixesOf(rules.DeniedCommands)}, line)
	}
	return e
}

// explain finds the command that decided.
func (e *Explanation) explain(r commandRules, line string) {
	commands, _ := parseShell(line)
	for _, words := range commands {
		v, _ := r.judge(words)
		switch {
		case v == Deny:
			e.Reason, e.Command, e.Rule = ReasonDenied, textOf(words), r.decisive(r.deny, words)
			return
		case v == AskUser && e.Reason == "":
			e.Reason, e.Command = ReasonNoRule, textOf(words)
		case v == Approve && e.Verdict == Approve && e.Reason == "":
			e.Rule = r.decisive(r.allow, words)
		}
	}
	switch {
	case e.Verdict == Approve:
		e.Reason = ReasonAllowed
	case e.Verdict == Deny:
		e.Reason, e.Command, e.Rule = ReasonDenied, "", ""
	case e.Reason == "":
		e.Reason, e.Rule = ReasonUnclear, ""
	}
}

// decisive returns the longest prefix that a command, or one that it runs, begins with.
func (r commandRules) decisive(prefixes []prefix, words []shellWord) string {
	longest := prefix{}
	for i := range words {
		for _, first := range []string{words[i].text, words[i].name()} {
			for _, p := range prefixes {
				if does, _ := p.matches(first, words[i:]); does && p.size > longest.size {
					longest = p
				}
			}
		}
		if longest.size > 0 {
			break
		}
	}
	return strings.Join(longest.words, " ")
}

func textOf(words []shellWord) string {
	var texts []string
	for _, w := range words {
		texts = append(texts, w.text)
	}
	return strings.Join(texts, " ")
}
