package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/wire"
)

// wireLine holds the fields of a JSON line of attach that these tests use.
type wireLine struct {
	Type string `json:"type"`
	Data struct {
		MessageID  wire.MessageID `json:"messageId"`
		AgentID    wire.AgentID   `json:"agentId"`
		IsComplete bool           `json:"isComplete"`
		Outcome    wire.Outcome   `json:"outcome"`
		Delta      string         `json:"delta"`
		How        wire.Taken     `json:"how"`
	} `json:"data"`
}

// tally counts the events of each message.
type tally struct {
	queued, accepted, ended map[wire.MessageID]int
	order                   []wire.MessageID // in the order of their ends
	said                    map[wire.MessageID]string
}

// tallied reads JSON lines of a terminal until enough is true, and counts their events.
func tallied(t *testing.T, x *terminal, enough func(*tally) bool) *tally {
	t.Helper()
	sum := &tally{
		queued: map[wire.MessageID]int{}, accepted: map[wire.MessageID]int{}, ended: map[wire.MessageID]int{},
		said: map[wire.MessageID]string{},
	}
	for !enough(sum) {
		var l wireLine
		if err := json.Unmarshal([]byte(x.nextLine(t, "another event")), &l); err != nil {
			t.Fatal(err)
		}
		id := l.Data.MessageID
		switch {
		case l.Type == "MESSAGE_QUEUED":
			sum.queued[id]++
		case l.Type == "MESSAGE_ACCEPTED":
			sum.accepted[id]++
		case l.Type == "AGENT_RESPONSE" && l.Data.IsComplete:
			sum.ended[id]++
			sum.order = append(sum.order, id)
		case l.Type == "AGENT_RESPONSE":
			sum.said[id] += l.Data.Delta
		}
	}
	return sum
}

// A killed hub loses no queued message: the next hub on the same store resumes the interrupted turn
// and then runs each queued message once and in order. A terminal that stays attached receives all
// of it.
func TestCrashWithQueuedMessages(t *testing.T) {
	t.Parallel()
	demo := testProviders(t)[0]
	for name, tt := range map[string]struct {
		store  string
		deaths int // the second kill hits a hub that has loaded everything from the store
	}{
		"file":  {"file:" + t.TempDir(), 2},
		"redis": {redistest.Standalone(t).URL(), 1}, // here the agent slot of a killed hub stays in use until it expires
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serveProcess(t, demo, "--max-agents", "1", "--lease", "2s", "--store", tt.store, "--files-dir", t.TempDir())
			crashWithQueued(t, s, tt.deaths)
		})
	}
}

func crashWithQueued(t *testing.T, s *server, deaths int) {
	t.Helper()
	session := createSession(t, s.url)
	x := attachTo(t, s, session, "--json")
	send := func(id, text string) {
		x.say(t, fmt.Sprintf(`{"type":"USER_MESSAGE","data":{"messageId":%q,"content":%q}}`, id, text))
	}
	x.until(t, `"type":"session_state"`)
	send("first", "/nosteer\n/say begun\n/hang")
	x.until(t, `"delta":"begun"`)
	const waiting = 6
	for n := range waiting {
		send(fmt.Sprintf("m%d", n), fmt.Sprintf("/say answer %d", n))
	}
	before := tallied(t, x, func(sum *tally) bool { return len(sum.queued) == waiting })
	for range deaths {
		s.kill()
		s.again(t)
		x.until(t, `"type":"OWNER_CHANGED"`, `"delta":"begun"`)
	}
	x.say(t, ":stop")
	after := tallied(t, x, func(sum *tally) bool { return len(sum.order) > waiting })
	x.say(t, ":emit "+`{"type":"desktop.refreshApps"}`)
	rest := tallied(t, x, func(*tally) bool { return containsType(x.seen[len(x.seen)-1], "EMITTED") })
	if len(rest.accepted)+len(rest.ended) > 0 {
		t.Errorf("after the crash: got more, %+v, want nothing accepted and nothing ended", rest)
	}
	want := []wire.MessageID{"first"}
	for n := range waiting {
		id := wire.MessageID(fmt.Sprintf("m%d", n))
		want = append(want, id)
		if before.queued[id] != 1 || after.queued[id] != 0 || after.accepted[id] != 1 || after.ended[id] != 1 {
			t.Errorf("%s: got queued %d+%d times, accepted %d and ended %d times, want queued once before the crash, then once each", id, before.queued[id], after.queued[id], after.accepted[id], after.ended[id])
		}
		if got := fmt.Sprintf("answer %d", n); after.said[id] != got {
			t.Errorf("%s was answered with %q, want %q", id, after.said[id], got)
		}
	}
	if fmt.Sprint(after.order) != fmt.Sprint(want) {
		t.Errorf("the turns ended in the order %v, want %v", after.order, want)
	}
}

func containsType(line, name string) bool {
	var l wireLine
	return json.Unmarshal([]byte(line), &l) == nil && l.Type == name
}

// Messages that are sent while the hub is killed get exactly one end each: the terminal sends those
// without an answer again. It kills the hub twice only, since a turn that is cut off three times ends as failed.
func TestCrashInTheMiddle(t *testing.T) {
	t.Parallel()
	m := testProviders(t)[0]
	s := serveProcess(t, m, "--lease", "2s")
	x := attachTo(t, s, createSession(t, s.url), "--json")
	x.until(t, `"type":"session_state"`)
	sent := 0
	for range 2 {
		for range 7 {
			x.say(t, fmt.Sprintf(`{"type":"USER_MESSAGE","data":{"messageId":"m%d","content":"/nosteer\n/say a\n/say b"}}`, sent))
			sent++
		}
		x.until(t, `"type":"MESSAGE_ACCEPTED"`)
		s.kill()
		s.again(t)
	}
	ended := map[wire.MessageID]int{}
	for _, line := range x.seen {
		count(t, line, ended)
	}
	for len(ended) < sent {
		count(t, x.nextLine(t, "the end of a turn"), ended)
	}
	for id, n := range ended {
		if n != 1 {
			t.Errorf("ends of %s: got %d, want 1", id, n)
		}
	}
}

func count(t *testing.T, line string, ended map[wire.MessageID]int) {
	t.Helper()
	var l wireLine
	if err := json.Unmarshal([]byte(line), &l); err != nil {
		t.Fatal(err)
	}
	if l.Type == "AGENT_RESPONSE" && l.Data.IsComplete {
		ended[l.Data.MessageID]++
		if l.Data.Outcome != wire.OutcomeCompleted {
			t.Errorf("end of a turn: got %s, want outcome %q", line, wire.OutcomeCompleted)
		}
	}
}

// After a kill it is unknown whether a tool that must not run twice has run. The hub asks whether
// the turn should continue, and any terminal can answer.
func TestCrashInATool(t *testing.T) {
	t.Parallel()
	eachProvider(t, func(t *testing.T, m testProvider) {
		t.Helper()
		s := serveProcess(t, m, "--lease", "2s")
		id, x := openSession(t, s)
		x.say(t, `/call window_create {"windowId":"app","title":"App","content":{"renderer":"iframe","content":"https://example.com"}}`)
		x.until(t, `main: done in `)
		for _, answer := range []string{":no", ":yes", ":answer and hurry"} {
			// No browser displays the app, so its command is not answered for a while.
			x.say(t, `/call window_app_command {"windowId":"app","command":"go"}`, "/hang")
			x.until(t, `→ main \(direct\)$`, `main: uses window:app_command `)
			s.kill()
			s.again(t)
			const why = `tool window:app_command may or may not have run`
			x.until(t, `main: interrupted after .*: `+why+`$`, `main: cut off: `+why+`$`)
			ask := x.until(t, `\? The turn was cut off: .* Go on\?  \[:yes, :no or :answer …\] #(\d{4})$`)[0]
			late := attachTo(t, s, id)
			late.until(t, `\? The turn was cut off: .* #`+ask+`$`)
			late.say(t, answer)
			x.until(t, `question #`+ask+` answered$`)
			if answer == ":no" {
				continue
			}
			x.until(t, `→ main \(direct\)$`, `main: uses window:app_command `) // the resumed turn calls the tool again
			x.say(t, ":stop")
			x.until(t, `main: interrupted after `)
		}
	})
}

// A turn that started a task gets its result, even if the hub is killed several times meanwhile.
func TestCrashInATask(t *testing.T) {
	t.Parallel()
	m := testProviders(t)[0]
	s := serveProcess(t, m, "--lease", "2s")
	_, x := openSession(t, s)
	x.say(t, m.task(m.ask("First?", "tea", "coffee")), m.say("after all"))
	const asks = `\? A question: First\?  \[:answer …\] #(\w{4})$`
	x.until(t, `→ main \(direct\)$`, asks)
	var question string
	for range 2 {
		s.kill()
		s.again(t)
		question = x.until(t, `task-\w{4}-1: uses user:ask `, asks)[0]
	}
	x.say(t, ":answer #"+question+" tea")
	x.until(t, `task-\w{4}-1: user:ask is done: \{"selected":\["tea"\]\}`, `task-\w{4}-1: done in `,
		`main: task:run is done: .*"status":"completed"`, `^    after all$`, `main: done in `)
}

// After :provider the next turn uses the new provider, with the previous conversation.
func TestProviderSwitch(t *testing.T) {
	t.Parallel()
	m := testProviders(t)[1]
	m.env = append(m.env, "PROVIDER=demo")
	_, _, x := openTerminal(t, m)
	if seen := strings.Join(x.seen, "\n"); !strings.Contains(seen, "answers come from the demo, which is no model") {
		t.Errorf("terminal: got\n%s\nwant that the answers come from the demo", seen)
	}
	x.say(t, "/say I am the demo")
	x.until(t, `^main: I am the demo$`, `main: done in `)
	x.say(t, ":provider anthropic")
	x.until(t, `answers come from anthropic now$`)
	x.say(t, "/recall")
	x.until(t, `^main: /say I am the demo$`, `^    I am the demo$`, `main: done in `)
	x.say(t, ":provider unknown")
	x.until(t, `error: there is no provider "unknown"`)
}
