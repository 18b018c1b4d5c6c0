package agentpool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// bubble runs a test with a rig in virtual time.
func bubble(t *testing.T, limits agentpool.Limits, fn func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { fn(newRig(t, limits)) })
}

func TestRunFromStartToEnd(t *testing.T) {
	t.Parallel()
	bubble(t, agentpool.Limits{}, func(r *rig) {
		t := r.t
		var caller tools.Caller
		r.tools.tool = func(_ context.Context, c tools.Caller, call providers.ToolCall) providers.ToolResult {
			caller = c
			return providers.ToolResult{Text: call.Name + " was used"}
		}
		var result providers.ToolResult
		r.provider.runTurn = func(p *turn) (providers.Outcome, error) {
			p.emitThinking("hm")
			p.emitText("a")
			p.emit(providers.Event{Kind: providers.EventEntries, Thread: "t", Entries: make([]providers.Entry, 2)})
			p.emitText("b")
			result = p.call("lamp")
			p.emit(providers.Event{Kind: providers.EventUsage, Usage: providers.Usage{Output: 7}})
			p.emit(providers.Event{Kind: providers.EventRetry, Text: "busy", Wait: time.Second})
			time.Sleep(time.Second)
			return providers.Completed, nil
		}
		run := mainRun("1")
		run.Images = []providers.Image{{MediaType: "image/png"}}
		run.From = providers.Thread{ID: "t"}
		run.Window, run.Job, run.Todo = "w", "p/a.1", "a"
		r.Start(run)
		synctest.Wait()
		if r.held() != 1 {
			t.Errorf("%d slots are held while the turn runs, want 1", r.held())
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		r.expect(t, "1 began", `1 output "" "hm"`, `1 output "a" ""`, "1 entries t 2", `1 output "b" ""`, "1 usage 7", "1 retrying busy 1s", "1 completed")
		if end := r.recorded()[7].(agentpool.Ended); end.Duration != time.Second {
			t.Errorf("the turn took %v, want 1s", end.Duration)
		}
		r.expectFree()
		if result.Text != "lamp was used" || result.IsError {
			t.Errorf(`the tool returned %+v, want "lamp was used"`, result)
		}
		want := tools.Caller{
			Session: "ses-1", User: "ada", Monitor: "monitor-0", Agent: "main-monitor-0-m", Turn: "m-1", Kind: wire.AgentMain,
			Window: "w", Profile: "main", Provider: "fake", Job: "p/a.1", Todo: "a",
		}
		if diff := cmp.Diff(want, caller); diff != "" {
			t.Errorf("caller of the tool (-want +got):\n%s", diff)
		}
		specs, sent, _ := r.provider.received()
		s := specs[0]
		if s.System != "you are main-monitor-0-m" || s.Model != "model-1" || s.Tools[0].Name != "tool_of_main" || s.From.ID != "t" || s.Fork {
			t.Errorf("the provider session was opened with %+v, want the system prompt of main-monitor-0-m, model-1, its tool and the thread t, no fork", s)
		}
		if diff := cmp.Diff(providers.Message{ID: "m-1", Text: "do 1", Images: run.Images, Mode: providers.Start}, sent[0]); diff != "" {
			t.Errorf("message (-want +got):\n%s", diff)
		}
	})
}

// A slow session delays only the turn.
func TestSlowSession(t *testing.T) {
	t.Parallel()
	bubble(t, agentpool.Limits{}, func(r *rig) {
		t := r.t
		gate := make(chan struct{})
		r.on = func(report agentpool.Report) error {
			if _, is := report.(agentpool.Output); is {
				<-gate
			}
			return nil
		}
		emitted := 0
		r.provider.runTurn = func(p *turn) (providers.Outcome, error) {
			for range 3 {
				p.emitText("x")
				p.emit(providers.Event{Kind: providers.EventUsage})
				emitted++
			}
			return providers.Completed, nil
		}
		r.Start(ephemeralRun("1"))
		time.Sleep(time.Hour)
		synctest.Wait()
		if emitted != 0 {
			t.Errorf("the backend emitted %d events before the session was ready, want 0", emitted)
		}
		close(gate)
		synctest.Wait()
		if last := r.lines()[len(r.lines())-1]; last != "1 completed" {
			t.Errorf("the last report is %s, want the end", last)
		}
	})
}

func TestContinue(t *testing.T) {
	t.Parallel()
	bubble(t, agentpool.Limits{}, func(r *rig) {
		t := r.t
		r.Start(mainRun("1"))
		synctest.Wait()
		again := mainRun("2")
		again.Continue, again.Done, again.From.ID = true, map[string]providers.ToolResult{"c": {Text: "had"}}, "earlier"
		r.Start(again)
		synctest.Wait()
		specs, sent, open := r.provider.received()
		if len(specs) != 2 || specs[1].From.ID != "earlier" || open != 1 {
			t.Errorf("%d provider sessions opened, %d open; want 2 and 1", len(specs), open)
		}
		if diff := cmp.Diff(providers.Message{ID: "m-2", Mode: providers.Continue, Done: again.Done}, sent[1]); diff != "" {
			t.Errorf("message (-want +got):\n%s", diff)
		}
	})
}

func TestFailures(t *testing.T) {
	t.Parallel()
	rate := &providers.Failure{Class: providers.Rate, RetryAfter: time.Minute, Err: errFake}
	for name, c := range map[string]struct {
		prepare func(r *rig, run *agentpool.Run)
		want    []string
	}{
		"no such provider":       {func(_ *rig, run *agentpool.Run) { run.Provider = "unknown" }, []string{"1 failed invalid"}},
		"turn fails":             {func(r *rig, _ *agentpool.Run) { r.provider.runTurn = fails(rate) }, []string{"1 began", "1 failed rate"}},
		"fails without error":    {func(r *rig, _ *agentpool.Run) { r.provider.runTurn = fails(nil) }, []string{"1 began", "1 failed transport"}},
		"fails with other error": {func(r *rig, _ *agentpool.Run) { r.provider.runTurn = fails(errFake) }, []string{"1 began", "1 failed transport"}},
		"open fails": {func(r *rig, _ *agentpool.Run) {
			r.provider.onOpen = func(context.Context, providers.Spec) error { return rate }
		}, []string{"1 began", "1 failed rate"}},
		"open takes for ever": {func(r *rig, _ *agentpool.Run) {
			r.provider.onOpen = func(ctx context.Context, _ providers.Spec) error { <-ctx.Done(); return ctx.Err() }
		}, []string{"1 began", "1 failed transport"}},
		"send fails": {func(r *rig, _ *agentpool.Run) {
			r.provider.onSend = func(context.Context, providers.Message) error { return providers.ErrClosed }
		}, []string{"1 began", "1 failed transport"}},
		"no brief": {func(r *rig, _ *agentpool.Run) {
			r.tools.brief = func() (string, error) { return "", errFake }
		}, []string{"1 began", "1 failed transport"}},
		"backend dies": {func(r *rig, _ *agentpool.Run) {
			r.provider.runTurn = func(p *turn) (providers.Outcome, error) { p.s.exit(); return "", nil }
		}, []string{"1 began", "1 failed transport"}},
		"backend stops by itself": {func(r *rig, _ *agentpool.Run) {
			r.provider.runTurn = func(*turn) (providers.Outcome, error) { return providers.Interrupted, nil }
		}, []string{"1 began", "1 interrupted the backend interrupted the turn"}},
		"brief breaks": {func(r *rig, _ *agentpool.Run) {
			r.tools.brief = func() (string, error) { panic("brief") }
		}, []string{"1 began", "1 failed invalid"}},
		"open breaks": {func(r *rig, _ *agentpool.Run) {
			r.provider.onOpen = func(context.Context, providers.Spec) error { panic("open") }
		}, []string{"1 began", "1 failed invalid"}},
		"send breaks": {func(r *rig, _ *agentpool.Run) {
			r.provider.onSend = func(context.Context, providers.Message) error { panic("send") }
		}, []string{"1 began", "1 failed invalid"}},
		"close breaks": {func(r *rig, run *agentpool.Run) {
			run.Lasting = false
			r.provider.onClose = func() error { panic("close") }
		}, []string{"1 began", "1 completed"}},
		"tool breaks": {func(r *rig, _ *agentpool.Run) {
			r.tools.tool = func(context.Context, tools.Caller, providers.ToolCall) providers.ToolResult { panic("tool") }
			r.provider.runTurn = func(p *turn) (providers.Outcome, error) { p.call("x"); return hang(p) }
		}, []string{"1 began", "1 failed invalid"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, agentpool.Limits{}, func(r *rig) {
				t := r.t
				run := mainRun("1")
				c.prepare(r, &run)
				r.Start(run)
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				r.expect(t, c.want...)
				r.expectFree()
				end, _ := r.recorded()[len(c.want)-1].(agentpool.Ended)
				if f := end.Failure; f != nil && (f.Err == nil || f.Class == providers.Rate && f.RetryAfter != time.Minute) {
					t.Errorf("the failure is %+v, want an error, and a minute until the next attempt for %s", f, providers.Rate)
				}
			})
		})
	}
}

// A store that is unavailable while the system prompt is built does not end the turn.
func TestSystemPromptWaitsForStore(t *testing.T) {
	t.Parallel()
	bubble(t, agentpool.Limits{}, func(r *rig) {
		tries := 0
		r.tools.brief = func() (string, error) {
			if tries++; tries < 5 {
				return "", fmt.Errorf("read settings: %w", store.ErrUnavailable)
			}
			return "you are you", nil
		}
		r.Start(mainRun("1"))
		time.Sleep(time.Minute)
		synctest.Wait()
		r.expect(r.t, "1 began", "1 completed")
		if tries != 5 {
			r.t.Errorf("the system prompt was requested %d times, want 5", tries)
		}
	})
}

func fails(err error) func(*turn) (providers.Outcome, error) {
	return func(*turn) (providers.Outcome, error) { return providers.Failed, err }
}

func TestLaunch(t *testing.T) {
	t.Parallel()
	bubble(t, agentpool.Limits{}, func(r *rig) {
		t := r.t
		var callers []tools.Caller
		r.tools.launch = func(_ context.Context, c tools.Caller) {
			callers = append(callers, c)
			panic("launch")
		}
		r.Launch()
		synctest.Wait()
		r.Close()
		r.Launch()
		synctest.Wait()
		if diff := cmp.Diff([]tools.Caller{{Session: "ses-1", User: "ada"}}, callers); diff != "" {
			t.Errorf("launched (-want +got):\n%s", diff)
		}
	})
}

func TestProviders(t *testing.T) {
	t.Parallel()
	bubble(t, agentpool.Limits{}, func(r *rig) {
		t := r.t
		r.provider.caps.Window = 1000
		if r.Caps("fake").Window != 1000 || r.Caps("unknown").Window != 0 {
			t.Error("ContextWindow is wrong: want 1000 for the provider and 0 for an unknown one")
		}
		if !r.HasProvider("fake") || !r.Caps("fake").Steer || r.HasProvider("unknown") || r.Caps("unknown").Steer {
			t.Errorf("HasProvider and Caps.Steer give %v and %v for fake, %v and %v for unknown, want true for fake only", r.HasProvider("fake"), r.Caps("fake").Steer, r.HasProvider("unknown"), r.Caps("unknown").Steer)
		}
		r.provider.caps.Steer = false
		if r.Caps("fake").Steer {
			t.Error("Caps.Steer is true for a backend without steering, want false")
		}
	})
}

// A backend that calls tools over MCP gets an MCP token that is valid as long as its session is open.
// A call counts for the turn that runs when it arrives, and is refused between turns.
func TestMCPToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, agentpool.Limits{})
		r.provider.caps.MCP = true
		var endpoint providers.Endpoint
		r.provider.onOpen = func(_ context.Context, s providers.Spec) error {
			endpoint = s.MCP(s.Call)
			return nil
		}
		b := &tokens{}
		pool := agentpool.NewRunner(agentpool.Config{Limiter: r.limiter, Tools: r.tools, Providers: backends{"fake": r.provider}, MCPTokens: b})
		runner := pool.Session(t.Context(), agentpool.SessionRef{Session: "ses-1", Sink: r.reportRecorder})
		defer pool.Close()
		var turns []wire.MessageID
		r.tools.tool = func(_ context.Context, c tools.Caller, _ providers.ToolCall) providers.ToolResult {
			turns = append(turns, c.Turn)
			return providers.ToolResult{Text: "done"}
		}
		call := providers.ToolCall{ID: "c", Name: "look"}
		r.provider.runTurn = func(*turn) (providers.Outcome, error) {
			b.execute(t.Context(), call)
			return providers.Completed, nil
		}
		for _, id := range []string{"1", "2"} {
			runner.Start(mainRun(id))
			synctest.Wait()
			if got := b.execute(t.Context(), call); !got.IsError || !strings.Contains(got.Text, "No turn is running") {
				t.Errorf("a call after turn %s gives %+v, want an error that no turn is running", id, got)
			}
		}
		if want := []wire.MessageID{"m-1", "m-2"}; !slices.Equal(turns, want) || len(b.good) != 1 || b.issued != 1 {
			t.Errorf("calls were executed in %v with %d tokens, %d valid, want %v with one valid token", turns, b.issued, len(b.good), want)
		}
		runner.Dispose(mainRun("1").Agent)
		synctest.Wait()
		r.provider.onOpen = func(_ context.Context, s providers.Spec) error {
			s.MCP(s.Call)
			return errFake
		}
		runner.Start(mainRun("3"))
		synctest.Wait()
		if specs, _, _ := r.provider.received(); len(b.good) != 0 || len(specs) != 1 || endpoint.Token != "m-1" {
			t.Errorf("%d tokens are valid after the end and the sessions opened are %d, want none and 1 with token m-1", len(b.good), len(specs))
		}
	})
}

type tokens struct {
	issued  int
	good    []wire.MessageID
	execute func(context.Context, providers.ToolCall) providers.ToolResult
}

func (b *tokens) Issue(c tools.Caller, execute func(context.Context, providers.ToolCall) providers.ToolResult) (providers.Endpoint, func()) {
	b.issued++
	b.good, b.execute = append(b.good, c.Turn), execute
	return providers.Endpoint{Token: string(c.Turn)}, func() {
		b.good = slices.DeleteFunc(b.good, func(m wire.MessageID) bool { return m == c.Turn })
	}
}

// Users decide the approvals that a backend requests.
func TestApproval(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		verdict  tools.Verdict
		err      error
		canceled bool
		want     []providers.Message
	}{
		"yes":       {verdict: tools.Verdict{Confirmed: true, Answered: true}, want: []providers.Message{{ID: "a", Text: "yes"}}},
		"no":        {verdict: tools.Verdict{Answered: true}, want: []providers.Message{{ID: "a", Text: "no"}}},
		"timeout":   {want: []providers.Message{{ID: "a", Text: "no"}}},
		"error":     {err: errFake, want: []providers.Message{{ID: "a", Text: "no"}}},
		"withdrawn": {canceled: true, want: []providers.Message{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, agentpool.Limits{}, func(r *rig) {
				t := r.t
				d := &approvalDesktop{verdict: c.verdict, err: c.err}
				runner := r.pool.Session(t.Context(), agentpool.SessionRef{Session: "ses-1", Sink: r.reportRecorder, Desktop: tools.Desktop{Users: d}})
				r.provider.runTurn = func(p *turn) (providers.Outcome, error) {
					input := json.RawMessage(`"` + strings.Repeat("é", 40_000) + `"`)
					p.emit(providers.Event{Kind: providers.EventApproval, Approval: "a", Tool: providers.ToolCall{Name: "rm", Input: input}})
					if c.canceled {
						p.emit(providers.Event{Kind: providers.EventApprovalGone, Approval: "a"})
					}
					time.Sleep(2 * time.Second)
					return providers.Completed, nil
				}
				runner.Start(ephemeralRun("1"))
				time.Sleep(time.Minute)
				synctest.Wait()
				_, sent, _ := r.provider.received()
				if diff := cmp.Diff(c.want, sent[1:]); diff != "" {
					t.Errorf("answers (-want +got):\n%s", diff)
				}
				if len(d.asked) != 1 {
					t.Fatalf("the user was asked %d times, want once", len(d.asked))
				}
				shown := d.asked[0].Message
				if want := "rm\n" + `"` + strings.Repeat("é", 40_000) + `"`; shown != want {
					t.Errorf("the question has %d bytes, …%s, want the command and its whole input, %d bytes", len(shown), shown[max(len(shown)-40, 0):], len(want))
				}
			})
		})
	}
}

// approvalDesktop is a desktop whose user answers after a second.
type approvalDesktop struct {
	tools.Users
	verdict tools.Verdict
	err     error
	asked   []wire.DialogConfirm
}

func (a *approvalDesktop) Confirm(ctx context.Context, _ tools.Caller, q wire.DialogConfirm, _ providers.ToolCall, _ time.Duration) (tools.Verdict, error) {
	a.asked = append(a.asked, q)
	select {
	case <-time.After(time.Second):
		return a.verdict, a.err
	case <-ctx.Done():
		return tools.Verdict{}, ctx.Err()
	}
}
