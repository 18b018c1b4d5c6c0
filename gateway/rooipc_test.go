package gateway_test

import (
	"bufio"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/rooipc"
	"github.com/everdesk/everdesk/rooipc/rooipctest"
)

// newIPCHub starts a hub with agents and an IPC socket for the user ann.
func newIPCHub(t *testing.T, redis bool) (*testHub, string) {
	t.Helper()
	folder, err := os.MkdirTemp("", "ipc") //nolint:usetesting // paths of sockets must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	path := filepath.Join(folder, "s")
	return newAgentHub(t, redis, func(p *hubOptions) { p.ipc, p.gateway.IPCUser = path, "ann" }), path
}

// ipcClient is a client of the socket. It reads only while a test waits.
type ipcClient struct {
	rooipctest.Client
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
	wait time.Duration
}

func dialIPC(t *testing.T, h *testHub, path string) *ipcClient {
	t.Helper()
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	x := &ipcClient{t: t, conn: conn, in: bufio.NewReader(conn), wait: h.wait}
	x.until("the Ack", func() bool { return x.ID != "" })
	return x
}

func (x *ipcClient) write(data string) {
	x.t.Helper()
	if _, err := x.conn.Write([]byte(data)); err != nil {
		x.t.Fatal(err)
	}
}

// frame returns a command as bytes.
func (x *ipcClient) frame(command string) string {
	return `{"type":"message","data":{"type":"TaskCommand","origin":"client","clientId":"` + x.ID + `","data":` + command + `}}` + "\f"
}

func (x *ipcClient) send(command string) { x.t.Helper(); x.write(x.frame(command)) }

// say sends a message to the task.
func (x *ipcClient) say(text string) {
	x.t.Helper()
	data, err := json.Marshal(text)
	if err != nil {
		x.t.Fatal(err)
	}
	x.send(`{"commandName":"SendMessage","data":{"text":` + string(data) + `}}`)
}

// start starts a task.
func (x *ipcClient) start(configuration, text string) {
	x.t.Helper()
	data, err := json.Marshal(text)
	if err != nil {
		x.t.Fatal(err)
	}
	x.send(`{"commandName":"StartNewTask","data":{"configuration":` + configuration + `,"text":` + string(data) + `}}`)
}

// until reads frames until a condition holds.
func (x *ipcClient) until(what string, holds func() bool) {
	x.t.Helper()
	if err := x.conn.SetReadDeadline(time.Now().Add(x.wait)); err != nil {
		x.t.Fatal(err)
	}
	for !holds() {
		frame, err := rooipc.ReadFrame(x.in)
		if err != nil {
			x.t.Fatalf("before %s: %v; events %v, errors %+v", what, err, x.Names(), x.Errors)
		}
		if err := x.Apply(frame); err != nil {
			x.t.Fatalf("%s: %v", frame, err)
		}
	}
}

// completed reads until the task itself has completed n times.
func (x *ipcClient) completed(n int) {
	x.t.Helper()
	x.until("the end of the task", func() bool {
		count := 0
		for _, e := range x.Events {
			if e.Name == "taskCompleted" && strings.Contains(string(e.Payload[3]), "false") {
				count++
			}
		}
		return count >= n
	})
}

// task returns the id of the task.
func (x *ipcClient) task() string {
	for _, e := range x.Events {
		if e.Name == "taskCreated" {
			return strings.Trim(string(e.Payload[0]), `"`)
		}
	}
	return ""
}

func (x *ipcClient) wantTexts(want ...string) {
	x.t.Helper()
	if got, grows := x.Texts("text"); !slices.Equal(got, want) || grows {
		x.t.Errorf("texts %q, growing %v, want %q", got, grows, want)
	}
}

func TestIPCTaskWithToolsAndSubtasks(t *testing.T) {
	t.Parallel()
	h, path := newIPCHub(t, true)
	x := dialIPC(t, h, path)
	x.start(`{"mode":"code"}`, "/window w1 Notes | hi\n/task web /say sub\n/say All done.")
	x.completed(1)
	texts, grows := x.Texts("text")
	if grows || len(texts) == 0 || !strings.HasSuffix(texts[len(texts)-1], "All done.") {
		t.Errorf("texts %q, growing %v, want the answer", texts, grows)
	}
	for _, name := range []string{"taskFocused", "taskModeSwitched", "taskStarted", "taskDelegated", "taskDelegationCompleted", "taskDelegationResumed"} {
		if !slices.Contains(x.Names(), name) {
			t.Errorf("no %s in %v", name, x.Names())
		}
	}
	if len(x.Errors) > 0 {
		t.Errorf("errors %+v, want none", x.Errors)
	}
}

func TestIPCMessageAnswersAQuestionForWordsAndNoPermission(t *testing.T) {
	t.Parallel()
	h, path := newIPCHub(t, false)
	x := dialIPC(t, h, path)
	asked := func(kind string) func() bool {
		return func() bool {
			return slices.ContainsFunc(x.Rows, func(r rooipctest.Row) bool { return r.Ask == kind })
		}
	}
	x.start(`{}`, "/ask Which one?\n/say After.")
	x.until("the question", asked("followup"))
	x.say("the blue one")
	x.completed(1)
	texts, _ := x.Texts("text")
	if all := strings.Join(texts, ""); !strings.Contains(all, "the blue one") || !strings.HasSuffix(all, "After.") {
		t.Errorf("texts %q, want the answer in them", texts)
	}
	x.say(`/call shell {"command":"git push"}` + "\n/say Pushed.")
	x.until("the permission", asked("command"))
	x.say("yes")
	x.until("the message waits", func() bool {
		return slices.Contains(x.Names(), "queuedMessagesUpdated") || slices.ContainsFunc(x.Rows, func(r rooipctest.Row) bool { return r.Text == "yes" })
	})
	x.send(`{"commandName":"CancelTask"}`)
	x.until("the end", func() bool { return slices.Contains(x.Names(), "taskAborted") })
	if texts, _ := x.Texts("text"); strings.Contains(strings.Join(texts, ""), "Pushed.") {
		t.Errorf("texts %q: words granted a permission", texts)
	}
}

func TestIPCCutClientGoesOn(t *testing.T) {
	t.Parallel()
	h, path := newIPCHub(t, false)
	words := make([]string, 400)
	for i := range words {
		words[i] = "w" + jsonText(i+1)
	}
	want := strings.Join(words, " ")
	grows := func(x *ipcClient) func() bool {
		return func() bool { _, grows := x.Texts("text"); return grows }
	}

	// The process connects again: its task goes on by itself.
	x := dialIPC(t, h, path)
	x.start(`{}`, "/stream 400 400")
	x.until("some text", grows(x))
	_ = x.conn.Close()
	again := redialIPC(t, h, path)
	again.Rows, again.Events = x.Rows, append(x.Events, again.Events...)
	again.completed(1)
	again.wantTexts(want)
	task := again.task()
	again.send(`{"commandName":"CloseTask"}`)
	again.until("the task is left", func() bool { return slices.Contains(again.Names(), "taskUnfocused") })

	// A client that names what it saw gets what it missed.
	again.send(`{"commandName":"ResumeTask","data":"` + task + `"}`)
	again.say("/stream 400 400")
	before := len(again.Rows)
	again.until("more text", func() bool { return len(again.Rows) > before && grows(again)() })
	seq := again.Seq
	again.send(`{"commandName":"CloseTask"}`)
	again.until("the task is left", func() bool { return again.Names()[len(again.Names())-1] == "taskUnfocused" })
	again.send(`{"commandName":"ResumeTask","data":"` + task + `","seq":"` + seq + `"}`)
	again.completed(2)
	again.wantTexts(want, want)
}

// redialIPC connects until the hub goes on with the task of this process: it may not have noticed yet that
// the last connection was closed.
func redialIPC(t *testing.T, h *testHub, path string) *ipcClient {
	t.Helper()
	for end := time.Now().Add(h.wait); time.Now().Before(end); {
		x := dialIPC(t, h, path)
		if err := x.conn.SetReadDeadline(time.Now().Add(2 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if frame, err := rooipc.ReadFrame(x.in); err == nil {
			if err := x.Apply(frame); err != nil {
				t.Fatalf("%s: %v", frame, err)
			}
			return x
		}
		_ = x.conn.Close()
	}
	t.Fatal("the hub did not go on with the task of the process")
	return nil
}

func jsonText(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // cannot fail: numbers
	}
	return string(data)
}

// What the servers of node-ipc and of Roo-Code do with these bytes is in the comments, where this one differs.
func TestIPCFramesOfAllKinds(t *testing.T) {
	t.Parallel()
	h, path := newIPCHub(t, false)
	x := dialIPC(t, h, path)
	answers := func() int {
		n := 0
		for _, name := range x.Names() {
			if name == "modesResponse" {
				n++
			}
		}
		return n
	}
	want := 0
	modes := x.frame(`{"commandName":"GetModes"}`)
	expect := func(name string, more int, pieces ...string) {
		t.Helper()
		for _, p := range pieces {
			x.write(p)
		}
		want += more
		x.until(name, func() bool { return answers() >= want })
		if got := answers(); got != want {
			t.Errorf("%s: %d answers, want %d", name, got, want)
		}
	}
	expect("a frame in three pieces", 1, modes[:9], modes[9:40], modes[40:])
	expect("two frames at once", 2, modes+modes)
	expect("one and a half", 1, modes+modes[:20]) // Roo-Code waits for the rest of the second
	expect("the rest", 1, modes[20:])
	expect("a line break after a frame", 1, modes+"\n")                          // Roo-Code waits
	expect("an event of node-ipc", 1, `{"type":"connect","data":{}}`+"\f"+modes) // Roo-Code dies
	expect("a long frame", 1, strings.Replace(modes, `{"commandName":"GetModes"}`, `{"commandName":"GetModes","data":"`+strings.Repeat("말", 400<<10)+`"}`, 1))
	if len(x.Errors) > 0 {
		t.Fatalf("errors %+v, want none so far", x.Errors)
	}
	for _, c := range []struct{ name, frame, contains string }{ // Roo-Code reports none of these
		{"broken JSON", "{\f", "JSON"},
		{"data is a text", `{"type":"message","data":"x"}` + "\f", "TaskCommand"},
		{"no client id", strings.Replace(modes, `"clientId":"`+x.ID+`",`, "", 1), "clientId"},
		{"another client's id", strings.Replace(modes, x.ID, "000000000000", 1), "Ack"}, // Roo-Code executes it
		{"of a server", strings.Replace(modes, `"client"`, `"server"`, 1), "origin"},
		{"a wrong type", x.frame(`{"commandName":"StartNewTask","data":{"configuration":{"autoApprovalEnabled":"yes"},"text":"a"}}`), "autoApprovalEnabled"},
		{"no task", x.frame(`{"commandName":"SendMessage","data":{"text":"a"}}`), "no task"},
		{"an unknown task", x.frame(`{"commandName":"ResumeTask","data":"ses-nowhere"}`), "no such session"},
		{"an unknown command", x.frame(`{"commandName":"Fly"}`), "no such command"},
	} {
		before := len(x.Errors)
		x.write(c.frame)
		x.until(c.name, func() bool { return len(x.Errors) > before })
		if got := x.Errors[before].Message; !strings.Contains(got, c.contains) {
			t.Errorf("%s: error %q, want one with %q", c.name, got, c.contains)
		}
	}
	expect("a frame after all that", 1, modes)
	if got := len(h.sessions("ann")); got != 0 {
		t.Errorf("%d sessions, want none: refused commands create nothing", got)
	}
	before := len(x.Errors)
	_, _ = x.conn.Write([]byte(strings.Repeat("x", rooipc.MaxFrame+(64<<10)))) // it fails when the hub has enough
	x.until("the frame is refused", func() bool { return len(x.Errors) > before })
	if _, err := rooipc.ReadFrame(x.in); err == nil {
		t.Error("the connection is open after a frame without an end, want it closed")
	}
}

func TestIPCAndAGUISeeTheSameConversation(t *testing.T) {
	t.Parallel()
	h, path := newIPCHub(t, true)
	roo := dialIPC(t, h, path)
	roo.start(`{}`, "/say From the socket.")
	roo.completed(1)
	web := h.aguiThread("/agui", h.userToken("ann"), roo.task())
	web.say("run-1", "/ask Which?\n/say From the page.", nil)
	if len(web.Interrupts) != 1 {
		t.Fatalf("interrupts %+v, want the question", web.Interrupts)
	}
	roo.until("the question", func() bool {
		return slices.ContainsFunc(roo.Rows, func(r rooipctest.Row) bool { return r.Ask == "followup" && !r.IsAnswered })
	})
	roo.say("the first")
	roo.completed(2)
	web.run(aguiInput{RunID: "run-1"}, nil)
	fresh := h.aguiThread("/agui/agent/desktop/connect", web.token, web.thread)
	fresh.run(aguiInput{RunID: "connect-1"}, nil)
	rows, _ := roo.Texts("text")
	if got, want := strings.Join(fresh.Texts("assistant"), ""), strings.Join(rows, ""); got != want || !strings.Contains(want, "the first") || !strings.Contains(want, "From the page.") {
		t.Errorf("the page has %q, the socket %q, want the same with the answer", got, want)
	}
	users, _ := roo.Texts("user_feedback")
	if got := fresh.Texts("user"); !slices.Equal(got, users) {
		t.Errorf("messages of users in the page %q, in the socket %q, want the same", got, users)
	}
}
