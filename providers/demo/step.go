package demo

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/everdesk/everdesk/providers"
)

// step is one step of a turn's script.
type step struct {
	// id is unique in the turn and the same whenever the script is planned again: the id of the
	// message or step that caused it, and its index.
	id   string
	kind stepKind
	text string
	wait time.Duration
	n    int
	rate int
	// calls are the tool calls of the step, without ids; they run concurrently if all of their
	// tools allow it. after returns the text about their results.
	calls []providers.ToolCall
	after func([]outcome) string
	// then, unless nil, returns further steps depending on the results.
	then    func([]outcome) []step
	failure *providers.Failure
}

type stepKind int

const (
	stepSay stepKind = iota
	stepThink
	stepSleep
	stepStream
	stepCall
	stepRecall
	stepFail
	stepHang
	stepFill
	stepUsage
	stepPut
	stepRecite
	stepStore
)

// withStepIDs sets the ids of the steps caused by a message or a step.
func withStepIDs(of string, steps []step) []step {
	for n := range steps {
		steps[n].id = of + "/" + strconv.Itoa(n)
	}
	return steps
}

func say(text string) step { return step{kind: stepSay, text: text} }

func think(text string) step { return step{kind: stepThink, text: text} }

func pause(d time.Duration) step { return step{kind: stepSleep, wait: d} }

// call returns a step that calls tools and emits text only about errors.
func call(calls ...providers.ToolCall) step {
	return step{kind: stepCall, calls: calls, after: tellErrors}
}

// execute executes the step.
func (st step) execute(t *turn) error {
	switch st.kind {
	case stepSay:
		return t.emitText(st.text)
	case stepPut:
		return t.speak(st.text)
	case stepThink:
		return t.think(st.text)
	case stepSleep:
		return t.waitFor(st.wait)
	case stepRecite:
		return t.recite(st.text, st.wait)
	case stepStore:
		t.flush()
		return nil
	case stepStream:
		return t.stream(st.n, st.rate)
	case stepCall:
		return t.callTools(st)
	case stepRecall:
		return t.emitText(recalled(everything(t.s.entries)))
	case stepFail:
		return st.failure
	case stepHang:
		return t.hang()
	case stepFill:
		t.text.WriteString(strings.Repeat("ful ", st.n))
		return t.emitText(fmt.Sprintf("I remember %d tokens more now.", st.n))
	case stepUsage:
		t.claim = &providers.Usage{Input: st.n, Output: st.rate}
		return t.emitText(fmt.Sprintf("This took %d tokens to read and %d to write.", st.n, st.rate))
	default:
		return fmt.Errorf("there is no step %d", st.kind)
	}
}

// emitText emits text on a line of its own.
func (t *turn) emitText(text string) error {
	if text == "" {
		return nil
	}
	if t.spoken && t.ends != '\n' {
		text = "\n" + text
	}
	for n, piece := range pieces(text) {
		if n > 0 {
			if err := t.waitFor(t.s.provider.cfg.Pace); err != nil {
				return err
			}
		}
		if err := t.speak(piece); err != nil {
			return err
		}
	}
	return nil
}

// speak emits one piece of text.
func (t *turn) speak(piece string) error {
	if err := t.spend(piece); err != nil {
		return err
	}
	t.text.WriteString(piece)
	t.spoken, t.ends = true, piece[len(piece)-1]
	t.emit(providers.Event{Kind: providers.EventText, Text: piece})
	return nil
}

// spend counts text and thinking, and fails the turn beyond maxSaid, because directives can ask
// for any amount.
func (t *turn) spend(piece string) error {
	if t.spent += len(piece); t.spent > maxSaid {
		return &providers.Failure{Class: providers.Invalid, Err: fmt.Errorf("a turn says at most %d bytes", maxSaid)}
	}
	return nil
}

func (t *turn) think(text string) error {
	for n, piece := range pieces(text) {
		if n > 0 {
			if err := t.waitFor(t.s.provider.cfg.Pace); err != nil {
				return err
			}
		}
		if err := t.spend(piece); err != nil {
			return err
		}
		t.emit(providers.Event{Kind: providers.EventThinking, Text: piece})
	}
	return nil
}

// stream emits numbered words. The time of each is computed from the first, so that the rate
// does not depend on how long a delivery takes.
func (t *turn) stream(n, rate int) error {
	began := time.Now()
	for i := range n {
		if err := t.waitFor(time.Until(began.Add(time.Duration(i) * time.Second / time.Duration(rate)))); err != nil {
			return err
		}
		word := "w" + strconv.Itoa(i+1)
		switch {
		case i > 0:
			word = " " + word
		case t.spoken && t.ends != '\n':
			word = "\n" + word
		}
		if err := t.speak(word); err != nil {
			return err
		}
	}
	return nil
}

// recite emits a paragraph, one word in each interval.
func (t *turn) recite(text string, interval time.Duration) error {
	for i, word := range strings.Fields(text) {
		switch {
		case i > 0:
			word = " " + word
		case t.spoken:
			word = "\n\n" + word
		}
		if err := t.speak(word); err != nil {
			return err
		}
		if err := t.waitFor(interval); err != nil {
			return err
		}
	}
	return nil
}

// Bounds of the text and thinking of a turn and of the text of /recall, in bytes.
const (
	maxSaid   = 1 << 20
	maxRecall = 64 << 10
)

// recalled returns the last maxRecall bytes of a text.
func recalled(text string) string {
	const more = "[…] "
	if len(text) <= maxRecall {
		return text
	}
	return more + strings.ToValidUTF8(text[len(text)-maxRecall+len(more):], "")
}

// Size of the pieces of a text in bytes, and their approximate maximum number: longer texts have
// larger pieces.
const (
	pieceBytes = 12
	maxPieces  = 400
)

// pieces splits a text after spaces where possible, and never inside a character.
func pieces(text string) (out []string) {
	size := max(pieceBytes, len(text)/maxPieces)
	for len(text) > size {
		at := strings.IndexByte(text[size:], ' ') + 1
		if at == 0 || at > 2*size {
			at = 0
			for !utf8.RuneStart(text[size+at]) {
				at++
				if size+at == len(text) {
					return append(out, text)
				}
			}
		}
		out = append(out, text[:size+at])
		text = text[size+at:]
	}
	if text != "" {
		out = append(out, text)
	}
	return out
}

// everything returns all text of a conversation except thinking.
func everything(entries []providers.Entry) string {
	var b strings.Builder
	for _, e := range entries {
		for _, bl := range e.Blocks {
			if bl.Text != "" && bl.Kind != providers.BlockThinking {
				fmt.Fprintln(&b, bl.Text)
			}
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
