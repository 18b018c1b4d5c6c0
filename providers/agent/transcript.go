package agent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/providers"
)

// maxTranscript bounds a transcript in bytes. The beginning of a longer conversation is left out.
const maxTranscript = 256 << 10

// escape makes text safe inside the tags of a transcript.
var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// transcript renders a conversation for an agent that does not have it; empty if there is none.
func transcript(entries []providers.Entry) string {
	var parts []string
	size := 0
	for _, e := range slices.Backward(providers.Corrected(entries, providers.CorrectOptions{Open: true})) {
		for _, b := range slices.Backward(e.Blocks) {
			part := renderBlock(e.Role, b)
			if size += len(part); size > maxTranscript {
				parts = append(parts, "(The beginning of the conversation is left out.)\n")
				return wrap(parts)
			}
			parts = append(parts, part)
		}
	}
	return wrap(parts)
}

// filesNote says that the working directory may be another one: a transcript is also sent after
// another replica has taken the session over, which has none of its files unless the folder is shared.
const filesNote = "(You continue this conversation anew, perhaps on another machine. Files of your working directory may be missing: look before you rely on them.)\n"

// wrap returns the parts, of which the last one comes first.
func wrap(parts []string) string {
	if len(parts) == 0 {
		return ""
	}
	slices.Reverse(parts)
	return "<previous_conversation>\n" + filesNote + strings.Join(parts, "") + "</previous_conversation>\n\n"
}

func renderBlock(role providers.Role, b providers.Block) string {
	switch b.Kind {
	case providers.BlockText:
		return fmt.Sprintf("<%s>\n%s\n</%s>\n", role, escape.Replace(b.Text), role)
	case providers.BlockImage:
		return "(The user added an image here.)\n"
	case providers.BlockToolCall:
		return fmt.Sprintf("<tool_call tool=%q call=%q>%s</tool_call>\n", b.Tool, b.Call, escape.Replace(string(b.Input)))
	case providers.BlockToolResult:
		return renderResult(b)
	default: // only its backend understands it
		return ""
	}
}

func renderResult(b providers.Block) string {
	return fmt.Sprintf("<tool_result call=%q>%s</tool_result>\n", b.Call, escape.Replace(b.Text))
}

// maxCutReply bounds what an agent gets of a reply that was cut off, in bytes. Its end is kept.
const maxCutReply = 32 << 10

// cutReply returns what tells an agent how far its reply went that was cut off, and that it does not remember.
func cutReply(text string) string {
	if over := len(text) - maxCutReply; over > 0 {
		text = "…" + strings.ToValidUTF8(text[over:], "")
	}
	return "<reply_that_was_cut_off>\n" + escape.Replace(text) + "\n</reply_that_was_cut_off>\n" +
		"(You wrote this in reply to the message before, and were stopped there. The user has read it.)\n\n"
}

// continuation returns the message that makes an agent continue a turn that was cut off, with the
// results of its newest calls.
func continuation(results []providers.Block) string {
	var b strings.Builder
	b.WriteString("Your work on the last message was cut off before it was complete. " +
		"Continue where it stopped, and do not repeat what is done.\n")
	for i, r := range results {
		if i == 0 {
			b.WriteString("These are the results of your newest tool calls:\n")
		}
		b.WriteString(renderResult(r))
	}
	return b.String()
}

// newestCalls returns the calls at the end of a conversation, oldest first, and the results that
// some of them have.
func newestCalls(entries []providers.Entry) (calls []providers.Block, results map[string]providers.Block) {
	results = map[string]providers.Block{}
	for _, e := range slices.Backward(entries) {
		hasOther := false
		for _, b := range slices.Backward(e.Blocks) {
			switch b.Kind {
			case providers.BlockToolCall:
				calls = append(calls, b)
			case providers.BlockToolResult:
				results[b.Call] = b
			default:
				hasOther = true
			}
		}
		if hasOther {
			break
		}
	}
	slices.Reverse(calls)
	return calls, results
}
