package codextest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/everdesk/everdesk/providers/agent/agenttest"
)

type object = map[string]any

// fake is a stand-in for codex app-server 0.166 with the shapes of its messages.
type fake struct {
	home, thread string
	out          *json.Encoder
	outMu        sync.Mutex

	mu           sync.Mutex
	conversation *agenttest.Conversation
	tools        []string
	turn         string        // id of the running turn
	started      bool          // it was reported as started
	stop         chan struct{} // closed to cut off the running reply
	stopWhy      string        // steer or interrupt
	dir          string        // the working directory
	starting     *os.File      // a locked file until the stand-in is initialized
	readOnly     bool          // commands may not write
	steered      []input
	ids          int
	replies      map[string]chan json.RawMessage
	pidSpace     string
}

// input is the input of a turn.
type input struct {
	Input []struct{ Type, Text string } `json:"input"`
	ID    string                        `json:"clientUserMessageId"`
	Turn  string                        `json:"expectedTurnId"`
}

// text returns the texts of the input.
func (i input) text() string {
	var text strings.Builder
	for _, part := range i.Input {
		text.WriteString(part.Text)
	}
	return text.String()
}

type rpc struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
}

// Run runs the stand-in until the end of its input. It stores its conversations in home.
func Run(home string) {
	agenttest.WritePID(home)
	if len(os.Args) < 2 || os.Args[1] != "app-server" {
		fmt.Fprintln(os.Stderr, "not called as app-server")
		os.Exit(1)
	}
	starting, err := lockHome(home)
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error: failed to initialize sqlite state runtime")
		os.Exit(1)
	}
	f := &fake{home: home, starting: starting, out: json.NewEncoder(os.Stdout), replies: map[string]chan json.RawMessage{}, pidSpace: strconv.Itoa(os.Getpid())}
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

// lockHome locks the home while the stand-in starts: several that start at once cannot initialize it.
func lockHome(home string) (*os.File, error) {
	file, err := os.Create(filepath.Join(home, "starting")) //nolint:gosec // a file of a test
	if err != nil {
		return nil, err
	}
	return file, syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

func (f *fake) send(v object) {
	f.outMu.Lock()
	defer f.outMu.Unlock()
	_ = f.out.Encode(v)
}

// notify sends a notification of the thread.
func (f *fake) notify(method string, params object) {
	params["threadId"] = f.thread
	f.send(object{"method": method, "params": params, "emittedAtMs": 1})
}

func (f *fake) receive(m rpc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case m.Method == "" && m.Result != nil:
		if reply := f.replies[string(m.ID)]; reply != nil {
			reply <- m.Result
		}
	case m.Method == "" || m.ID == nil:
	default:
		result, err := f.serveLocked(m)
		if err != nil {
			f.send(object{"id": m.ID, "error": object{"code": -32600, "message": err.Error()}})
			return
		}
		f.send(object{"id": m.ID, "result": result})
	}
}

func (f *fake) serveLocked(m rpc) (object, error) {
	var in input
	_ = json.Unmarshal(m.Params, &in)
	switch m.Method {
	case "initialize": // an error that is retried may be reported before there is a thread
		_ = f.starting.Close()
		f.send(object{"method": "error", "params": object{"willRetry": true, "error": object{"message": "Reconnecting... 1/2"}}})
		return object{"userAgent": "everdesk/0.166.0"}, nil
	case "thread/start", "thread/resume", "thread/fork":
		return f.openLocked(m)
	case "turn/start":
		f.ids++
		f.turn = fmt.Sprint("turn-", f.pidSpace, "-", f.ids)
		f.stop, f.stopWhy, f.started = make(chan struct{}), "", false
		f.steered = []input{in}
		turn := f.turn
		go f.run(turn)
		return object{"turn": object{"id": f.turn, "status": "inProgress"}}, nil
	case "turn/steer":
		switch {
		case f.turn == "":
			return nil, errors.New("no active turn to steer")
		case f.turn != in.Turn:
			return nil, fmt.Errorf("expected active turn id `%s` but found `%s`", in.Turn, f.turn)
		}
		f.steered = append(f.steered, in)
		f.cutLocked("steer")
		return object{"turnId": f.turn}, nil
	case "turn/interrupt":
		if f.turn == "" || !f.started {
			return nil, errors.New("no active turn to interrupt")
		}
		f.cutLocked("interrupt")
		return object{}, nil
	case "thread/backgroundTerminals/clean", "account/login/start":
		return object{}, nil
	default:
		return nil, errors.New("no such method: " + m.Method)
	}
}

func (f *fake) cutLocked(why string) {
	if f.stopWhy == "" {
		close(f.stop)
	}
	if f.stopWhy != "interrupt" {
		f.stopWhy = why
	}
}

// openLocked begins, resumes or forks a thread. A thread has one writer.
func (f *fake) openLocked(m rpc) (object, error) {
	var p struct {
		ThreadID     string                  `json:"threadId"`
		Dir          string                  `json:"cwd"`
		Permissions  string                  `json:"permissions"`
		DynamicTools []struct{ Name string } `json:"dynamicTools"`
	}
	_ = json.Unmarshal(m.Params, &p)
	profile := permissions(p.Permissions)
	f.dir, f.readOnly = p.Dir, strings.Contains(profile, `extends=":read-only"`) && strings.Contains(profile, `="deny"`)
	f.conversation, f.thread = &agenttest.Conversation{}, "thread-"+f.pidSpace
	for _, t := range p.DynamicTools {
		f.tools = append(f.tools, t.Name)
	}
	if m.Method != "thread/start" {
		conversation, err := agenttest.Load(f.home, p.ThreadID)
		if err != nil {
			return nil, errors.New("no rollout found for thread id " + p.ThreadID)
		}
		tools, err := os.ReadFile(f.home + "/" + p.ThreadID + ".tools")
		if err != nil {
			return nil, err
		}
		f.conversation, f.tools = conversation, strings.Fields(string(tools))
		if m.Method == "thread/resume" {
			f.thread = p.ThreadID
		}
	}
	if err := os.WriteFile(f.home+"/"+f.thread+".tools", []byte(strings.Join(f.tools, " ")), 0o600); err != nil {
		return nil, err
	}
	return object{"thread": object{"id": f.thread, "status": object{"type": "idle"}}, "activePermissionProfile": object{"id": p.Permissions}}, nil
}

// permissions returns the definition of a profile of permissions in the arguments. Only a profile that denies
// reading something keeps an approved command in the sandbox: Codex runs it again outside of any other one
// that refuses it.
func permissions(profile string) string {
	for _, arg := range os.Args {
		if definition, ok := strings.CutPrefix(arg, "permissions."+profile+"="); ok {
			return definition
		}
	}
	return ""
}

// run runs a turn.
func (f *fake) run(turn string) {
	f.mu.Lock()
	f.started = true
	f.notify("turn/started", object{"turn": object{"id": turn}})
	f.mu.Unlock()
	status := "completed"
	var failed object
	for {
		f.takeSteered()
		var more bool
		more, failed = f.reply()
		f.mu.Lock()
		switch {
		case f.stopWhy == "interrupt":
			status = "interrupted"
		case failed != nil:
			status = "failed"
		case f.stopWhy == "steer" || more || len(f.steered) > 0:
			f.stop, f.stopWhy = make(chan struct{}), ""
			f.mu.Unlock()
			continue
		}
		break
	}
	f.turn = ""
	_ = f.conversation.Store(f.home, f.thread)
	f.notify("thread/tokenUsage/updated", object{"tokenUsage": object{"last": object{"inputTokens": 1040, "cachedInputTokens": 900, "outputTokens": 12}}})
	f.notify("turn/completed", object{"turn": object{"id": turn, "status": status, "error": failed}})
	f.mu.Unlock()
}

// takeSteered adds the messages that have arrived to the conversation.
func (f *fake) takeSteered() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, in := range f.steered {
		f.conversation.User(in.text())
		f.notify("item/completed", object{"item": object{"type": "userMessage", "id": "u-" + in.ID, "clientId": in.ID}})
	}
	f.steered = nil
	_ = f.conversation.Store(f.home, f.thread)
}

func (f *fake) id(kind string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ids++
	return fmt.Sprint(kind, "_", f.pidSpace, "_", f.ids)
}

// reply streams one reply and executes its calls. A reply that is cut off is dropped.
func (f *fake) reply() (more bool, failed object) {
	message := f.id("msg")
	var said strings.Builder
	f.mu.Lock()
	steps, stop := f.conversation.Reply(), f.stop
	f.mu.Unlock()
	var calls []agenttest.Step
	for _, s := range steps {
		switch s.Verb {
		case "say":
			for _, piece := range agenttest.Pieces(s.Text) {
				select {
				case <-stop:
					return false, nil
				default:
				}
				said.WriteString(piece)
				f.notify("item/agentMessage/delta", object{"itemId": message, "delta": piece})
			}
		case "hang":
			<-stop
			return false, nil
		case "fail":
			return false, failureOf(s.Text)
		case "ask", "shell":
			text := f.ask(s, stop)
			select {
			case <-stop:
				if text == "withdrawn" {
					return false, nil
				}
			default:
			}
			said.WriteString(text)
			f.notify("item/agentMessage/delta", object{"itemId": message, "delta": text})
		case "call":
			calls = append(calls, s)
		}
	}
	if said.Len() > 0 {
		f.notify("item/completed", object{"item": object{"type": "agentMessage", "id": message, "text": said.String()}})
		f.add(agenttest.Message{Assistant: true, Text: said.String()})
	}
	if len(calls) > 0 {
		f.call(calls, stop)
	}
	return len(calls) > 0, nil
}

func (f *fake) add(m agenttest.Message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.conversation.Messages = append(f.conversation.Messages, m)
	_ = f.conversation.Store(f.home, f.thread)
}

// failureOf returns the error of a turn.
func failureOf(class string) object {
	http := func(kind string, status int) object { return object{kind: object{"httpStatusCode": status}} }
	return object{"message": "something is wrong", "codexErrorInfo": map[string]any{
		"auth": http("httpConnectionFailed", 401), "rate": http("responseTooManyFailedAttempts", 429), "overloaded": "serverOverloaded",
		"transport": http("responseStreamDisconnected", 0), "context_length": "contextWindowExceeded", "invalid": "badRequest", "refused": "cyberPolicy",
	}[class]}
}
