package gateway_test

import (
	"bufio"
	"encoding/json"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/rooipc"
	"github.com/everdesk/everdesk/rooipc/rooipctest"
)

// newIPCHub starts a hub with agents and an IPC socket for the user ann.
func newIPCHub(t *testing.T, redis bool) (*testHub, string) {
	t.Helper()
	path := rooipctest.SocketPath(t)
	return newAgentHub(t, redis, func(p *hubOptions) { p.ipc, p.gateway.IPCUser = path, "ann" }), path
}

func TestIPCTaskWithToolsAndSubtasks(t *testing.T) {
	t.Parallel()
	h, path := newIPCHub(t, true)
	x := rooipctest.Dial(t, path, h.wait)
	x.StartTask(`{"mode":"code"}`, "/window w1 Notes | hi\n/task web /say sub\n/say All done.")
	x.UntilCompleted(1)
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
	x := rooipctest.Dial(t, path, h.wait)
	asked := func(kind string) func() bool {
		return func() bool {
			return slices.ContainsFunc(x.Rows, func(r rooipctest.Row) bool { return r.Ask == kind })
		}
	}
	x.StartTask(`{}`, "/ask Which one?\n/say After.")
	x.Until("the question", asked("followup"))
	x.SendMessage("the blue one")
	x.UntilCompleted(1)
	texts, _ := x.Texts("text")
	if all := strings.Join(texts, ""); !strings.Contains(all, "the blue one") || !strings.HasSuffix(all, "After.") {
		t.Errorf("texts %q, want the answer in them", texts)
	}
	x.SendMessage(`/call shell {"command":"git push"}` + "\n/say Pushed.")
	x.Until("the permission", asked("command"))
	x.SendMessage("yes")
	x.Until("the message waits", func() bool {
		return slices.Contains(x.Names(), "queuedMessagesUpdated") || slices.ContainsFunc(x.Rows, func(r rooipctest.Row) bool { return r.Text == "yes" })
	})
	x.Send(`{"commandName":"CancelTask"}`)
	x.Until("the end", func() bool { return slices.Contains(x.Names(), "taskAborted") })
	if texts, _ := x.Texts("text"); strings.Contains(strings.Join(texts, ""), "Pushed.") {
		t.Errorf("texts %q: words granted a permission", texts)
	}
}

// hasTexts reports whether a client has so many texts. The last one may grow; on a busy machine it may be whole.
func hasTexts(x *rooipctest.Conn, n int) func() bool {
	return func() bool {
		texts, _ := x.Texts("text")
		return len(texts) >= n
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

	// The process connects again: its task goes on by itself.
	x := rooipctest.Dial(t, path, h.wait)
	x.StartTask(`{}`, "/stream 400 400")
	x.Until("some text", hasTexts(x, 1))
	x.Close()
	again := redialIPC(t, h, path)
	again.Rows, again.Events = x.Rows, append(x.Events, again.Events...)
	again.UntilCompleted(1)
	again.WantTexts(want)
	task := again.Task()
	again.Send(`{"commandName":"CloseTask"}`)
	again.Until("the task is left", func() bool { return slices.Contains(again.Names(), "taskUnfocused") })

	// A client that names what it saw gets what it missed.
	again.Send(`{"commandName":"ResumeTask","data":"` + task + `"}`)
	again.SendMessage("/stream 400 400")
	again.Until("more text", hasTexts(again, 2))
	seq := again.Seq
	again.Send(`{"commandName":"CloseTask"}`)
	again.Until("the task is left", func() bool { return again.Names()[len(again.Names())-1] == "taskUnfocused" })
	again.Send(`{"commandName":"ResumeTask","data":"` + task + `","seq":"` + seq + `"}`)
	again.UntilCompleted(2)
	again.WantTexts(want, want)
}

// A client is cut in a turn, and comes back when the state of the session has no rows of it any more.
func TestIPCClientThatWasAwayForLongHasEachTextOnce(t *testing.T) {
	t.Parallel()
	h, path := newIPCHub(t, false)
	x := rooipctest.Dial(t, path, h.wait)
	x.StartTask(`{}`, "/nosteer\n/stream 100 200")
	x.Until("some text", hasTexts(x, 1))
	seq, task := x.Seq, x.Task()
	x.Send(`{"commandName":"CloseTask"}`)
	x.Until("the task is left", func() bool { return slices.Contains(x.Names(), "taskUnfocused") })

	other := rooipctest.Dial(t, path, h.wait)
	other.Send(`{"commandName":"ResumeTask","data":"` + task + `"}`)
	const turns = desktop.MaxRows/3 + 10
	want := []string{""}
	for n := range turns {
		text := "Other " + jsonText(n) + "."
		want = append(want, text)
		other.SendMessage("/nosteer\n/say " + text)
		other.Until(text, func() bool {
			return slices.ContainsFunc(other.Rows, func(r rooipctest.Row) bool {
				return r.Say == "text" && r.Text == text && (r.Partial == nil || !*r.Partial)
			})
		})
	}
	x.Send(`{"commandName":"ResumeTask","data":"` + task + `","seq":"` + seq + `"}`)
	x.Until("the last text", func() bool {
		texts, grows := x.Texts("text")
		return !grows && slices.Contains(texts, want[turns])
	})
	texts, _ := x.Texts("text")
	want[0] = texts[0]
	if words := strings.Fields(texts[0]); len(words) != 100 || !slices.Equal(texts, want) {
		t.Errorf("%d words and %d texts %.300q, want 100 and %d", len(words), len(texts), texts, len(want))
	}
}

// redialIPC connects until the hub goes on with the task of this process: it may not have noticed yet that
// the last connection was closed.
func redialIPC(t *testing.T, h *testHub, path string) *rooipctest.Conn {
	t.Helper()
	for end := time.Now().Add(h.wait); time.Now().Before(end); {
		x := rooipctest.Dial(t, path, h.wait)
		if frame, err := x.ReadFrame(2 * time.Second); err == nil {
			if err := x.Apply(frame); err != nil {
				t.Fatalf("%s: %v", frame, err)
			}
			return x
		}
		x.Close()
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
	x := rooipctest.Dial(t, path, h.wait)
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
	modes := x.Frame(`{"commandName":"GetModes"}`)
	expect := func(name string, more int, pieces ...string) {
		t.Helper()
		for _, p := range pieces {
			x.Write(p)
		}
		want += more
		x.Until(name, func() bool { return answers() >= want })
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
	expect("another event of node-ipc", 1, `{"type":"socket.disconnected","data":{}}`+"\f"+modes)
	expect("data that the command does not have", 1, x.Frame(`{"commandName":"GetModes","data":{"a":1}}`))
	if len(x.Errors) > 0 {
		t.Fatalf("errors %+v, want none so far", x.Errors)
	}
	for _, c := range []struct{ name, frame, contains string }{ // Roo-Code reports none of these
		{"broken JSON", "{\f", "JSON"},
		{"data is a text", `{"type":"message","data":"x"}` + "\f", "TaskCommand"},
		{"data is null", `{"type":"message","data":null}` + "\f", "TaskCommand"},
		{"no task to cancel, with data", x.Frame(`{"commandName":"CancelTask","data":"ses-1"}`), "no task"},
		{"no client id", strings.Replace(modes, `"clientId":"`+x.ID+`",`, "", 1), "clientId"},
		{"another client's id", strings.Replace(modes, x.ID, "000000000000", 1), "Ack"}, // Roo-Code executes it
		{"of a server", strings.Replace(modes, `"client"`, `"server"`, 1), "origin"},
		{"a wrong type", x.Frame(`{"commandName":"StartNewTask","data":{"configuration":{"autoApprovalEnabled":"yes"},"text":"a"}}`), "autoApprovalEnabled"},
		{"no task", x.Frame(`{"commandName":"SendMessage","data":{"text":"a"}}`), "no task"},
		{"an unknown task", x.Frame(`{"commandName":"ResumeTask","data":"ses-nowhere"}`), "no such session"},
		{"an unknown command", x.Frame(`{"commandName":"Fly"}`), "no such command"},
	} {
		before := len(x.Errors)
		x.Write(c.frame)
		x.Until(c.name, func() bool { return len(x.Errors) > before })
		if got := x.Errors[before].Message; !strings.Contains(got, c.contains) {
			t.Errorf("%s: error %q, want one with %q", c.name, got, c.contains)
		}
	}
	expect("a frame after all that", 1, modes)
	if got := len(h.sessions("ann")); got != 0 {
		t.Errorf("%d sessions, want none: refused commands create nothing", got)
	}
	before := len(x.Errors)
	_, _ = x.TryWrite(strings.Repeat("x", rooipc.MaxFrame+(64<<10))) // it fails when the hub has enough
	x.Until("the frame is refused", func() bool { return len(x.Errors) > before })
	if _, err := x.ReadFrame(h.wait); err == nil {
		t.Error("the connection is open after a frame without an end, want it closed")
	}
}

func TestIPCAndAGUISeeTheSameConversation(t *testing.T) {
	t.Parallel()
	h, path := newIPCHub(t, true)
	roo := rooipctest.Dial(t, path, h.wait)
	roo.StartTask(`{}`, "/say From the socket.")
	roo.UntilCompleted(1)
	web := h.aguiThread("/agui", h.userToken("ann"), roo.Task())
	web.say("run-1", "/ask Which?\n/say From the page.", nil)
	if len(web.Interrupts) != 1 {
		t.Fatalf("interrupts %+v, want the question", web.Interrupts)
	}
	roo.Until("the question", func() bool {
		return slices.ContainsFunc(roo.Rows, func(r rooipctest.Row) bool { return r.Ask == "followup" && !r.IsAnswered })
	})
	roo.SendMessage("the first")
	roo.UntilCompleted(2)
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

// Every client has a task of its own. A client may leave at once: its task needs no client.
func TestIPCClientsHaveTheirOwnTasks(t *testing.T) {
	t.Parallel()
	h, path := newIPCHub(t, false)
	var all []*rooipctest.Conn
	for range 8 {
		all = append(all, rooipctest.Dial(t, path, h.wait))
	}
	for i, x := range all {
		x.StartTask(`{"zoom":3,"apiModelId":"unknown keys are ignored"}`, "/say Task "+jsonText(i)+".")
	}
	tasks := map[string]bool{}
	for i, x := range all {
		x.UntilCompleted(1)
		x.WantTexts("Task " + jsonText(i) + ".")
		tasks[x.Task()] = true
	}
	if len(tasks) != len(all) {
		t.Errorf("%d tasks of %d clients, want one for each", len(tasks), len(all))
	}
	// A character that is split between two writes arrives whole.
	split := all[0].Frame(`{"commandName":"SendMessage","data":{"text":"/say 한국어 말"}}`)
	at := strings.Index(split, "국") + 1
	all[0].Write(split[:at])
	all[0].Write(split[at:])
	all[0].UntilCompleted(2)
	all[0].WantTexts("Task 0.", "한국어 말")

	task := all[1].Task()
	all[1].SendMessage("/nosteer\n/stream 100 400")
	all[1].Until("some text", hasTexts(all[1], 2))
	for _, x := range all[1:] {
		x.Close()
	}
	all[0].Send(`{"commandName":"ResumeTask","data":"` + task + `"}`)
	all[0].Until("the task of the client that left", func() bool {
		return slices.ContainsFunc(all[0].Rows, func(r rooipctest.Row) bool {
			return r.TaskID == task && strings.HasSuffix(r.Text, " w100") && (r.Partial == nil || !*r.Partial)
		})
	})
}

// A client above the limit is refused with a reason, and may connect later.
func TestIPCRefusesMoreClientsThanItServes(t *testing.T) {
	t.Parallel()
	h, path := newIPCHub(t, false)
	var all []*rooipctest.Conn
	for range 64 {
		all = append(all, rooipctest.Dial(t, path, h.wait))
	}
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	frame, err := rooipc.ReadFrame(bufio.NewReader(conn))
	if err != nil || !strings.Contains(string(frame), `"error":{`) || !strings.Contains(string(frame), "64 clients") {
		t.Errorf("client 65 gets %s, error %v, want the reason", frame, err)
	}
	all[0].Send(`{"commandName":"GetModes"}`)
	all[0].Until("an answer to a client that was there before", func() bool { return len(all[0].Events) > 0 })
}
