package claudetest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/everdesk/everdesk/providers/agent/agenttest"
)

type object = map[string]any

// fake is a stand-in for Claude Code 2.1 with the shapes of its lines.
type fake struct {
	home, session string
	out           *json.Encoder
	outMu         sync.Mutex

	mu           sync.Mutex
	conversation *agenttest.Conversation
	queue        []*userLine
	running      bool
	stop         chan struct{} // closed to cut off the running part
	stopWhy      string        // now or interrupt
	requests     int
	replies      map[string]chan json.RawMessage
	tools        []string
	ready        chan struct{} // closed when the tools are known
	spent        float64
	idle         *sync.Cond
}

// userLine is a message of the hub.
type userLine struct {
	Type      string          `json:"type"`
	UUID      string          `json:"uuid"`
	Priority  string          `json:"priority"`
	RequestID string          `json:"request_id"`
	Request   json.RawMessage `json:"request"`
	Response  struct {
		RequestID string          `json:"request_id"`
		Response  json.RawMessage `json:"response"`
	} `json:"response"`
	Message struct {
		Content []struct{ Type, Text string } `json:"content"`
	} `json:"message"`
}

func (l *userLine) text() string {
	var text strings.Builder
	for _, c := range l.Message.Content {
		text.WriteString(c.Text)
	}
	return text.String()
}

// Run runs the stand-in until the end of its input. It stores its conversations in home.
func Run(home string) {
	agenttest.WritePID(home)
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	go func() {
		<-term
		os.Exit(143)
	}()
	f := &fake{home: home, out: json.NewEncoder(os.Stdout), replies: map[string]chan json.RawMessage{}, ready: make(chan struct{})}
	f.idle = sync.NewCond(&f.mu)
	f.out.SetEscapeHTML(false)
	if err := f.open(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	in := bufio.NewReader(os.Stdin)
	for {
		raw, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		var l userLine
		if json.Unmarshal(raw, &l) != nil {
			fmt.Fprintln(os.Stderr, "a line that is no JSON")
			os.Exit(1)
		}
		f.receive(&l)
	}
	f.mu.Lock() // the end of the input waits for the turn
	for f.running {
		f.idle.Wait()
	}
}

// open finds or begins the conversation of the arguments.
func (f *fake) open(args []string) (err error) {
	value := func(name string) string {
		if i := slices.Index(args, name); i >= 0 {
			return args[i+1]
		}
		return ""
	}
	for _, needed := range []string{"--permission-prompt-tool", "--strict-mcp-config", "--verbose", "--include-partial-messages"} {
		if !slices.Contains(args, needed) {
			return fmt.Errorf("%s is missing", needed)
		}
	}
	f.session, f.conversation = value("--session-id"), &agenttest.Conversation{}
	if from := value("--resume"); from != "" {
		if f.conversation, err = agenttest.Load(f.home, from); err != nil {
			return fmt.Errorf("no conversation found with session ID: %s", from)
		}
		if !slices.Contains(args, "--fork-session") {
			f.session = from
		}
	}
	return nil
}

func (f *fake) send(v object) {
	f.outMu.Lock()
	defer f.outMu.Unlock()
	v["session_id"] = f.session
	_ = f.out.Encode(v)
}

func (f *fake) receive(l *userLine) {
	switch l.Type {
	case "control_request":
		var r struct{ Subtype string }
		_ = json.Unmarshal(l.Request, &r)
		f.control(l.RequestID, r.Subtype)
	case "control_response":
		f.mu.Lock()
		reply := f.replies[l.Response.RequestID]
		f.mu.Unlock()
		if reply != nil {
			reply <- l.Response.Response
		}
	case "user":
		f.message(l)
	}
}

func (f *fake) control(id, subtype string) {
	result := object{}
	switch subtype {
	case "initialize":
		go func() { // the tools of the hub
			f.mcp("initialize", object{"protocolVersion": "2025-11-25"})
			f.mcp("notifications/initialized", nil)
			var list struct {
				Result struct{ Tools []struct{ Name string } }
			}
			_ = json.Unmarshal(f.mcp("tools/list", nil), &list)
			f.mu.Lock()
			for _, t := range list.Result.Tools {
				f.tools = append(f.tools, t.Name)
			}
			f.mu.Unlock()
			close(f.ready)
		}()
		result = object{"claude_code_version": "2.1.325", "pid": os.Getpid()}
	case "interrupt":
		f.mu.Lock()
		for _, l := range f.queue {
			f.send(object{"type": "command_lifecycle", "command_uuid": l.UUID, "state": "cancelled"})
		}
		f.queue = nil
		f.cutLocked("interrupt")
		f.mu.Unlock()
	default:
		f.send(object{"type": "control_response", "response": object{"subtype": "error", "request_id": id, "error": "Unsupported control request subtype: " + subtype}})
		return
	}
	f.send(object{"type": "control_response", "response": object{"subtype": "success", "request_id": id, "response": result}})
}

// message queues a message. With priority now it cuts off the running part.
func (f *fake) message(l *userLine) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.send(object{"type": "command_lifecycle", "command_uuid": l.UUID, "state": "queued"})
	f.queue = append(f.queue, l)
	if l.Priority == "now" {
		f.cutLocked("now")
	}
	if !f.running {
		f.running = true
		f.stop, f.stopWhy = make(chan struct{}), ""
		go f.run()
	}
}

// cutLocked cuts off the running part, once.
func (f *fake) cutLocked(why string) {
	if f.running && f.stopWhy == "" {
		f.stopWhy = why
		close(f.stop)
	}
}

// run works on queued messages until there are none.
func (f *fake) run() {
	<-f.ready
	for {
		f.mu.Lock()
		if len(f.queue) == 0 {
			f.running = false
			f.idle.Broadcast()
			f.mu.Unlock()
			return
		}
		l := f.queue[0]
		f.queue = f.queue[1:]
		f.stop, f.stopWhy = make(chan struct{}), ""
		f.mu.Unlock()
		f.part(l)
	}
}

// part works on one message, and on those that are folded in.
func (f *fake) part(l *userLine) {
	taken := []string{}
	take := func(l *userLine) {
		if strings.HasPrefix(l.text(), "/") {
			panic("a message that is a command of the program: " + l.text())
		}
		f.send(object{"type": "command_lifecycle", "command_uuid": l.UUID, "state": "started"})
		taken = append(taken, l.UUID)
		f.conversation.User(l.text())
	}
	take(l)
	f.send(object{"type": "system", "subtype": "init"})
	result := object{"type": "result", "subtype": "success", "is_error": false, "terminal_reason": "completed", "stop_reason": "end_turn"}
	for {
		more, failed := f.reply()
		f.mu.Lock()
		why := f.stopWhy
		f.mu.Unlock()
		if failed != nil {
			maps.Copy(result, failed)
			break
		}
		if why == "interrupt" {
			result["subtype"], result["is_error"], result["terminal_reason"] = "error_during_execution", true, "aborted_streaming"
			break
		}
		if why == "now" {
			result["terminal_reason"] = "aborted_streaming"
			break
		}
		if !more {
			break
		}
		f.mu.Lock() // messages without priority are folded in after a tool
		folded := slices.Clone(f.queue)
		f.queue = slices.DeleteFunc(f.queue, func(l *userLine) bool { return l.Priority != "later" })
		f.mu.Unlock()
		for _, l := range folded {
			if l.Priority != "later" {
				take(l)
			}
		}
	}
	_ = f.conversation.Store(f.home, f.session)
	f.spent += 0.01
	result["usage"] = object{"input_tokens": 25, "cache_read_input_tokens": 900, "output_tokens": 13}
	result["total_cost_usd"], result["user_message_uuids"] = f.spent, taken
	state := "completed"
	if result["terminal_reason"] == "aborted_streaming" {
		state = "cancelled"
	}
	if state == "cancelled" { // it may come before the result, too
		f.send(object{"type": "command_lifecycle", "command_uuid": taken[0], "state": state})
	}
	f.send(result)
	for _, id := range taken {
		f.send(object{"type": "command_lifecycle", "command_uuid": id, "state": state})
	}
}

// reply streams one reply of the model and executes its calls. It reports whether the model is to
// be called again, and the end of a turn that failed.
func (f *fake) reply() (more bool, failed object) {
	var said strings.Builder
	steps := f.conversation.Reply()
	_ = f.conversation.Store(f.home, f.session)
	f.send(object{"type": "stream_event", "event": object{"type": "message_start"}})
	f.send(object{"type": "stream_event", "event": object{"type": "content_block_start", "index": 0}})
	flush := func() {
		if said.Len() > 0 {
			f.send(object{"type": "assistant", "message": object{"role": "assistant", "content": []object{{"type": "text", "text": said.String()}}}})
			f.conversation.Messages = append(f.conversation.Messages, agenttest.Message{Assistant: true, Text: said.String()})
			said.Reset()
		}
	}
	var calls []agenttest.Step
	for _, s := range steps {
		switch s.Verb {
		case "say":
			for _, piece := range agenttest.Pieces(s.Text) {
				if f.cut() {
					flush()
					return false, nil
				}
				said.WriteString(piece)
				f.send(object{"type": "stream_event", "event": object{"type": "content_block_delta", "index": 0, "delta": object{"type": "text_delta", "text": piece}}})
			}
		case "hang":
			<-f.stop
			flush()
			return false, nil
		case "fail":
			flush()
			return false, failureOf(s.Text)
		case "ask", "shell":
			flush()
			f.ask(s)
			if f.cut() {
				return false, nil
			}
		case "call":
			calls = append(calls, s)
		}
	}
	flush()
	if len(calls) > 0 {
		f.call(calls)
	}
	return len(calls) > 0, nil
}

func (f *fake) cut() bool {
	select {
	case <-f.stop:
		return true
	default:
		return false
	}
}

// failureOf returns the result line of a failed model call.
func failureOf(class string) object {
	status := map[string]int{"auth": 401, "rate": 429, "overloaded": 529, "transport": 502, "context_length": 400, "invalid": 400}[class]
	text := fmt.Sprintf("API Error: %d something is wrong", status)
	if class == "context_length" {
		text = "API Error: 400 prompt is too long: 210000 tokens > 200000 maximum"
	}
	if class == "refused" {
		return object{"stop_reason": "refusal"}
	}
	return object{"is_error": true, "api_error_status": status, "terminal_reason": "api_error", "result": text}
}
