package session_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/anthropic"
	"github.com/everdesk/everdesk/providers/fakemodel"
	"github.com/everdesk/everdesk/providers/openai"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// minCacheReads is the wanted share of input tokens that model servers read from their caches.
const minCacheReads = 0.9

// A session of 20 turns, four of them with a task, with changing modes and instructions, and a summary: all requests begin with the same
// tools and system prompt, and nearly all input is read from the cache of the model server.
func TestRequestsAreCached(t *testing.T) {
	t.Parallel()
	model := func(p providers.Provider, err error) providers.Provider {
		requireNoError(t, err)
		return p
	}
	for name, backend := range map[string]func(*fakemodel.Server) providers.Provider{
		"anthropic": func(s *fakemodel.Server) providers.Provider {
			return model(anthropic.New(anthropic.Config{BaseURL: "http://model", HTTP: s.Pipe()}))
		},
		"openai chat": func(s *fakemodel.Server) providers.Provider {
			return model(openai.New(openai.Config{BaseURL: "http://model/v1", HTTP: s.Pipe()}))
		},
		"openai responses": func(s *fakemodel.Server) providers.Provider {
			return model(openai.New(openai.Config{BaseURL: "http://model/v1", HTTP: s.Pipe(), Dialect: openai.Responses}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fakemodel.New()
			s.Caching = true
			t.Cleanup(s.Close)
			p := backend(s)
			d := startAgentHub(t, newFileDeployment(t), hubConfig{
				otherProviders: []providers.Provider{p}, session: session.Config{Window: 1_000_000},
			}).newDesktop(t, "ses-1")
			d.send("", wire.SetProvider{Provider: p.Name()})
			warm := 0
			for i := range 20 {
				if i == 2 {
					warm = len(s.Uses())
				}
				switch i {
				case 5:
					d.send("", wire.SetMode{Mode: "code"})
				case 10:
					d.send("", wire.SetInstructions{Instructions: strings.Repeat("Write short sentences. ", 20)})
				case 15:
					d.send("", wire.SetMode{Mode: "debug"})
				}
				id := wire.MessageID(fmt.Sprint("m", i))
				d.sendText(firstMonitor, id, cacheTurn(i))
				if e := d.waitTurnEnd(id); e.Outcome != wire.OutcomeCompleted {
					t.Fatalf("turn %d ended with %+v, want it completed", i, e)
				}
			}
			d.send("c1", wire.Condense{})
			d.waitRow(wire.SayCondenseContext)
			var sum fakemodel.Use
			for _, u := range s.Uses()[warm:] {
				sum.Input, sum.CacheRead, sum.CacheWrite = sum.Input+u.Input, sum.CacheRead+u.CacheRead, sum.CacheWrite+u.CacheWrite
			}
			share := float64(sum.CacheRead) / float64(sum.Total())
			t.Logf("%s: %.1f %% of %d input tokens after the second turn are cache reads", name, 100*share, sum.Total())
			if share < minCacheReads {
				t.Errorf("%.3f of the input tokens are cache reads, want at least %.2f", share, minCacheReads)
			}
			checkSameBeginning(t, s.Requests())
		})
	}
}

// cacheTurn returns the i-th message of the session: work with windows, a changing memory and, in
// every fifth turn, a task.
func cacheTurn(i int) string {
	text := fmt.Sprintf("%s\n/call window_create {\"windowId\":\"w%d\",\"title\":\"Figures\",\"content\":{\"renderer\":\"markdown\",\"content\":\"%s\"}}\n/say Done.",
		strings.Repeat("Please look at the figures of the last quarter. ", 3), i%4, strings.Repeat("a line of text, ", 20))
	switch i % 5 {
	case 3:
		text += "\n/call task_run {\"objective\":\"/call window_list {}\\n/say Looked.\"}\n/say The task is done."
	case 4:
		text += fmt.Sprintf("\n/call system_memorize {\"content\":\"Fact number %d\"}\n/say Remembered.", i)
	}
	return text
}

// checkSameBeginning checks that all requests have the same tools and system prompt.
func checkSameBeginning(t *testing.T, requests []fakemodel.Request) {
	t.Helper()
	beginning := func(r fakemodel.Request) string {
		var b struct {
			Tools, System, Instructions json.RawMessage
			Messages                    []json.RawMessage
		}
		requireNoError(t, json.Unmarshal(r.Body, &b))
		if b.System == nil && b.Instructions == nil {
			b.System = b.Messages[0]
		}
		return string(b.Tools) + string(b.System) + string(b.Instructions)
	}
	first := beginning(requests[0])
	for i, r := range requests {
		if got := beginning(r); got != first {
			t.Fatalf("request %d begins with %.300q, want the tools and the system prompt of the first one", i, got)
		}
	}
}
