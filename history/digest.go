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

// Note is one entry of the digest of a conversation: a short form for programs that read
// what happened without rendering it.
type Note struct {
	ID   string   `json:"id" doc:"It never changes."`
	Role NoteRole `json:"role"`
	Type NoteType `json:"type"`
	// Content is the text of a message, an error or a summary.
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

// NoteRole is the author of a note.
type NoteRole string

// The authors of notes.
const (
	NoteUser      NoteRole = "user"
	NoteAssistant NoteRole = "assistant"
	NoteSystem    NoteRole = "system"
)

// NoteType is the kind of a note.
type NoteType string

// The types. A completed tool call has one note, at the place where the call began.
const (
	NoteText         NoteType = "text"
	NoteToolStart    NoteType = "tool_start"
	NoteToolComplete NoteType = "tool_complete"
	NoteError        NoteType = "error"
	NoteResult       NoteType = "result"
	NoteAttachment   NoteType = "file_attachment"
	NoteAborted      NoteType = "aborted"
)

// Digest converts rows to notes, in their order, followed by the tools that agents run now
// (working; nil if rows is not the end of the conversation). It omits reasoning and
// shortens the inputs and outputs of tools. Encoded as JSON the notes have at maxBytes maxBytes
// bytes, unless the newest row alone exceeds that; skipped is the number of oldest rows
// omitted for it.
func Digest(rows []wire.UIRow, working []wire.AgentState, maxBytes int) (notes []Note, skipped int) {
	d := digest{notes: make([]Note, 0, len(rows)+len(working))}
	for i := range rows {
		d.row = i
		d.addRow(&rows[i])
	}
	for _, a := range working {
		if a.Tool != "" {
			d.appendNote(Note{
				ID: "now-" + string(a.Role), Role: NoteAssistant, Type: NoteToolStart, ToolName: a.Tool, ToolInput: noInput(),
				Timestamp: a.StartedAt, AgentID: a.Role, MonitorID: a.MonitorID,
			})
		}
	}
	return d.trimToSize(maxBytes)
}

// digest is a digest under construction.
type digest struct {
	notes    []Note
	rowIndex []int // index of the row of each note
	row      int
	open     []int // indexes of notes of tool calls without an end
}

func (d *digest) appendNote(n Note) {
	d.notes = append(d.notes, n)
	d.rowIndex = append(d.rowIndex, d.row)
}

var noteFormat = sync.OnceValue(wire.FormatOf[Note])

// trimToSize drops the notes of as few of the oldest rows as necessary.
func (d *digest) trimToSize(maxBytes int) (notes []Note, skipped int) {
	var buf []byte
	keep, size := len(d.notes), 0
	for end := len(d.notes); end > 0; {
		begin := end - 1
		for begin > 0 && d.rowIndex[begin-1] == d.rowIndex[end-1] {
			begin--
		}
		for i := begin; i < end; i++ {
			buf = noteFormat().Append(buf[:0], &d.notes[i])
			size += len(buf) + 1
		}
		if size > maxBytes && keep < len(d.notes) {
			return d.notes[keep:], d.rowIndex[keep]
		}
		keep, end = begin, begin
	}
	return d.notes, 0
}

func (d *digest) addRow(r *wire.UIRow) {
	switch {
	case r.Type == wire.RowAsk:
		d.addText(r, NoteAssistant, NoteText)
	case r.Say == wire.SayUserFeedback || r.Say == wire.SayUserFeedbackDiff || r.Say == wire.SayUserEditTodos:
		d.addText(r, NoteUser, NoteText)
	case r.Say == wire.SayReasoning:
	case r.Say == wire.SayTool:
		d.addToolCall(r)
	case r.Say == wire.SayAPIReqFinished:
		d.addTurnEnd(r)
	case r.Say == wire.SayError || strings.HasSuffix(string(r.Say), "_error"):
		d.addText(r, NoteSystem, NoteError)
	case r.ContextCondense != nil:
		n := noteOf(r, NoteSystem, NoteText)
		n.Content = cmp.Or(r.Text, r.ContextCondense.Summary)
		d.appendNote(n)
	case strings.HasPrefix(string(r.Say), "api_req_"):
	default:
		d.addText(r, NoteAssistant, NoteText)
	}
}

func noteOf(r *wire.UIRow, role NoteRole, kind NoteType) Note {
	id := strconv.FormatUint(uint64(r.ID), 10)
	if r.ID == 0 {
		id = "ts-" + strconv.FormatInt(int64(r.TS), 10)
	}
	return Note{ID: id, Role: role, Type: kind, Timestamp: r.TS, AgentID: r.AgentID, MonitorID: r.MonitorID}
}

// addText adds the text of a row, and a note for each of its images.
func (d *digest) addText(r *wire.UIRow, role NoteRole, kind NoteType) {
	if r.Text != "" {
		n := noteOf(r, role, kind)
		n.Content = valid(r.Text)
		d.appendNote(n)
	}
	for i, image := range r.Images {
		n := noteOf(r, role, NoteAttachment)
		n.ID += "-" + strconv.Itoa(i+1)
		media, _, _ := strings.Cut(strings.TrimPrefix(image, "data:"), ";")
		if len(media) == len(image) {
			media = "image"
		}
		n.Content = fmt.Sprintf("%s, %d characters", truncateText(media, maxName), len(image))
		d.appendNote(n)
	}
}

// addToolCall adds a note for a tool call, or completes an open one: that with the same id,
// or else the oldest of the same tool and agent.
func (d *digest) addToolCall(r *wire.UIRow) {
	var c struct {
		ID         string          `json:"id"`
		Tool       string          `json:"tool"`
		Status     wire.ToolStatus `json:"status"`
		Input      json.RawMessage `json:"input"`
		Result     json.RawMessage `json:"result"`
		DurationMS float64         `json:"durationMs"`
	}
	if json.Unmarshal([]byte(r.Text), &c) != nil || c.Tool == "" {
		d.addText(r, NoteAssistant, NoteText) // not a row that the hub wrote
		return
	}
	n := noteOf(r, NoteAssistant, NoteToolStart)
	n.ToolName, n.ToolUseID = truncateText(valid(c.Tool), maxName), truncateText(valid(c.ID), maxName)
	n.ToolInput = summarizeInput(c.Tool, c.Input)
	if c.Status == wire.ToolRunning {
		d.open = append(d.open, len(d.notes))
		d.appendNote(n)
		return
	}
	n.Type, n.Success, n.Duration = NoteToolComplete, new(c.Status == wire.ToolComplete), seconds(c.DurationMS)
	if text := truncateOutput(resultString(c.Result)); *n.Success {
		n.Output = text
	} else {
		n.Error = text
	}
	if at, ok := d.closeCall(&n); ok {
		start := &d.notes[at]
		n.ID, n.Timestamp, n.ToolUseID = start.ID, start.Timestamp, cmp.Or(n.ToolUseID, start.ToolUseID)
		if string(n.ToolInput) == string(noInput()) {
			n.ToolInput = start.ToolInput
		}
		*start = n
		return
	}
	d.appendNote(n)
}

// closeCall finds the start of a completed call and removes it from the open ones.
func (d *digest) closeCall(n *Note) (int, bool) {
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

// addTurnEnd adds the outcome of a turn.
func (d *digest) addTurnEnd(r *wire.UIRow) {
	var e struct {
		Outcome      providers.Outcome `json:"outcome"`
		DurationMS   float64           `json:"durationMs"`
		InputTokens  int               `json:"inputTokens"`
		OutputTokens int               `json:"outputTokens"`
		Reason       string            `json:"reason"`
	}
	if json.Unmarshal([]byte(r.Text), &e) != nil {
		return // not a row that the hub wrote
	}
	n := noteOf(r, NoteSystem, NoteResult)
	switch e.Outcome {
	case providers.Failed:
		n.Type, n.Content = NoteError, valid(e.Reason)
	case providers.Interrupted:
		n.Type, n.Content = NoteAborted, valid(e.Reason)
	}
	n.Duration, n.InputTokens, n.OutputTokens = seconds(e.DurationMS), max(e.InputTokens, 0), max(e.OutputTokens, 0)
	if d.mergeError(&n) {
		return
	}
	d.appendNote(n)
}

// mergeError reports whether the previous note already has the error that ended the turn;
// the end may have only its beginning. The previous note then gets the duration and the
// token counts.
func (d *digest) mergeError(end *Note) bool {
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

// cutMark ends a text that was truncated to fit into a row.
const cutMark = " […]"

func seconds(ms float64) float64 { return max(ms, 0) / 1000 }

func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
