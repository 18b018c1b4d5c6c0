package history

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// Errors that say why a thread is not condensed.
var (
	ErrTooShort  = &Error{wire.ReasonTooShort, "the conversation is too short to be summarised"}
	ErrRecently  = &Error{wire.ReasonCondensedRecently, "fewer than two messages follow the last summary"}
	ErrNoSummary = &Error{wire.ReasonNoSummary, "the model returned an empty summary"}
)

// CondenseInput returns the messages to condense: all visible ones. An earlier summary is
// among them; then at least two messages must follow it.
func CondenseInput(all []Message) ([]Message, error) {
	in := Effective(all)
	switch {
	case len(in) <= 1 && len(all) <= 1:
		return nil, ErrTooShort
	case len(in) <= 1, len(in) == 2 && in[0].IsSummary:
		return nil, ErrRecently
	}
	return in, nil
}

// CondensePrompt is the prompt for a summary. The model may not use tools for it and must not
// answer the user.
const CondensePrompt = `The conversation above becomes too long and is about to be replaced by a summary that you write now.
You will go on from that summary alone, so put into it everything that you need:
1. What the user wants, in the user's own words where they matter, and what was decided.
2. What was done, with the names of windows, files, ids and values that may be needed again.
3. What went wrong and what was learned from it.
4. What is unfinished, what you were doing just now, and the next step.
Write the summary only. Do not use tools, do not answer the user and do not begin the next step.`

// CondenseRequest builds the request for a summary of messages from [CondenseInput]. Tool
// calls and results become text, because the request offers no tools; images become a
// placeholder unless images is set.
func CondenseRequest(in []Message, images bool) []providers.Entry {
	open := openCalls(in)
	out := plain(in, images)
	last := providers.Entry{Role: providers.RoleUser}
	if len(in) > 0 {
		last.Turn = in[len(in)-1].Turn
	}
	for _, c := range open {
		last.Blocks = append(last.Blocks, textBlock(resultText(providers.Block{Call: c.Call, Tool: c.Tool, Text: noResultText, IsError: true})))
	}
	last.Blocks = append(last.Blocks, textBlock(CondensePrompt))
	return providers.Corrected(append(out, last), providers.CorrectOptions{})
}

// Plain converts messages for a request without tools: tool calls and results become text,
// images become a placeholder unless images is set.
func Plain(in []Message, images bool) []providers.Entry {
	return providers.Corrected(plain(in, images), providers.CorrectOptions{})
}

func plain(in []Message, images bool) []providers.Entry {
	out := make([]providers.Entry, 0, len(in)+1)
	tools := map[string]string{} // tool names by call id: some backends omit them in results
	for i := range in {
		e := in[i].Entry
		e.Blocks = plainBlocks(e.Blocks, tools, images)
		out = append(out, e)
	}
	return out
}

// openCalls returns the tool calls that have no result in any message.
func openCalls(all []Message) (open []providers.Block) {
	answered := map[string]bool{}
	for i := range all {
		for _, b := range all[i].Blocks {
			if b.Kind == providers.BlockToolResult {
				answered[b.Call] = true
			}
		}
	}
	for i := range all {
		for _, b := range all[i].Blocks {
			if b.Kind == providers.BlockToolCall && !answered[b.Call] {
				open = append(open, b)
			}
		}
	}
	return open
}

// plainBlocks converts blocks to text and images. It records the names of called tools in
// tools, and looks up those of results there.
func plainBlocks(blocks []providers.Block, tools map[string]string, images bool) []providers.Block {
	out := make([]providers.Block, 0, len(blocks))
	picture := func(i *providers.Image) {
		if images {
			out = append(out, providers.Block{Kind: providers.BlockImage, Image: i})
			return
		}
		out = append(out, textBlock("[a picture]"))
	}
	for _, b := range blocks {
		switch b.Kind {
		case providers.BlockToolCall:
			tools[b.Call] = b.Tool
			out = append(out, textBlock(callText(b)))
		case providers.BlockToolResult:
			b.Tool = cmp.Or(b.Tool, tools[b.Call])
			out = append(out, textBlock(resultText(b)))
			for i := range b.Images {
				picture(&b.Images[i])
			}
		case providers.BlockImage:
			if b.Image != nil {
				picture(b.Image)
			}
		case providers.BlockText:
			out = append(out, b)
		case providers.BlockThinking, providers.BlockOpaque: // another model cannot interpret these
		}
	}
	return out
}

func callText(b providers.Block) string {
	input := strings.TrimSpace(string(b.Input))
	if input == "" {
		input = "{}"
	}
	return fmt.Sprintf("[Tool %s was called: %s]", toolName(b.Tool), input)
}

func resultText(b providers.Block) string {
	what := "Result"
	if b.IsError {
		what = "Error"
	}
	said := b.Text
	if strings.TrimSpace(said) == "" {
		said = "(empty)"
	}
	return fmt.Sprintf("[%s of tool %s]\n%s", what, toolName(b.Tool), said)
}

func toolName(tool string) string {
	if tool == "" {
		return "(unknown)"
	}
	return tool
}

// Summary is the answer of a model to [CondenseRequest], with its identifiers.
type Summary struct {
	// ID is the id of the new message, see [NextID].
	ID   uint64
	Row  wire.RowID
	TS   wire.Millis
	Turn string
	// CondenseID is unique; the row that shows the condensing to the user has the same.
	CondenseID string
	Text       string
}

// Condensed returns the thread with the summary appended, and the summary message. Every
// message without a condenseParent gets this one, older summaries included, so that only
// the summary stays visible. <command> tags in the first visible message apply to the whole
// conversation and are copied verbatim.
func Condensed(all []Message, s Summary) ([]Message, Message, error) {
	said := strings.TrimSpace(s.Text)
	if said == "" {
		return all, Message{}, ErrNoSummary
	}
	m := Message{
		ID: s.ID, Row: s.Row, TS: s.TS, IsSummary: true, CondenseID: s.CondenseID,
		Entry: providers.Entry{
			Role: providers.RoleUser, Turn: s.Turn,
			Blocks: []providers.Block{textBlock("Summary of the conversation so far:\n\n" + said)},
		},
	}
	if standing := commandTags(Effective(all)); standing != "" {
		m.Blocks = append(m.Blocks, textBlock("Still to be followed:\n\n"+standing))
	}
	out := make([]Message, len(all), len(all)+1)
	copy(out, all)
	for i := range out {
		if out[i].CondenseParent == "" {
			out[i].CondenseParent = s.CondenseID
		}
	}
	return append(out, m), m, nil
}

// commandTags returns the <command> elements of the first visible message. If that is a
// summary, it contains those of the messages it replaced.
func commandTags(effective []Message) string {
	if len(effective) == 0 {
		return ""
	}
	var found []string
	for _, b := range effective[0].Blocks {
		if b.Kind == providers.BlockText {
			found = append(found, commandTag.FindAllString(b.Text, -1)...)
		}
	}
	return strings.Join(found, "\n")
}

var commandTag = regexp.MustCompile(`(?s)<command(?:\s[^>]*)?>.*?</command>`)
