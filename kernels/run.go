package kernels

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/everdesk/everdesk/wire"
)

// Bounds of the outputs of one execution, in bytes. What exceeds them is counted and dropped.
const (
	// MaxOutput bounds all outputs together, maxText the text of streams, and maxDisplay one display.
	MaxOutput  = 384 << 10
	maxText    = 128 << 10
	maxDisplay = 256 << 10
	// maxOutputs bounds the number of outputs, which may be empty.
	maxOutputs = 1000
)

// InputRequest is a question of running code to the user.
type InputRequest struct {
	Prompt   string `json:"prompt"`
	Password bool   `json:"password"`
	// Parent is the header of the request, which the answer names.
	Parent Header `json:"parent"`
}

// Batch is what an execution has produced since the last [Run.Take].
type Batch struct {
	// Clear says that the outputs before this batch are removed. Outputs follow. Updates replace displays of
	// earlier batches or executions.
	Clear            bool
	Outputs, Updates []wire.CellOutput
	// Cut is the number of bytes left out since the execution began, or since the last clear.
	Cut int64
	// Lost says that the server left out output, and not how much.
	Lost bool
	// LastMessage is the id of the newest published message that is in this or an earlier batch.
	LastMessage string
	// Count is the number of the execution in the kernel, once it is known.
	Count int
	// Input is a question that waits for an answer; nil if there is no new one.
	Input *InputRequest
	// Done says that nothing follows, and State how the execution ended.
	Done  bool
	State wire.CellState
}

// IsEmpty reports whether the batch changes no outputs.
func (b *Batch) IsEmpty() bool {
	return !b.Clear && len(b.Outputs) == 0 && len(b.Updates) == 0
}

// Run collects what one execution produces. Create it with [NewRun]. Its methods may be called concurrently.
type Run struct {
	id      string
	changed chan struct{} // holds a token while there may be something to take

	mu    sync.Mutex
	batch Batch
	// used and text are the sizes of all outputs and of the text of streams, and outputs is their number. clearNext says that the next output
	// removes the others.
	used, text int
	outputs    int
	clearNext  bool
	replied    bool
	idle       bool
	raised     bool // an error was published
	published  bool // the kernel has published something
}

// NewRun returns a collector for the execution with an id. used is the size of the outputs that it has already, and cut the
// number of bytes that were left out of them.
func NewRun(id string, used int, cut int64) *Run {
	return &Run{id: id, changed: make(chan struct{}, 1), used: used, text: min(used, maxText), batch: Batch{Cut: cut}}
}

// Changed receives a value when there may be something to take.
func (r *Run) Changed() <-chan struct{} { return r.changed }

// Take returns what has come since the last call.
func (r *Run) Take() Batch {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.batch
	if b.Done = r.replied && r.idle; b.Done && b.State == "" {
		b.State = wire.CellOK
		if r.raised {
			b.State = wire.CellFailed
		}
	}
	r.batch = Batch{Cut: b.Cut, LastMessage: b.LastMessage, Count: b.Count, State: r.batch.State}
	return b
}

// LeaveOut counts bytes of taken outputs that were left out, and returns how many were since the execution began, or since
// the last clear.
func (r *Run) LeaveOut(size int) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.batch.Cut += int64(size)
	return r.batch.Cut
}

// Idle reports whether the kernel has finished the execution, although its reply may be missing: it may have gone
// to a hub that was killed.
func (r *Run) Idle() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.idle
}

// Published reports whether the kernel has published anything about the execution.
func (r *Run) Published() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.published
}

// MarkPublished records that the kernel has published something about the execution, to another collector.
func (r *Run) MarkPublished() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.published = true
}

// Replied reports whether the kernel has replied, although its idle status may be missing.
func (r *Run) Replied() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.replied
}

// EndWithoutReply ends the execution of a kernel that is idle without its reply.
func (r *Run) EndWithoutReply() {
	r.mu.Lock()
	r.replied = true
	r.mu.Unlock()
	r.signal()
}

// EndWithoutIdle ends an execution that has its reply without the idle status, which got lost.
func (r *Run) EndWithoutIdle() {
	r.mu.Lock()
	r.idle = true
	r.mu.Unlock()
	r.signal()
}

// Receive takes a message of the kernel. Messages of other executions are ignored.
func (r *Run) Receive(m Message) {
	if m.Parent.ID != r.id {
		return
	}
	r.mu.Lock()
	if m.Channel == channelIOPub {
		r.batch.LastMessage, r.published = m.Header.ID, true
	}
	if m.Cut > 0 && len(m.Content) == 0 {
		r.addUnread(m)
	} else {
		r.add(m)
	}
	r.batch.Cut += m.Cut // after a message that clears the outputs
	r.mu.Unlock()
	r.signal()
}

// addUnread takes a message that was too large to be read. The caller holds r.mu.
func (r *Run) addUnread(m Message) {
	switch m.Header.Type {
	case "execute_reply": // only errors are that large
		r.replied, r.batch.State = true, wire.CellFailed
	case "error":
		r.raised = true
		r.output(wire.CellOutput{Type: wire.OutputError, Name: "Error", Value: "Its text is too large to be shown."})
	case "display_data", "execute_result":
		r.output(wire.CellOutput{Type: wire.OutputDisplay, Data: encodeForms(map[string]string{"text/plain": tooLarge("An output", m.Cut)})})
	}
}

// tooLarge says that something was left out.
func tooLarge(what string, size int64) string {
	return fmt.Sprintf("[%s of %.1f MB is too large to be shown.]", what, float64(size)/(1<<20))
}

func (r *Run) signal() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// content is the union of the contents of all messages that executions cause.
type content struct {
	State     string                     `json:"execution_state"`
	Status    string                     `json:"status"`
	Count     int                        `json:"execution_count"`
	Name      string                     `json:"name"`
	Text      string                     `json:"text"`
	Data      map[string]json.RawMessage `json:"data"`
	Transient struct {
		DisplayID string `json:"display_id"`
	} `json:"transient"`
	ErrorName  string   `json:"ename"`
	ErrorValue string   `json:"evalue"`
	Traceback  []string `json:"traceback"`
	Wait       bool     `json:"wait"`
	Payload    []struct {
		Source string                     `json:"source"`
		Data   map[string]json.RawMessage `json:"data"`
	} `json:"payload"`
	InputRequest
}

// add takes a message. The caller holds r.mu.
func (r *Run) add(m Message) {
	var c content
	if json.Unmarshal(m.Content, &c) != nil {
		return
	}
	switch m.Header.Type {
	case "status":
		r.idle = r.idle || c.State == "idle"
	case "execute_input":
		r.batch.Count = c.Count
	case "execute_reply":
		r.replied = true
		r.batch.Count = max(r.batch.Count, c.Count)
		r.batch.State = replyState(c.Status)
		for _, p := range c.Payload {
			if p.Source == "page" { // help, such as of "obj?"
				r.output(wire.CellOutput{Type: wire.OutputDisplay, Data: r.dataOf(p.Data, 0)})
			}
		}
	case "input_request":
		c.Parent = m.Header
		request := c.InputRequest
		request.Prompt = strings.ToValidUTF8(request.Prompt[:min(len(request.Prompt), 2000)], "")
		r.batch.Input = &request
	case "stream":
		r.addText(c)
	case "error":
		r.raised = true
		if m.Cut > 0 { // its name comes last
			c.ErrorName, c.ErrorValue = cmp.Or(c.ErrorName, "Error"), cmp.Or(c.ErrorValue, "Its text is too large to be shown.")
		}
		r.output(wire.CellOutput{Type: wire.OutputError, Name: bounded(c.ErrorName, 200), Value: bounded(c.ErrorValue, 4000), Text: bounded(strings.Join(c.Traceback, "\n"), 32<<10)})
	case "display_data", "execute_result":
		kind := wire.OutputDisplay
		if m.Header.Type == "execute_result" {
			kind = wire.OutputResult
		}
		r.output(wire.CellOutput{Type: kind, Data: r.dataOf(c.Data, m.Cut), DisplayID: bounded(c.Transient.DisplayID, 200)})
	case "update_display_data":
		r.update(wire.CellOutput{Type: wire.OutputDisplay, Data: r.dataOf(c.Data, m.Cut), DisplayID: bounded(c.Transient.DisplayID, 200)})
	case "clear_output":
		if r.clearNext = c.Wait; !c.Wait {
			r.clear()
		}
	}
}

func replyState(status string) wire.CellState {
	switch status {
	case "ok":
		return wire.CellOK
	case "aborted", "abort":
		return wire.CellAborted
	}
	return wire.CellFailed
}

// bounded returns the beginning of a text.
func bounded(s string, size int) string {
	if len(s) <= size {
		return s
	}
	return strings.ToValidUTF8(s[:size], "")
}

func (r *Run) clear() {
	r.clearNext = false
	r.batch.Clear, r.batch.Outputs, r.batch.Cut = true, nil, 0
	r.used, r.text, r.outputs = 0, 0, 0
}

// addText adds text of a stream. Lines that carriage returns overwrite within the batch are dropped.
func (r *Run) addText(c content) {
	if r.clearNext {
		r.clear()
	}
	name := "stdout"
	if c.Name == "stderr" {
		name = "stderr"
	}
	text := c.Text
	r.batch.Lost = r.batch.Lost || name == "stderr" && isRateNotice(text)
	var last *wire.CellOutput
	if n := len(r.batch.Outputs); n > 0 && r.batch.Outputs[n-1].Type == wire.OutputStream && r.batch.Outputs[n-1].Name == name {
		last = &r.batch.Outputs[n-1]
		if strings.Contains(text, "\r") {
			before := len(last.Text)
			text = overwrite(last.Text + text)
			last.Text = ""
			r.used, r.text = r.used-before, r.text-before
		}
	} else {
		text = overwrite(text)
	}
	room := max(0, min(maxText-r.text, MaxOutput-r.used))
	if last == nil && r.outputs >= maxOutputs {
		room = 0
	}
	if len(text) > room {
		kept := bounded(text, room)
		r.batch.Cut += int64(len(text) - len(kept))
		text = kept
	}
	if text == "" {
		return
	}
	r.used, r.text = r.used+len(text), r.text+len(text)
	if last != nil {
		last.Text += text
		return
	}
	r.outputs++
	r.batch.Outputs = append(r.batch.Outputs, wire.CellOutput{Type: wire.OutputStream, Name: name, Text: text})
}

// isRateNotice reports whether a text is what a server with its default limits sends instead of output that came too fast.
func isRateNotice(text string) bool {
	return strings.HasPrefix(text, "IOPub data rate exceeded.") || strings.HasPrefix(text, "IOPub message rate exceeded.")
}

// overwrite removes the parts of lines that carriage returns overwrite, except those of the first line, which may
// continue earlier text, and of a last line that may be continued.
func overwrite(text string) string {
	if !strings.Contains(text, "\r") {
		return text
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		parts := strings.Split(line, "\r")
		if len(parts) < 3 {
			continue
		}
		// The first part may continue a line of an earlier batch, and the last may be empty.
		kept := parts[len(parts)-2:]
		longest := ""
		for _, p := range parts[1 : len(parts)-2] {
			if len(p) > len(longest) {
				longest = p
			}
		}
		if len(longest) > len(kept[0]) && len(longest) > len(kept[1]) { // its end stays visible
			kept = append([]string{longest}, kept...)
		}
		lines[i] = strings.Join(append([]string{parts[0]}, kept...), "\r")
	}
	return strings.Join(lines, "\n")
}

// output adds an output, if there is room for it.
func (r *Run) output(o wire.CellOutput) {
	if r.clearNext {
		r.clear()
	}
	size := len(o.Data) + len(o.Text) + len(o.Value)
	if r.used+size > MaxOutput || r.outputs >= maxOutputs {
		r.batch.Cut += int64(size)
		return
	}
	r.used += size
	r.outputs++
	r.batch.Outputs = append(r.batch.Outputs, o)
}

// update replaces a display of this batch, or of an earlier one.
func (r *Run) update(o wire.CellOutput) {
	if o.DisplayID == "" || len(o.Data) == 0 {
		return
	}
	found := false
	for i := range r.batch.Outputs {
		if have := &r.batch.Outputs[i]; have.DisplayID == o.DisplayID {
			r.used += len(o.Data) - len(have.Data)
			have.Data, found = o.Data, true
		}
	}
	for i := range r.batch.Updates {
		if r.batch.Updates[i].DisplayID == o.DisplayID {
			r.batch.Updates[i], found = o, true
		}
	}
	const maxUpdates = 100
	if !found && len(r.batch.Updates) < maxUpdates {
		r.batch.Updates = append(r.batch.Updates, o)
	}
}

// dataOf returns the forms of a display that are text, as JSON. The largest are left out until the rest fits, but the
// plain text is only cut to maxText; it says what was left out. cut is the number of bytes of the message that were not read: only plain text is of use without its
// end.
func (r *Run) dataOf(data map[string]json.RawMessage, cut int64) json.RawMessage {
	forms, size := map[string]string{}, 0
	var note strings.Builder
	if cut > 0 {
		note.WriteString(tooLarge("An output", cut) + "\n")
	}
	for kind, raw := range data {
		value, ok := textForm(raw)
		switch {
		case cut > 0 && kind != "text/plain":
			continue
		case !ok || len(kind) > 200: // JSON, such as that of charts and widgets, which the page cannot show
			r.batch.Cut += int64(len(raw))
			continue
		}
		if strings.HasPrefix(kind, "image/") && kind != "image/svg+xml" {
			value = strings.Join(strings.Fields(value), "") // base64 of kernels has line breaks
		}
		forms[kind] = value
		size += len(value)
	}
	for size > maxDisplay {
		largest := ""
		for kind, value := range forms {
			if kind == "text/plain" && len(value) <= maxText {
				continue // what is left of the display for everyone who cannot show the rest
			}
			if largest == "" || len(value) > len(forms[largest]) {
				largest = kind
			}
		}
		if largest == "text/plain" {
			cut := bounded(forms[largest], maxText)
			r.batch.Cut += int64(len(forms[largest]) - len(cut))
			size -= len(forms[largest]) - len(cut)
			forms[largest] = cut
			continue
		}
		r.batch.Cut += int64(len(forms[largest]))
		note.WriteString(tooLarge(largest, int64(len(forms[largest]))) + "\n")
		size -= len(forms[largest])
		delete(forms, largest)
	}
	if note.Len() > 0 {
		forms["text/plain"] = note.String() + forms["text/plain"]
	}
	return encodeForms(forms)
}

func encodeForms(forms map[string]string) json.RawMessage {
	encoded, _ := json.Marshal(forms) // strings only
	return encoded
}

// textForm returns a form of a display that is a text, or a list of lines.
func textForm(raw json.RawMessage) (string, bool) {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s, true
	}
	var lines []string
	if json.Unmarshal(raw, &lines) == nil {
		return strings.Join(lines, ""), true
	}
	return "", false
}

// StateOf returns the state that a message of the kernel itself reports: restarting or dead, or empty.
func StateOf(m Message) wire.KernelState {
	if m.Header.Type != "status" || m.Channel != channelIOPub {
		return ""
	}
	var c content
	_ = json.Unmarshal(m.Content, &c) // a status without a state reports nothing
	switch c.State {
	case "restarting", "autorestarting":
		return wire.KernelRestarting
	case "dead":
		return wire.KernelDead
	}
	return ""
}
