package main

import (
	"net/http"
	"strings"
	"testing"
)

// Claude Code and Codex work in the folder of the session's files: they see what people upload, and people see what they
// make, at once. Agents that speak ACP have a folder of their own.
func TestAgentsWorkInTheFilesOfASession(t *testing.T) {
	t.Parallel()
	everyProgram(t, func(t *testing.T, p agentProgram, home string) {
		t.Helper()
		s := serveProcess(t, p.provider(home))
		id, x := openSession(t, s)
		watching := attachTo(t, s, id, "--json")
		watching.until(t, `"type":"session_state"`)
		here := "/api/sessions/" + string(id) + "/files"
		s.request(t, http.MethodPut, here+"/sums.csv", "text/csv", strings.NewReader("month,sum\nMay,7\n"))

		x.say(t, "/shell wc -l < sums.csv > lines.txt; echo finished")
		x.until(t, `\? May the agent do this\?`)
		x.say(t, ":yes")
		x.until(t, `finished`, `main: done in `)
		if p.private {
			if got := s.request(t, http.MethodGet, here, "", nil); strings.Contains(got, "lines.txt") {
				t.Errorf("the files of the session are %s, want none of an agent that speaks ACP", got)
			}
		} else {
			watching.until(t, `FILES_CHANGED.*"path":"lines.txt"`)
			if got := s.request(t, http.MethodGet, here+"/lines.txt", "", nil); strings.TrimSpace(got) != "2" {
				t.Errorf("the agent counted %q lines of the uploaded file, want 2", got)
			}
		}
		if code := s.stop(t); code != 0 {
			t.Errorf("the hub ended with code %d, want 0", code)
		}
	})
}
