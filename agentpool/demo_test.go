package agentpool_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/demo"
	"github.com/everdesk/everdesk/tools"
)

// The session runner works with the demo provider from the table that the hub uses.
func TestDemo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, agentpool.Limits{})
		table, err := providers.NewTable(providers.TableConfig{}, demo.New(demo.Config{}))
		ok(t, err)
		defer func() { ok(t, table.Close()) }()
		var called []string
		r.tools.tool = func(_ context.Context, _ tools.Caller, call providers.ToolCall) providers.ToolResult {
			called = append(called, call.Name)
			return providers.ToolResult{Text: "done"}
		}
		r.tools.tools = func() []providers.Tool { return []providers.Tool{{Name: "lamp"}} }
		pool := agentpool.NewRunner(agentpool.Config{Limiter: r.limiter, Tools: r.tools, Providers: table})
		defer pool.Close()
		runner := pool.Session(t.Context(), agentpool.SessionRef{Session: "ses-1", Sink: r.reportRecorder})
		run := mainRun("1")
		run.Provider, run.Prompt = "demo", "/say one\n/call lamp {}\n/say two"
		runner.Start(run)
		time.Sleep(time.Minute)
		synctest.Wait()
		var text strings.Builder
		for _, report := range r.recorded() {
			if s, is := report.(agentpool.Output); is {
				text.WriteString(s.Text)
			}
		}
		output := text.String()
		if !strings.Contains(output, "one") || !strings.Contains(output, "two") || !slices.Equal(called, []string{"lamp"}) {
			t.Errorf("text is %q, tools called are %v; want one, two and lamp", output, called)
		}
		if lines := r.lines(); lines[0] != "1 began" || lines[len(lines)-1] != "1 completed" {
			t.Errorf("reports are %v, want a complete run", lines)
		}
		run = mainRun("2")
		run.Provider, run.Prompt = "demo", "/hang"
		runner.Start(run)
		synctest.Wait()
		runner.Interrupt("2", "enough")
		synctest.Wait()
		if lines := r.lines(); lines[len(lines)-1] != "2 interrupted enough" {
			t.Errorf("reports are %v, want a complete run", lines)
		}
		r.expectFree()
	})
}
