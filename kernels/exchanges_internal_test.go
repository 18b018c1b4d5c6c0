package kernels

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/wire"
)

// exchange is what a Jupyter server 1.23 with ipykernel 6.17 sent for one request: the channel, the type and the content of
// each message, in the order in which they came. A parent other than P follows the type after a slash.
type exchange struct {
	code     string
	messages []string
	want     string // the outputs, as text
	state    wire.CellState
	count    int
}

func exchanges() []exchange {
	const busy, idle = `iopub status {"execution_state":"busy"}`, `iopub status {"execution_state":"idle"}`
	const replied = `shell execute_reply {"status":"ok","execution_count":1,"user_expressions":{},"payload":[]}`
	return []exchange{
		{
			code: "print('out'); print('err', file=sys.stderr); 1+1", count: 1, state: wire.CellOK, want: `stream stdout "out\n"|stream stderr "err\n"|execute_result {"text/plain":"2"}|`,
			messages: []string{
				busy, `iopub execute_input {"code":"…","execution_count":1}`, `iopub stream {"name":"stdout","text":"out\n"}`, `iopub stream {"name":"stderr","text":"err\n"}`,
				`iopub execute_result {"data":{"text/plain":"2"},"metadata":{},"execution_count":1}`, replied, idle,
			},
		},
		{
			code: "the idle status comes before the reply", count: 1, state: wire.CellOK, want: `stream stdout "a"|`,
			messages: []string{busy, `iopub stream {"name":"stdout","text":"a"}`, idle, replied},
		},
		{code: "there is no reply", messages: []string{busy, idle}},
		{code: "there is no idle status", count: 1, state: wire.CellOK, messages: []string{busy, replied}},
		{
			code: "1/0", count: 2, state: wire.CellFailed, want: `error ZeroDivisionError "division by zero"|`,
			messages: []string{
				busy, `iopub execute_input {"code":"1/0","execution_count":2}`,
				`iopub error {"traceback":["\u001b[0;31m-----","ZeroDivisionError"],"ename":"ZeroDivisionError","evalue":"division by zero"}`,
				`shell execute_reply {"status":"error","traceback":[],"ename":"ZeroDivisionError","evalue":"division by zero","engine_info":{"engine_id":-1},"execution_count":2,"user_expressions":{},"payload":[]}`, idle,
			},
		},
		{
			code: "display(Image(…)), whose base64 ends with a line break", count: 1, state: wire.CellOK, want: `display_data {"image/png":"iVBORw0ggg==","text/plain":"\u003cImage\u003e"}|`,
			messages: []string{busy, `iopub display_data {"data":{"image/png":"iVBORw0ggg==\n","text/plain":"<Image>"},"metadata":{},"transient":{}}`, replied, idle},
		},
		{
			code: "a display that is updated", count: 1, state: wire.CellOK, want: `display_data {"text/plain":"b"}|`,
			messages: []string{
				busy, `iopub display_data {"data":{"text/plain":"a"},"metadata":{},"transient":{"display_id":"d1"}}`,
				`iopub update_display_data {"data":{"text/plain":"b"},"metadata":{},"transient":{"display_id":"d1"}}`, replied, idle,
			},
		},
		{
			code: "outputs that are cleared when the next one comes", count: 1, state: wire.CellOK, want: `stream stdout "b"|`,
			messages: []string{busy, `iopub stream {"name":"stdout","text":"a"}`, `iopub clear_output {"wait":true}`, `iopub stream {"name":"stdout","text":"b"}`, replied, idle},
		},
		{
			code: "input('who? '), whose question overtakes its input", count: 3, want: `asks "who? "|`,
			messages: []string{busy, `stdin input_request {"prompt":"who? ","password":false}`, `iopub execute_input {"code":"…","execution_count":3}`},
		},
		{
			code: "a request that waited for one that failed", state: wire.CellAborted,
			messages: []string{`shell execute_reply {"status":"aborted"}`, busy, idle},
		},
		{
			code: "while True: pass, interrupted", count: 4, state: wire.CellFailed, want: `error KeyboardInterrupt ""|`,
			messages: []string{
				busy, `iopub execute_input {"code":"…","execution_count":4}`, `iopub error {"traceback":[],"ename":"KeyboardInterrupt","evalue":""}`,
				`shell execute_reply {"status":"error","ename":"KeyboardInterrupt","evalue":"","execution_count":4}`, idle,
			},
		},
		{
			code: "os._exit(1): the server says only that the kernel restarts", count: 5,
			messages: []string{busy, `iopub execute_input {"code":"…","execution_count":5}`, `iopub status/ {"execution_state":"restarting"}`},
		},
		{
			code: "messages of other requests, and of the server's own ones", count: 1, state: wire.CellOK, want: `stream stdout "mine"|`,
			messages: []string{`iopub status/nudge {"execution_state":"idle"}`, busy, `iopub stream/Q {"name":"stdout","text":"other"}`, `iopub stream {"name":"stdout","text":"mine"}`, `shell execute_reply/Q {"status":"error"}`, replied, idle},
		},
		{
			code: "4 MB of print, of which a server with its default limits sends this notice", count: 1, state: wire.CellOK,
			want: `stream stderr "IOPub data rate exceeded.\nThe Jupyter server will temporarily stop sending output\nto the client in order to avoid crashing it.\n"|lost|`,
			messages: []string{
				busy, `iopub execute_input {"code":"…","execution_count":1}`,
				`iopub stream {"name":"stderr","text":"IOPub data rate exceeded.\nThe Jupyter server will temporarily stop sending output\nto the client in order to avoid crashing it.\n"}`, replied, idle,
			},
		},
		{
			code: "too many messages", count: 1, state: wire.CellOK, want: `stream stderr "IOPub message rate exceeded.\n"|lost|`,
			messages: []string{busy, `iopub stream {"name":"stderr","text":"IOPub message rate exceeded.\n"}`, replied, idle},
		},
		{
			code: "print('IOPub data rate exceeded.')", count: 1, state: wire.CellOK, want: `stream stdout "IOPub data rate exceeded.\n"|`,
			messages: []string{busy, `iopub stream {"name":"stdout","text":"IOPub data rate exceeded.\n"}`, replied, idle},
		},
		{
			code: "a chart, which is JSON", count: 1, state: wire.CellOK, want: `display_data {"text/plain":"Figure"}|cut 12|`,
			messages: []string{busy, `iopub display_data {"data":{"application/vnd.plotly.v1+json":{"data":[1]},"text/plain":"Figure"},"metadata":{},"transient":{}}`, replied, idle},
		},
		{
			code: "len?", count: 1, state: wire.CellOK, want: `display_data {"text/plain":"Signature: len(obj, /)"}|`,
			messages: []string{busy, `shell execute_reply {"status":"ok","execution_count":1,"user_expressions":{},"payload":[{"source":"page","data":{"text/plain":"Signature: len(obj, /)"},"start":0}]}`, idle},
		},
		{
			code: "silent code", state: wire.CellOK, want: `stream stdout "a"|`,
			messages: []string{busy, `iopub stream {"name":"stdout","text":"a"}`, `shell execute_reply {"status":"ok","execution_count":0,"user_expressions":{"v":{"status":"ok","data":{"text/plain":"10"},"metadata":{}}},"payload":[]}`, idle},
		},
	}
}

func outline(b Batch) string {
	var out strings.Builder
	for _, o := range b.Outputs {
		switch o.Type {
		case wire.OutputStream:
			fmt.Fprintf(&out, "stream %s %q|", o.Name, o.Text)
		case wire.OutputError:
			fmt.Fprintf(&out, "error %s %q|", o.Name, o.Value)
		default:
			fmt.Fprintf(&out, "%s %s|", o.Type, o.Data)
		}
	}
	if b.Input != nil {
		fmt.Fprintf(&out, "asks %q|", b.Input.Prompt)
	}
	if b.Cut > 0 {
		fmt.Fprintf(&out, "cut %d|", b.Cut)
	}
	if b.Lost {
		out.WriteString("lost|")
	}
	return out.String()
}

// The recorded exchanges, in both wire formats. A request is done when its reply and its idle status have come.
func TestRecordedExchanges(t *testing.T) {
	t.Parallel()
	for _, x := range exchanges() {
		for _, v1 := range []bool{false, true} {
			r := NewRun("P", 0, 0)
			var state wire.KernelState
			replied, idle := false, false
			for i, line := range x.messages {
				channel, rest, _ := strings.Cut(line, " ")
				kind, content, _ := strings.Cut(rest, " ")
				kind, parent, other := strings.Cut(kind, "/")
				if !other {
					parent = "P"
				}
				frame, err := encode(Message{Channel: channel, Header: Header{ID: fmt.Sprint("m", i), Type: kind}, Parent: Header{ID: parent}, Content: json.RawMessage(content)}, v1)
				if err != nil {
					t.Fatal(err)
				}
				m, err := decode(frame, v1, v1, int64(len(frame)))
				if err != nil {
					t.Fatalf("%s, message %d: %v", x.code, i, err)
				}
				if s := StateOf(m); s != "" {
					state = s
				}
				replied = replied || parent == "P" && kind == "execute_reply"
				idle = idle || parent == "P" && kind == "status" && strings.Contains(content, "idle")
				r.Receive(m)
			}
			got := r.Take()
			if outline(got) != x.want || got.Count != x.count || got.Done != (replied && idle) || got.State != x.state {
				t.Errorf("%s (v1 %v): got %s, number %d, done %v, state %q; want %s, %d, %v, %q", x.code, v1, outline(got), got.Count, got.Done, got.State, x.want, x.count, replied && idle, x.state)
			}
			if want := strings.Contains(x.code, "os._exit"); (state == wire.KernelRestarting) != want {
				t.Errorf("%s (v1 %v): got the state %q of the kernel, want restarting: %v", x.code, v1, state, want)
			}
		}
	}
}

// Frames of garbage are refused, or read as messages that change nothing.
func TestFramesOfGarbage(t *testing.T) {
	t.Parallel()
	good, err := encode(Message{Channel: channelIOPub, Header: Header{ID: "m", Type: "stream"}, Parent: Header{ID: "P"}, Content: json.RawMessage(`{"name":"stdout","text":"x"}`)}, true)
	if err != nil {
		t.Fatal(err)
	}
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	for n := range 20_000 {
		frame := make([]byte, random.IntN(300))
		for i := range frame {
			frame[i] = byte(random.UintN(256))
		}
		if n%2 == 0 { // a message with a few wrong bytes
			frame = bytes.Clone(good)
			for range 1 + random.IntN(4) {
				frame[random.IntN(len(frame))] = byte(random.UintN(256))
			}
		}
		for _, form := range []struct{ binary, v1 bool }{{false, false}, {true, false}, {true, true}} {
			m, err := decode(frame, form.binary, form.v1, int64(len(frame)))
			if err != nil {
				continue
			}
			r := NewRun("P", 0, 0)
			r.Receive(m)
			if b := r.Take(); len(outline(b)) > len(frame)*6+100 {
				t.Fatalf("seed %d: frame %q: got %s, want no more than it has", seed, frame, outline(b))
			}
		}
	}
}
