package agentpool_test

import (
	"testing"
	"testing/synctest"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/providers"
)

// A run with its own System has no tools, and the backend must not shorten the conversation of
// a lasting agent.
func TestSystemOfARun(t *testing.T) {
	t.Parallel()
	bubble(t, agentpool.Limits{}, func(r *rig) {
		t := r.t
		r.provider.runTurn = func(p *turn) (providers.Outcome, error) {
			p.emit(providers.Event{Kind: providers.EventTruncated, Truncation: providers.Truncation{Left: 3, Before: 20, After: 10}})
			return providers.Completed, nil
		}
		r.Start(agentpool.Run{ID: "t1.1", Agent: "main-1", Provider: "fake", System: "you sum up", Prompt: "go", Fork: true})
		synctest.Wait()
		r.Start(agentpool.Run{ID: "t2.1", Agent: "main-1", Role: "main-1", Provider: "fake", Prompt: "go", Lasting: true})
		synctest.Wait()
		specs, _, _ := r.provider.received()
		if s := specs[0]; s.System != "you sum up" || s.Tools != nil || s.Call != nil || s.Whole {
			t.Errorf(`a run with its own System is opened with %+v, want "you sum up" without tools`, s)
		}
		if s := specs[1]; s.System != "you are main-1" || len(s.Tools) != 1 || s.Call == nil || !s.Whole {
			t.Errorf(`a run of a lasting agent is opened with %+v, want "you are main-1" with one tool, whole`, s)
		}
		r.expect(t, "t1.1 began", "t1.1 truncated 3 20 10", "t1.1 completed", "t2.1 began", "t2.1 truncated 3 20 10", "t2.1 completed")
	})
}
