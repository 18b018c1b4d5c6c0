package agentpool_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/providers"
)

// A backend that sends whole conversations gets the tools of all agents, and what an agent must
// know as part of the conversation, once.
func TestRunsShareTheirBeginning(t *testing.T) {
	t.Parallel()
	bubble(t, agentpool.Limits{}, func(r *rig) {
		t := r.t
		r.provider.caps.Prefix = true
		r.tools.memory = "likes tea"
		r.Start(agentpool.Run{ID: "t1.1", Agent: "main-1", Role: "main-1", Provider: "fake", Prompt: "go", Lasting: true})
		synctest.Wait()
		specs, sent, _ := r.provider.received()
		if s := specs[0]; s.System != "you are main-1" || len(s.Tools) != 2 || s.Tools[1].Name != "tool_of_others" {
			t.Errorf("the run is opened with %+v, want the tools of all agents", s)
		}
		const memory = "<memory>\nlikes tea\n</memory>\n\n"
		if got := sent[0].Text; got != memory+"go" {
			t.Errorf("the prompt is %q, want the memory before it", got)
		}
		from := providers.Thread{Entries: []providers.Entry{{
			Role: providers.RoleUser, Turn: "m", Blocks: []providers.Block{{Kind: providers.BlockText, Text: sent[0].Text}},
		}}}
		for id, run := range map[string]agentpool.Run{
			"t2.1": {Prompt: "go on", From: from},
			"t3.1": {Prompt: "go on", From: from, Guest: true},
			"t4.1": {Prompt: "sum up", From: from, NoTools: true},
		} {
			run.ID, run.Agent, run.Provider, run.Fork = id, id, "fake", true
			r.Start(run)
			synctest.Wait()
			specs, sent, _ := r.provider.received()
			last, asked := specs[len(specs)-1], sent[len(sent)-1]
			if !strings.HasPrefix(asked.Text, run.Prompt) && !run.Guest {
				t.Errorf("the prompt of %s is %q, want nothing that the conversation has", id, asked.Text)
			}
			if text := last.From.Entries[0].Blocks[0].Text; strings.Contains(text, "tea") == run.Guest {
				t.Errorf("%s reads %q, want the memory unless it is a guest's", id, text)
			}
			if run.NoTools {
				if len(last.Tools) != 2 || last.System == "" || !last.Call(t.Context(), providers.ToolCall{Name: "tool_of_others"}).IsError {
					t.Errorf("%s is opened with %+v, want the tools of all agents, refused", id, last)
				}
			}
		}
	})
}
