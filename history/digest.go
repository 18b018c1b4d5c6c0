package history

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// Note is one entry of the digest of a conversation: the form in which programs
// that only want to know what happened read it.
type Note struct {
	ID   string   `json:"id" doc:"It never changes."`
	Role NoteRole `json:"role"`
	Type NoteType `json:"type"`
	// Content is the text of what was said.
	Content string `json:"content,omitempty"`

	ToolName  string          `json:"toolName,omitempty"`
	ToolInput json.RawMessage `json:"toolInput,omitempty" doc:"An object with what matters of the input."`
	ToolUseID string          `json:"toolUseId,omitempty"`
	Success   *bool           `json:"success,omitempty"`
	Output    string          `json:"output,omitempty" doc:"The beginning of it, and how long it is."`
	Error     string          `json:"error,omitempty" doc:"The beginning of it, and how long it is."`

	Duration     float64 `json:"duration,omitempty" doc:"In seconds."`
	InputTokens  int     `json:"inputTokens,omitempty"`
	OutputTokens int     `json:"outputTokens,omitempty"`

	Timestamp wire.Millis    `json:"timestamp"`
	AgentID   wire.AgentID   `json:"agentId,omitempty"`
	MonitorID wire.MonitorID `json:"monitorId,omitempty"`
}

// NoteRole is who a note is of.
type NoteRole string

// The roles.
const (
	NoteUser      NoteRole = "user"
	NoteAssistant NoteRole = "assistant"
	NoteSystem    NoteRole = "system"
)

// NoteType is what a note tells.
type NoteType string

// The types. A call of a tool that has ended has one note, in the place where it
// began.
const (
	NoteText         NoteType = "text"
	NoteToolStart    NoteType = "tool_start"
	NoteToolComplete NoteType = "tool_complete"
	NoteError        NoteType = "error"
	NoteResult       NoteType = "result"
	NoteAttachment   NoteType = "file_attachment"
	NoteAborted      NoteType = "aborted"
)

// Digest is what rows tell, in their order, and then the tools that agents use now,
// who are nil for rows that others follow. What agents think is not in it, and of
// what goes into tools and comes out only as much as one needs to know what was
// done. As JSON it has no more than most bytes, unless one row alone has: skipped
// is how many of the oldest rows are left out for that.
func Digest(rows []wire.UIRow, working []wire.AgentState, most int) (notes []Note, skipped int) {
	d := digest{notes: make([]Note, 0, len(rows)+len(working))}
	for i := range rows {
		d.row = i
		d.add(&rows[i])
	}
	for _, a := range working {
		if a.Tool != "" {
			d.put(Note{
				ID: "now-" + string(a.Role), Role: NoteAssistant, Type: NoteToolStart, ToolName: a.Tool, ToolInput: noInput(),
				Timestamp: a.StartedAt, AgentID: a.Role, MonitorID: a.MonitorID,
			})
		}
	}
	return d.within(most)
}

// digest is one in the making.
type digest struct {
	notes []Note
	of    []int // which row each is of
	row   int
	open  []int // notes of calls that have begun and not ended
}

func (d *digest) put(n Note) {
	d.notes = append(d.notes, n)
	d.of = append(d.of, d.row)
}

var noteFormat = sync.OnceValue(wire.FormatOf[Note])

// within leaves out the notes of the oldest rows, as few as must be.
func (d *digest) within(most int) (notes []Note, skipped int) {
	var buf []byte
	keep, size := len(d.notes), 0
	for end := len(d.notes); end > 0; {
		begin := end - 1
		for begin > 0 && d.of[begin-1] == d.of[end-1] {
			begin--
		}
		for i := begin; i < end; i++ {
			buf = noteFormat().Append(buf[:0], &d.notes[i])
			size += len(buf) + 1
		}
		if size > most && keep < len(d.notes) {
			return d.notes[keep:], d.of[keep]
		}
		keep, end = begin, begin
	}
	return d.notes, 0
}

func (d *digest) add(r *wire.UIRow) {
	switch {
	case r.Type == wire.RowAsk:
		d.say(r, NoteAssistant, NoteText)
	case r.Say == wire.SayUserFeedback || r.Say == wire.SayUserFeedbackDiff || r.Say == wire.SayUserEditTodos:
		d.say(r, NoteUser, NoteText)
	case r.Say == wire.SayReasoning:
	case r.Say == wire.SayTool:
		d.call(r)
	case r.Say == wire.SayAPIReqFinished:
		d.end(r)
	case r.Say == wire.SayError || strings.HasSuffix(string(r.Say), "_error"):
		d.say(r, NoteSystem, NoteError)
	case r.ContextCondense != nil:
		n := noteOf(r, NoteSystem, NoteText)
		n.Content = cmp.Or(r.Text, r.ContextCondense.Summary)
		d.put(n)
	case strings.HasPrefix(string(r.Say), "api_req_"):
	default:
		d.say(r, NoteAssistant, NoteText)
	}
}

func noteOf(r *wire.UIRow, role NoteRole, kind NoteType) Note {
	id := strconv.FormatUint(uint64(r.ID), 10)
	if r.ID == 0 {
		id = "ts-" + strconv.FormatInt(int64(r.TS), 10)
	}
	return Note{ID: id, Role: role, Type: kind, Timestamp: r.TS, AgentID: r.AgentID, MonitorID: r.MonitorID}
}

// say adds what a row says, and the pictures that are with it.
func (d *digest) say(r *wire.UIRow, role NoteRole, kind NoteType) {
	if r.Text != "" {
		n := noteOf(r, role, kind)
		n.Content = valid(r.Text)
		d.put(n)
	}
	for i, image := range r.Images {
		n := noteOf(r, role, NoteAttachment)
		n.ID += "-" + strconv.Itoa(i+1)
		media, _, _ := strings.Cut(strings.TrimPrefix(image, "data:"), ";")
		if len(media) == len(image) {
			media = "image"
		}
		n.Content = fmt.Sprintf("%s, %d characters", shorten(media, maxName), len(image))
		d.put(n)
	}
}

// call adds a call of a tool, or ends one that has begun: the one with its id, or
// else the oldest of its name.
func (d *digest) call(r *wire.UIRow) {
	var c struct {
		ID         string          `json:"id"`
		Tool       string          `json:"tool"`
		Status     wire.ToolStatus `json:"status"`
		Input      json.RawMessage `json:"input"`
		Result     json.RawMessage `json:"result"`
		DurationMS float64         `json:"durationMs"`
	}
	if json.Unmarshal([]byte(r.Text), &c) != nil || c.Tool == "" {
		d.say(r, NoteAssistant, NoteText) // not one of ours
		return
	}
	n := noteOf(r, NoteAssistant, NoteToolStart)
	n.ToolName, n.ToolUseID = shorten(valid(c.Tool), maxName), shorten(valid(c.ID), maxName)
	n.ToolInput = inputOf(c.Tool, c.Input)
	if c.Status == wire.ToolRunning {
		d.open = append(d.open, len(d.notes))
		d.put(n)
		return
	}
	n.Type, n.Success, n.Duration = NoteToolComplete, new(c.Status == wire.ToolComplete), seconds(c.DurationMS)
	if text := beginning(answerText(c.Result)); *n.Success {
		n.Output = text
	} else {
		n.Error = text
	}
	if at, ok := d.begun(&n); ok {
		start := &d.notes[at]
		n.ID, n.Timestamp, n.ToolUseID = start.ID, start.Timestamp, cmp.Or(n.ToolUseID, start.ToolUseID)
		if string(n.ToolInput) == string(noInput()) {
			n.ToolInput = start.ToolInput
		}
		*start = n
		return
	}
	d.put(n)
}

// begun finds the beginning of a call that ends, which is then no longer open.
func (d *digest) begun(n *Note) (int, bool) {
	i := slices.IndexFunc(d.open, func(at int) bool { return n.ToolUseID != "" && d.notes[at].ToolUseID == n.ToolUseID })
	if i < 0 {
		i = slices.IndexFunc(d.open, func(at int) bool {
			start := &d.notes[at]
			return start.ToolName == n.ToolName && start.AgentID == n.AgentID && (n.ToolUseID == "" || start.ToolUseID == "")
		})
	}
	if i < 0 {
		return 0, false
	}
	at := d.open[i]
	d.open = slices.Delete(d.open, i, i+1)
	return at, true
}

// end adds how a turn ended.
func (d *digest) end(r *wire.UIRow) {
	var e struct {
		Outcome      providers.Outcome `json:"outcome"`
		DurationMS   float64           `json:"durationMs"`
		InputTokens  int               `json:"inputTokens"`
		OutputTokens int               `json:"outputTokens"`
		Reason       string            `json:"reason"`
	}
	if json.Unmarshal([]byte(r.Text), &e) != nil {
		return // nobody reads it
	}
	n := noteOf(r, NoteSystem, NoteResult)
	switch e.Outcome {
	case providers.Failed:
		n.Type, n.Content = NoteError, valid(e.Reason)
	case providers.Interrupted:
		n.Type, n.Content = NoteAborted, valid(e.Reason)
	}
	n.Duration, n.InputTokens, n.OutputTokens = seconds(e.DurationMS), max(e.InputTokens, 0), max(e.OutputTokens, 0)
	if d.saidBefore(&n) {
		return
	}
	d.put(n)
}

// saidBefore reports whether the row before has said the error that a turn ended
// with, whole where the end has only its beginning. Its note then has the rest of
// the end.
func (d *digest) saidBefore(end *Note) bool {
	last := len(d.notes) - 1
	if end.Type != NoteError || last < 0 || d.notes[last].Type != NoteError || d.notes[last].AgentID != end.AgentID {
		return false
	}
	said := &d.notes[last]
	beginning, isCut := strings.CutSuffix(end.Content, cutMark)
	isSame := said.Content == end.Content || isCut && strings.HasPrefix(said.Content, beginning)
	if !isSame {
		return false
	}
	said.Duration, said.InputTokens, said.OutputTokens = end.Duration, end.InputTokens, end.OutputTokens
	return true
}

// cutMark ends what a row has of a text that is too long for it.
const cutMark = " […]"

func seconds(ms float64) float64 { return max(ms, 0) / 1000 }

func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
