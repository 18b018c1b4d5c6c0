package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/internal/redistest"
)

// The hub that executes a plan is killed. The other one continues it: it does not run completed
// todos again, and its clients see the plan end.
func TestCrashInAPlan(t *testing.T) {
	t.Parallel()
	demo := testProviders(t)[0]
	settings := []string{"--lease", "2s", "--store", redistest.Standalone(t).URL(), "--files-dir", t.TempDir()}
	a, b := serveProcess(t, demo, settings...), serveProcess(t, demo, settings...)
	session := createSession(t, a.url)
	attachTo(t, a, session, "--json").until(t, `"type":"session_state"`) // the hub that opens it first owns it
	x := attachTo(t, b, session, "--json")
	x.until(t, `"type":"session_state"`)
	const todos = `{"id":"one","task":"/say 1"},{"id":"two","task":"/sleep 1s\n/say 2","depends_on":["one"]},{"id":"three","task":"/say 3","depends_on":["two"]}`
	x.say(t, fmt.Sprintf(`{"type":"USER_MESSAGE","data":{"messageId":"m1","mode":"plan","content":%q}}`, `/plan {"todos":[`+todos+`]}`))
	request := x.until(t, `"type":"hitl_plan_review".*"request_id":"([^"]+)"`)[0]
	x.say(t, fmt.Sprintf(`{"type":"hitl_plan_response","data":{"request_id":%q,"action":"approve"}}`, request))
	x.until(t, `"type":"hitl_closed"`, `"type":"todo_started".*"todo_id":"two"`)
	a.kill()
	x.until(t, `"type":"OWNER_CHANGED"`, `"type":"complete".*"status":"success"`, `"type":"AGENT_RESPONSE".*"messageId":"m1"`)
	for _, id := range []string{"one", "two", "three"} {
		done := 0
		for _, line := range x.seen {
			if containsType(line, "todo_completed") && strings.Contains(line, `"todo_id":"`+id+`"`) {
				done++
			}
		}
		if done != 1 {
			t.Errorf("executions of %s: got %d, want 1", id, done)
		}
	}
}
