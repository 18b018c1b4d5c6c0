package history

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// Why a thread is not summed up.
var (
	ErrTooShort  = errors.New("there is not enough to sum up")
	ErrRecently  = errors.New("this was summed up a moment ago")
	ErrNoSummary = errors.New("the model gave no summary")
)

// CondenseInput is what of a thread is to be summed up: all that is visible. An
// earlier summary is part of it and needs at least two messages after it.
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

// instruction asks for a summary. Tools are not at hand, and nobody is to be
// answered.
const instruction = `The conversation above becomes too long and is about to be replaced by a summary that you write now.
You will go on from that summary alone, so put into it everything that you need:
1. What the user wants, in the user's own words where they matter, and what was decided.
2. What was done, with the names of windows, files, ids and values that may be needed again.
3. What went wrong and what was learned from it.
4. What is unfinished, what you were doing just now, and the next step.
Write the summary only. Do not use tools, do not answer the user and do not begin the next step.`

// CondenseRequest asks a model to sum up, with messages of [CondenseInput]. Calls
// and results are told as text, for no tools are offered; pictures are left out for
// a model that sees none.
func CondenseRequest(in []Message, images bool) []providers.Entry {
	open := openCalls(in)
	out := plain(in, images)
	last := providers.Entry{Role: providers.RoleUser}
	if len(in) > 0 {
		last.Turn = in[len(in)-1].Turn
	}
	for _, c := range open {
		last.Blocks = append(last.Blocks, textBlock(resultText(providers.Block{Call: c.Call, Tool: c.Tool, Text: notRun, IsError: true})))
	}
	last.Blocks = append(last.Blocks, textBlock(instruction))
	return providers.Mended(append(out, last), providers.Mending{})
}

// Plain is messages for a model that is offered no tools: calls and results are told
// as text, and pictures are left out for a model that sees none.
func Plain(in []Message, images bool) []providers.Entry {
	return providers.Mended(plain(in, images), providers.Mending{})
}

func plain(in []Message, images bool) []providers.Entry {
	out := make([]providers.Entry, 0, len(in)+1)
	tools := map[string]string{} // by call: not every backend names them in results
	for i := range in {
		e := in[i].Entry
		e.Blocks = asPlain(e.Blocks, tools, images)
		out = append(out, e)
	}
	return out
}

// openCalls are the calls among messages that have no result anywhere.
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

// asPlain are blocks as text and pictures. It notes and uses which tools were called.
func asPlain(blocks []providers.Block, tools map[string]string, images bool) []providers.Block {
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
		case providers.BlockThinking, providers.BlockOpaque: // the next model would not understand it
		}
	}
	return out
}

func callText(b providers.Block) string {
	input := strings.TrimSpace(string(b.Input))
	if input == "" {
		input = "{}"
	}
	return fmt.Sprintf("[Tool %s was called: %s]", name(b.Tool), input)
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
	return fmt.Sprintf("[%s of tool %s]\n%s", what, name(b.Tool), said)
}

func name(tool string) string {
	if tool == "" {
		return "(unknown)"
	}
	return tool
}

// Summary is what a model answered to [CondenseRequest], and what names it.
type Summary struct {
	// ID is that of the message, see [NextID].
	ID   uint64
	Row  wire.RowID
	TS   wire.Millis
	Turn string
	// CondenseID is unique, and that of the row that tells people.
	CondenseID string
	Text       string
}

// Condensed is a thread that is summed up, and the summary in it. Everything that
// has no condenseParent yet, older summaries included, has this one; the summary
// comes last and is all that is visible. What the first message says in <command>
// tags is meant for the whole conversation and goes along word by word.
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
	if standing := commands(Effective(all)); standing != "" {
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

// commands are the <command> blocks of the first visible message. That may be a
// summary, which has them of the message that it stands for.
func commands(effective []Message) string {
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
