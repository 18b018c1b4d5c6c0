package acptest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/everdesk/everdesk/providers/agent/agenttest"
)

type object = map[string]any

// fake is a stand-in for an agent with the shapes of messages of the protocol.
type fake struct {
	home      string
	abilities []string
	out       *json.Encoder
	outMu     sync.Mutex

	mu           sync.Mutex
	id           string // of the conversation
	conversation *agenttest.Conversation
	mcp          mcpClient
	dir          string
	ctx          context.Context // of the running prompt
	cancel       context.CancelFunc
	running      bool
	asks         bool          // in the mode in which it asks
	injected     []string      // steered messages
	steered      chan struct{} // closed when there are some
	ids          int
	replies      map[string]chan json.RawMessage
}

type rpc struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// rpcError is an error of the protocol.
type rpcError struct {
	code    int
	message string
	data    any
}

func (e *rpcError) Error() string { return e.message }

// Run runs the stand-in until the end of its input. It stores its conversations in home. Abilities
// are load, fork, steer, image, auto, clumsy and forgetful, with commas. A stand-in with auto begins in a mode in which
// it does not ask. One with clumsy answers a prompt that was cancelled with an error. One with forgetful drops a prompt
// that was cancelled before it has answered.
func Run(home, abilities string) {
	agenttest.WritePID(home)
	f := &fake{home: home, abilities: strings.Split(abilities, ","), out: json.NewEncoder(os.Stdout), replies: map[string]chan json.RawMessage{}}
	in := bufio.NewReader(os.Stdin)
	for {
		raw, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return
		}
		var m rpc
		if json.Unmarshal(raw, &m) == nil {
			f.receive(m)
		}
	}
}

func (f *fake) has(ability string) bool { return slices.Contains(f.abilities, ability) }

func (f *fake) send(v object) {
	v["jsonrpc"] = "2.0"
	f.outMu.Lock()
	defer f.outMu.Unlock()
	_ = f.out.Encode(v)
}

// update sends a notification about the conversation.
func (f *fake) update(kind string, fields object) {
	fields["sessionUpdate"] = kind
	f.send(object{"method": "session/update", "params": object{"sessionId": f.id, "update": fields}})
}

func (f *fake) reply(id json.RawMessage, result object, err error) {
	var e *rpcError
	switch {
	case err == nil:
		f.send(object{"id": id, "result": result})
	case errors.As(err, &e):
		f.send(object{"id": id, "error": object{"code": e.code, "message": e.message, "data": e.data}})
	default:
		f.send(object{"id": id, "error": object{"code": -32603, "message": err.Error()}})
	}
}

func (f *fake) receive(m rpc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch m.Method {
	case "":
		if reply := f.replies[string(m.ID)]; reply != nil {
			if m.Result == nil {
				m.Result = m.Error
			}
			reply <- m.Result
		}
	case "session/cancel":
		if f.running {
			f.cancel()
		}
	case "session/prompt":
		if f.running {
			f.reply(m.ID, nil, errors.New("a prompt is running"))
			return
		}
		f.running, f.injected, f.steered = true, nil, make(chan struct{})
		f.ctx, f.cancel = context.WithCancel(context.Background())
		ctx, texts := f.ctx, promptTexts(m.Params)
		go f.run(ctx, m.ID, texts)
	default:
		result, err := f.serveLocked(m)
		f.reply(m.ID, result, err)
	}
}

// promptTexts returns the texts of the blocks of a prompt.
func promptTexts(params json.RawMessage) (texts []string) {
	var p struct {
		Prompt []struct{ Type, Text, Data string } `json:"prompt"`
	}
	_ = json.Unmarshal(params, &p)
	for _, b := range p.Prompt {
		texts = append(texts, b.Text)
	}
	return texts
}

func (f *fake) serveLocked(m rpc) (object, error) {
	switch m.Method {
	case "initialize":
		session := object{}
		if f.has("fork") {
			session["fork"] = object{}
		}
		return object{
			"protocolVersion": 1,
			"agentCapabilities": object{
				"loadSession": f.has("load"), "mcpCapabilities": object{"http": true},
				"promptCapabilities": object{"image": f.has("image")}, "sessionCapabilities": session,
			},
			"agentInfo": object{"name": "stand-in", "version": "1"}, "authMethods": []object{},
			"_meta": object{"steering": object{"supported": f.has("steer")}},
		}, nil
	case "session/new", "session/load", "session/fork":
		opened, err := f.openLocked(m)
		if f.has("auto") && err == nil {
			opened["modes"] = object{"currentModeId": "auto", "availableModes": []object{{"id": "auto"}, {"id": "default"}}}
		}
		return opened, err
	case "session/set_mode":
		var p struct {
			Mode string `json:"modeId"`
		}
		_ = json.Unmarshal(m.Params, &p)
		f.asks = p.Mode == "default"
		return object{}, nil
	case "_session/steering":
		if !f.running || !f.has("steer") {
			return object{"outcome": "promptRequired"}, nil
		}
		if len(f.injected) == 0 {
			close(f.steered)
		}
		f.injected = append(f.injected, promptTexts(m.Params)...)
		return object{"outcome": "injected"}, nil
	default:
		return nil, &rpcError{code: -32601, message: "no method " + m.Method}
	}
}

// openLocked begins, loads or forks a conversation.
func (f *fake) openLocked(m rpc) (object, error) {
	var p struct {
		SessionID  string      `json:"sessionId"`
		Dir        string      `json:"cwd"`
		MCPServers []mcpClient `json:"mcpServers"`
	}
	_ = json.Unmarshal(m.Params, &p)
	f.conversation, f.id, f.dir = &agenttest.Conversation{}, "conversation-"+strconv.Itoa(os.Getpid()), p.Dir
	if len(p.MCPServers) > 0 {
		f.mcp = p.MCPServers[0]
	}
	if m.Method == "session/new" {
		return object{"sessionId": f.id}, nil
	}
	conversation, err := agenttest.Load(f.home, p.SessionID)
	if err != nil {
		return nil, &rpcError{code: -32602, message: "no conversation " + p.SessionID}
	}
	f.conversation = conversation
	if m.Method == "session/load" {
		f.id = p.SessionID
		for _, m := range conversation.Messages { // agents replay what was said
			f.update("agent_message_chunk", object{"content": object{"type": "text", "text": m.Text}})
		}
	}
	return object{"sessionId": f.id}, nil
}

// run works on a prompt.
func (f *fake) run(ctx context.Context, id json.RawMessage, texts []string) {
	f.mu.Lock()
	if strings.HasPrefix(strings.TrimSpace(strings.Join(texts, "")), "/") { // a command of the agent, which it does not know
		f.running = false
		f.reply(id, object{"stopReason": "end_turn"}, nil)
		f.mu.Unlock()
		return
	}
	before := len(f.conversation.Messages)
	for _, text := range texts {
		f.conversation.User(text)
	}
	prompted := len(f.conversation.Messages)
	_ = f.conversation.Store(f.home, f.id)
	f.mu.Unlock()
	var err error
	for more := true; more && err == nil && ctx.Err() == nil; {
		more, err = f.answer(ctx)
		f.mu.Lock()
		if len(f.injected) > 0 {
			for _, text := range f.injected {
				f.conversation.User(text)
			}
			f.injected, more, f.steered = nil, true, make(chan struct{})
			_ = f.conversation.Store(f.home, f.id)
		}
		if !more || err != nil || ctx.Err() != nil {
			f.running = false // nothing is injected any more
		}
		f.mu.Unlock()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if ctx.Err() != nil && f.has("forgetful") && len(f.conversation.Messages) == prompted {
		f.conversation.Messages = f.conversation.Messages[:before]
	}
	_ = f.conversation.Store(f.home, f.id)
	result := object{"stopReason": "end_turn", "usage": object{"inputTokens": 140, "outputTokens": 12, "totalTokens": 1052, "cachedReadTokens": 900}}
	var e *rpcError
	switch {
	case ctx.Err() != nil && f.has("clumsy"):
		err = &rpcError{code: -32603, message: "Internal error"}
	case ctx.Err() != nil:
		result["stopReason"], err = "cancelled", nil
	case errors.As(err, &e) && e.message == "refusal":
		result["stopReason"], err = "refusal", nil
	}
	f.running = false
	f.reply(id, result, err)
}

func (f *fake) next(kind string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ids++
	return fmt.Sprint(kind, "_", os.Getpid(), "_", f.ids)
}

// answer streams one reply and executes its calls.
func (f *fake) answer(ctx context.Context) (more bool, err error) {
	var said strings.Builder
	defer func() {
		if said.Len() > 0 {
			f.add(agenttest.Message{Assistant: true, Text: said.String()})
		}
	}()
	say := func(text string) {
		said.WriteString(text)
		f.update("agent_message_chunk", object{"content": object{"type": "text", "text": text}})
	}
	f.mu.Lock()
	steps, steered := f.conversation.Reply(), f.steered
	f.mu.Unlock()
	var calls []agenttest.Step
	for _, s := range steps {
		switch s.Verb {
		case "say":
			for _, piece := range agenttest.Pieces(s.Text) {
				select {
				case <-ctx.Done():
					return false, nil
				case <-steered:
					return false, nil
				default:
				}
				say(piece)
			}
		case "hang":
			select {
			case <-ctx.Done():
			case <-steered:
			}
			return false, nil
		case "fail":
			return false, failureOf(s.Text)
		case "ask":
			if text := f.ask(ctx, s); text != "" {
				say(text)
			}
		case "call":
			calls = append(calls, s)
		default:
			f.extra(ctx, s, say)
		}
	}
	if len(calls) > 0 {
		if said.Len() > 0 {
			f.add(agenttest.Message{Assistant: true, Text: said.String()})
			said.Reset()
		}
		f.call(ctx, calls)
	}
	return len(calls) > 0, nil
}

func (f *fake) add(m agenttest.Message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.conversation.Messages = append(f.conversation.Messages, m)
	_ = f.conversation.Store(f.home, f.id)
}

// failureOf returns the error of a prompt.
func failureOf(class string) error {
	return map[string]*rpcError{
		"auth": {code: -32000, message: "Authentication required"}, "rate": {code: 429, message: "Rate limit"},
		"overloaded": {code: -32603, message: "Internal error", data: object{"details": "529 Overloaded"}}, "transport": {code: -32603, message: "Internal error"},
		"key":            {code: -32603, message: "Incorrect API key provided: " + os.Getenv("AGENT_KEY")},
		"context_length": {code: -32603, message: "prompt is too long"}, "invalid": {code: -32602, message: "Invalid params"}, "refused": {message: "refusal"},
	}[class]
}

// ask asks for approval of a command and returns the answer.
func (f *fake) ask(ctx context.Context, s agenttest.Step) string {
	f.mu.Lock()
	asks := f.asks || !f.has("auto")
	f.mu.Unlock()
	if !asks {
		return "decided without the user"
	}
	id := f.next("ask")
	f.update("tool_call", object{"toolCallId": id, "title": "bash", "kind": "execute", "status": "pending", "rawInput": object{}})
	raw := f.request(ctx, "session/request_permission", object{
		"toolCall": object{"toolCallId": id, "title": "bash", "kind": "execute", "rawInput": s.Input},
		"options": []object{
			{"optionId": "always", "kind": "allow_always", "name": "Always"},
			{"optionId": "once", "kind": "allow_once", "name": "Once"},
			{"optionId": "reject", "kind": "reject_once", "name": "No"},
		},
	})
	var answer struct {
		Outcome struct{ Outcome, OptionID string }
	}
	_ = json.Unmarshal(raw, &answer)
	switch answer.Outcome.OptionID {
	case "once":
		out, err := s.Execute(f.dir)
		if err != nil {
			f.update("tool_call_update", object{"toolCallId": id, "status": "failed"})
			out += err.Error()
		} else {
			f.update("tool_call_update", object{"toolCallId": id, "status": "completed"})
		}
		if s.Verb == "shell" {
			return out
		}
		return "approved"
	case "reject":
		f.update("tool_call_update", object{"toolCallId": id, "status": "failed"})
		return "denied"
	default:
		return ""
	}
}

// request sends a request to the hub and waits for the result. Ids begin with 0.
func (f *fake) request(ctx context.Context, method string, params object) json.RawMessage {
	reply := make(chan json.RawMessage, 1)
	f.mu.Lock()
	id := strconv.Itoa(len(f.replies))
	f.replies[id] = reply
	params["sessionId"] = f.id
	f.mu.Unlock()
	f.send(object{"id": json.RawMessage(id), "method": method, "params": params})
	select {
	case raw := <-reply:
		return raw
	case <-ctx.Done():
		return nil
	}
}
