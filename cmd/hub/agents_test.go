package main

import (
	"fmt"
	"testing"
)

func TestAgentsDirectAndSteered(t *testing.T) {
	t.Parallel()
	eachProvider(t, func(t *testing.T, m testProvider) {
		t.Helper()
		s, _, x := openTerminal(t, m)
		if s.answers != m.start {
			t.Errorf("the hub says %q, want %q", s.answers, m.start)
		}
		x.say(t, "/think let me see", m.say("hello"))
		x.until(t, `#(\w{4}) → main \(direct\)$`, `^main thinks: let me see$`, `^main: hello$`, `main: done in .* tokens in.*, \d+ out`)
		x.say(t, m.say("begun"), "/hang")
		x.until(t, `→ main \(direct\)$`, `^main: begun$`)
		x.say(t, m.say("changed"))
		x.until(t, `user #\w{4}: /say `, `→ main \(steered\)$`, `^(?:main: |    )changed$`, `main: done in `)
	})
}

func TestAgentsEphemeral(t *testing.T) {
	t.Parallel()
	m := testProviders(t)[0]
	_, _, x := openTerminal(t, m)
	x.say(t, "/nosteer", m.say("begun"), "/hang")
	x.until(t, `^main: begun$`)
	x.say(t, m.say("beside"))
	id := x.until(t, `#(\w{4}) → ephemeral-\w{4} \(ephemeral\)$`)[0]
	x.until(t, `^ephemeral-`+id+`: beside$`, `ephemeral-`+id+`: done in `)
	x.say(t, ":agents")
	x.until(t, `^main running on #`)
	x.say(t, ":stop main")
	x.until(t, `main: interrupted after `)
}

// With a limit of one agent, messages to a turn that accepts no more are queued, and messages beyond
// the length of the queue are refused.
func TestAgentsQueuedAndRejected(t *testing.T) {
	t.Parallel()
	m := testProviders(t)[0]
	m.env = append(m.env, "MAX_AGENTS=1")
	_, _, x := openTerminal(t, m)
	x.say(t, "/nosteer", m.say("begun"), "/hang")
	x.until(t, `^main: begun$`)
	var ids []string
	for n := 1; n <= 10; n++ {
		x.say(t, m.say(fmt.Sprintf("number %d", n)))
		ids = append(ids, x.until(t, fmt.Sprintf(`#(\w{4}) waits, number %d for monitor-0$`, n))...)
	}
	x.say(t, m.say("too much"))
	x.until(t, `#\w{4} refused: 10 messages wait already \(3004\)$`)
	x.say(t, ":unqueue "+ids[2])
	x.until(t, `#`+ids[2]+` refused: taken out of the queue`)
	x.say(t, ":stop")
	x.until(t, `main: interrupted after `)
	for n := 1; n <= 10; n++ {
		if n != 3 {
			x.until(t, `#`+ids[n-1]+` → main \(direct\)$`, fmt.Sprintf(`^main: number %d$`, n), `main: done in `)
		}
	}
}

// A monitor whose turn waits for a free agent queues the messages that arrive meanwhile.
func TestAgentsWaitForOneAnother(t *testing.T) {
	t.Parallel()
	eachProvider(t, func(t *testing.T, m testProvider) {
		t.Helper()
		_, _, x := openTerminal(t, m, "--max-agents", "1")
		x.say(t, m.say("begun"), "/hang")
		x.until(t, `^main: begun$`)
		x.say(t, ":monitor monitor-1")
		x.say(t, m.say("first"))
		x.until(t, `#\w{4} → main@monitor-1 \(direct\)$`)
		for n := 1; n <= 10; n++ {
			x.say(t, m.say(fmt.Sprintf("number %d", n)))
			x.until(t, fmt.Sprintf(`#\w{4} waits, number %d for monitor-1$`, n))
		}
		x.say(t, m.say("too much"))
		x.until(t, `#\w{4} refused: 10 messages wait already \(3004\)$`)
		x.say(t, ":stop main")
		x.untilAll(t, `main: interrupted after `, `^main@monitor-1: first$`) // the slot may be free before the end is shown
		for n := 1; n <= 10; n++ {
			x.until(t, fmt.Sprintf(`^main@monitor-1: number %d$`, n), `main@monitor-1: done in `)
		}
	})
}

func TestAgentsOfWindows(t *testing.T) {
	t.Parallel()
	eachProvider(t, func(t *testing.T, m testProvider) {
		t.Helper()
		_, _, x := openTerminal(t, m)
		x.say(t, m.window("notes", "Notes", "# Hi"))
		x.until(t, `main: uses window:create `, `\+ window "Notes" \(notes\) on monitor-0: # Hi$`, `main: window:create is done`, `main: done in `)
		x.say(t, ":window notes "+m.say("I am here"))
		x.until(t, `window "Notes" \(notes\): agent window-notes assigned$`, `→ window-notes \(direct\)$`,
			`window "Notes" \(notes\): agent window-notes active$`, `^window-notes: I am here$`, `window-notes: done in `)
		x.say(t, ":press notes save one")
		x.say(t, ":press notes save two")
		x.untilAll(t, `→ window-notes/one \(direct\)$`, `→ window-notes/two \(direct\)$`, `window-notes/one: done in `, `window-notes/two: done in `)
	})
}

// Two task agents run concurrently: the questions of both are open at once. They are answered at
// another terminal.
func TestAgentsOfTasks(t *testing.T) {
	t.Parallel()
	eachProvider(t, func(t *testing.T, m testProvider) {
		t.Helper()
		s, id, x := openTerminal(t, m)
		other := attachTo(t, s, id)
		other.until(t, "── session ses-")
		x.say(t, m.task(m.ask("First?", "tea", "coffee")), m.task(m.ask("Second?", "red", "blue")))
		questions := map[string]string{}
		for range 2 {
			g := other.until(t, `\? A question: (First|Second)\?  \[:answer …\] #(\w{4})$`)
			questions[g[0]] = g[1]
		}
		other.say(t, ":answer #"+questions["Second"]+" blue")
		other.until(t, `question #`+questions["Second"]+` answered$`, `task-\w{4}-\d: user:ask is done: \{"selected":\["blue"\]\}`)
		x.until(t, `question #`+questions["Second"]+` answered$`)
		other.say(t, ":answer tea")
		x.untilAll(t, `question #`+questions["First"]+` answered$`, `task-\w{4}-1: done in `, `task-\w{4}-2: done in `, `main: task:run is done: .*"status":"completed"`)
		x.until(t, `main: done in `)
	})
}

// A question and an approval request are answered at a second terminal, and the agent continues.
func TestAgentsAreAnsweredElsewhere(t *testing.T) {
	t.Parallel()
	const hook = `/call system_set_config {"section":"hooks","event":"launch","label":"Greet","action":{"type":"os_action","payload":{"type":"toast.show","id":"t","message":"Hi"}}}`
	eachProvider(t, func(t *testing.T, m testProvider) {
		t.Helper()
		s, id, x := openTerminal(t, m)
		other := attachTo(t, s, id)
		other.until(t, "── session ses-")
		x.say(t, m.ask("Which?", "tea", "coffee"))
		x.until(t, `\? A question: Which\?  \[:answer …\] #\w{4}$`)
		other.until(t, `\? A question: Which\?`, `    tea$`, `    coffee$`)
		other.say(t, ":answer milk")
		other.until(t, `"milk" is not one of the choices`)
		other.say(t, ":answer coffee")
		x.until(t, `question #\w{4} answered$`, `main: user:ask is done: \{"selected":\["coffee"\]\}`, `main: done in `)

		x.say(t, hook)
		x.until(t, `\? Add a hook\?: .*  \[Add with :yes \[always\], .* with :no \[always\]\] #(\w{4})$`)
		other.until(t, `\? Add a hook\?`)
		other.say(t, ":yes")
		x.until(t, `question #\w{4} answered with yes$`, `main: system:set_config is done: Added hook-1`, `main: done in `)
		x.say(t, hook)
		other.until(t, `\? Add a hook\?`)
		other.say(t, ":no")
		x.until(t, `question #\w{4} answered with no$`, `main: system:set_config did not work`, `main: done in `)
	})
}

// A background monitor has a budget of output and actions per minute, and terminals show when it is
// exceeded.
func TestAgentsOverBudget(t *testing.T) {
	t.Parallel()
	eachProvider(t, func(t *testing.T, m testProvider) {
		t.Helper()
		_, _, x := openTerminal(t, m, "--monitor-max-output-per-min", "200", "--monitor-max-actions-per-min", "2")
		x.say(t, ":monitor monitor-1")
		x.say(t, m.window("a", "A", "1"), m.window("b", "B", "2"), m.window("c", "C", "3"))
		x.until(t, `\+ window "B" \(b\) on monitor-1`, `monitor-1: over its budget.* 2/2 actions, .* no more actions until \d\d:\d\d:\d\d$`,
			`main@monitor-1: window:create did not work: .*budget`, `main@monitor-1: interrupted after .*: monitor-1 is over its budget of actions per minute$`)
		x.say(t, ":monitor monitor-2")
		x.say(t, "/stream 1000 1000")
		x.until(t, `monitor-2: over its budget.* 200/200 bytes; .*no more output until \d\d:\d\d:\d\d$`,
			`main@monitor-2: interrupted after .*: monitor-2 is over its budget of output per minute$`)
		x.say(t, "one more")
		x.until(t, `#\w{4} waits, number 1 for monitor-2$`)
		x.say(t, ":monitor monitor-0") // has no budget
		x.say(t, "/stream 300 5000")
		x.until(t, `main: done in `)
	})
}
