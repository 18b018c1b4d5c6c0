package demo_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/everdesk/everdesk/providers"
)

// decide answers all approvals the same way.
func (d *demoSession) decide(allow bool) {
	d.mu.Lock()
	d.decision = &allow
	d.mu.Unlock()
}

// place is the position of a window.
type place struct {
	WindowID, Variant   string
	X, Y, Width, Height int
}

func placeOf(t *testing.T, c providers.ToolCall) (p place) {
	t.Helper()
	if err := json.Unmarshal(c.Input, &p); err != nil {
		t.Fatalf("%s: %v", c.Input, err)
	}
	return p
}

// opened returns the opened windows.
func (d *demoSession) opened() (places []place) {
	d.Helper()
	for _, c := range d.calls {
		if !strings.HasPrefix(c.Name, "window_create") {
			continue
		}
		places = append(places, placeOf(d.T, c))
	}
	return places
}

// tidy fails the test if windows are outside a desktop of 1040 by 700, or overlap.
func (d *demoSession) tidy() {
	d.Helper()
	places := d.opened()
	for n, p := range places {
		if p.X < 0 || p.Y < 0 || p.Width < 200 || p.Height < 150 || p.X+p.Width > 1040 || p.Y+p.Height > 700 {
			d.Errorf("window %+v is not on the desktop or too small, want at least 200x150 within 1040x700", p)
		}
		for _, o := range places[:n] {
			if p.X < o.X+o.Width && o.X < p.X+p.Width && p.Y < o.Y+o.Height && o.Y < p.Y+p.Height {
				d.Errorf("%+v and %+v lie on top of each other, want them side by side", p, o)
			}
		}
	}
}

// speaks fails the test on text in another language.
func (d *demoSession) speaks(korean bool, text string) {
	d.Helper()
	hangul := strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Hangul, r) })
	for _, c := range d.calls {
		hangul = hangul || strings.ContainsFunc(string(c.Input), func(r rune) bool { return unicode.Is(unicode.Hangul, r) })
	}
	if hangul != korean {
		d.Errorf("Korean is %v in %q, want %v", hangul, text, korean)
	}
}

// tours are the sentences of the guided tour, with variants.
var tours = map[string][]string{
	"showcase": {"Show me some windows", "창을 몇 개 보여 줘", "please open a few windows", "여러 개의 창을 띄워 주세요"},
	"form":     {"Make a form: name, e-mail, message", "양식 만들어 줘: 이름, 이메일, 내용"},
	"clean up": {"Ask me before you delete the old reports", "오래된 보고서를 지우기 전에 물어봐 줘", "delete old reports, but ask me first", "보고서 삭제해 줘"},
	"launch":   {"Plan a product launch with parallel tasks", "제품 출시를 병렬 작업으로 계획해 줘", "plan our launch"},
	"build":    {"Watch the build in the background", "백그라운드에서 빌드를 지켜봐 줘", "please monitor the build"},
	"who":      {"Who are you?", "What can you do?", "누구세요?", "뭘 할 수 있어요?"},
}

func TestTours(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tools         string // used tools, in order, once each
		windows       int
		least, most   time.Duration
		says, koreans []string
	}{
		"showcase": {"window_create window_update window_create_component", 5, 3 * time.Second, 8 * time.Second, []string{"five windows"}, []string{"다섯"}},
		"form":     {"window_create_component", 1, 0, 0, []string{"Form 1"}, []string{"양식 1"}},
		"clean up": {
			"window_create window_create_component user_ask", 3, 0, 0,
			[]string{"before you say so", "You allowed it", "Here is the summary."},
			[]string{"허락하시기 전에는", "지웠어요", "요약을 만들었어요"},
		},
		"launch": {"window_create_component task_run window_update_component", 1, 0, 2 * time.Second, []string{"3 of 3 tasks"}, []string{"3개를 마쳤어요"}},
		"build": {
			"window_create_component window_update_component window_show_notification", 1, 20 * time.Second, 30 * time.Second,
			[]string{"has finished"},
			[]string{"빌드가 끝났어요"},
		},
		"who": {"", 0, 0, 0, []string{"demo", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "--provider ollama"}, []string{"데모", "ANTHROPIC_API_KEY"}},
	} {
		for _, text := range tours[name] {
			t.Run(name+"/"+text, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					d := newDemoSession(t, nil)
					d.decide(true)
					d.results["user_ask"] = providers.ToolResult{Text: `{"selected":["markdown"]}`}
					said := d.says("m-1", text)
					korean := strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Hangul, r) })
					want := c.says
					if korean {
						want = c.koreans
					}
					d.has(said, want...)
					d.speaks(korean, said)
					var used []string
					for _, call := range d.calls {
						if !slices.Contains(used, call.Name) {
							used = append(used, call.Name)
						}
					}
					if got := strings.Join(used, " "); got != c.tools {
						t.Errorf("it uses %s, want %s", got, c.tools)
					}
					if n := len(d.opened()); n != c.windows {
						t.Errorf("%d windows are opened, want %d", n, c.windows)
					}
					if len(d.calls) > 20 {
						t.Errorf("it makes %d calls, want at most 20, twice what a monitor in the background may make in a minute", len(d.calls))
					}
					d.tidy()
					if took := time.Since(d.began); took < c.least || took > c.most {
						t.Errorf("it took %v, want %v to %v", took, c.least, c.most)
					}
				})
			})
		}
	}
}

// The tasks of a launch run as three concurrent task agents, each of which gets its work from
// its prompt.
func TestLaunchTasks(t *testing.T) {
	t.Parallel()
	for _, text := range tours["launch"][:2] {
		synctest.Test(t, func(t *testing.T) {
			d := newDemoSession(t, nil)
			d.says("m-1", text)
			var ends []time.Duration
			for _, c := range d.calls {
				if c.Name != "task_run" {
					continue
				}
				var in struct{ Objective string }
				if err := json.Unmarshal(c.Input, &in); err != nil {
					t.Fatal(err)
				}
				agent := newDemoSession(t, d.entries)
				said := agent.says("task", "You are a task agent: a copy of the conversation.\nDo this:\n\n"+in.Objective)
				ends = append(ends, time.Since(agent.began))
				d.calls = append(d.calls, agent.calls...) // tidy checks all windows together
				if said == "" || len(agent.opened()) != 1 {
					t.Errorf("for %q the output is %q and the opened windows are %v, want a text and one window", in.Objective, said, agent.opened())
				}
			}
			slices.Sort(ends)
			if len(slices.Compact(ends)) != 3 || ends[0] < 6*time.Second || ends[2] > 11*time.Second {
				t.Errorf("the tasks take %v, want three times from 6s to 11s", ends)
			}
			d.tidy()
		})
	}
}

func TestATaskThatFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDemoSession(t, nil)
		d.results["task_run"] = providers.ToolResult{Text: "agent limit reached", IsError: true}
		d.has(d.says("m-1", tours["launch"][0]), "agent limit reached", "0 of 3 tasks", "did not get to its end")
		d.has(d.says("m-2", "Launch task 9: nothing"), "no such task")
	})
}

func TestDeniedToolsAreNotCalled(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		`{"selected":["table"]}`: "as a table", `{"selected":["none"]}`: "leave it at that", "The user did not answer.": "leave it at that",
	} {
		d := newDemoSession(t, nil)
		d.decide(false)
		d.results["user_ask"] = providers.ToolResult{Text: answer}
		said := d.says("m-1", tours["clean up"][0])
		d.has(said, "You said no", want)
		if strings.Contains(said, "deleted") {
			t.Errorf("output is %q, want nothing deleted", said)
		}
		d.tidy()
	}
}

// A pending approval is withdrawn when the turn is stopped.
func TestCanceledApproval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDemoSession(t, nil)
		d.start("m-1", tours["clean up"][0])
		synctest.Wait()
		if err := d.Interrupt(t.Context()); err != nil {
			t.Fatal(err)
		}
		if e := <-d.ended; e.Outcome != providers.Interrupted {
			t.Errorf("the turn is %s, want %s", e.Outcome, providers.Interrupted)
		}
		asked, gone := d.heard(providers.EventApproval), d.heard(providers.EventApprovalGone)
		if len(asked) != 1 || len(gone) != 1 || asked[0].Approval != gone[0].Approval || !strings.Contains(string(asked[0].Tool.Input), "audit-2022.pdf") {
			t.Errorf("requested approvals %+v, canceled %+v, want one for audit-2022.pdf, and the same canceled", asked, gone)
		}
		if err := d.Answer(t.Context(), asked[0].Approval, providers.Decision{Allow: true}); err != nil {
			t.Error(err)
		}
	})
}

// Wherever a tour is cut off, it continues with what is missing and repeats nothing.
func TestToursContinue(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"showcase", "clean up", "launch", "build"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				open := func(entries []providers.Entry) *demoSession {
					d := newDemoSession(t, entries)
					d.decide(true)
					d.results["user_ask"] = providers.ToolResult{Text: `{"selected":["table"]}`}
					return d
				}
				whole := open(nil)
				whole.says("m-1", tours[name][0])
				want := whole.used()
				for n := 1; n < len(whole.entries); n++ {
					before := whole.entries[:n]
					next := open(before)
					if err := next.Send(t.Context(), providers.Message{ID: "m-1", Mode: providers.Continue}); err != nil {
						t.Fatal(err)
					}
					if e := <-next.ended; e.Outcome != providers.Completed {
						t.Fatalf("cut after %d entries, the turn is %s: %v, want %s", n, e.Outcome, e.Err, providers.Completed)
					}
					done := 0 // calls that have a result
					for _, e := range before {
						for _, b := range e.Blocks {
							if b.Kind == providers.BlockToolResult && !strings.HasPrefix(b.Text, "The user allowed") {
								done++
							}
						}
					}
					// Concurrent calls have no order.
					got, left := slices.Sorted(slices.Values(next.used())), slices.Sorted(slices.Values(want[done:]))
					if !slices.Equal(got, left) {
						t.Fatalf("cut after %d entries, the calls are\n%s\nwant\n%s", n, strings.Join(got, "\n"), strings.Join(left, "\n"))
					}
				}
			})
		})
	}
}

// A tour resumed by the user starts again.
func TestToursAfterAQuestion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDemoSession(t, nil)
		d.has(d.says("m-1", "Your work on this message was cut off: tool task:run may or may not have run. Look first what was done, "+
			"then go on with what is missing. The message:\n\n"+tours["launch"][0]), "3 of 3 tasks")
	})
}

func TestTheDashboardIsRefreshed(t *testing.T) {
	t.Parallel()
	const press = "<open_windows>tour-dashboard</open_windows>\n\n<ui:click>button \"refresh\" in window \"대시보드\"</ui:click>"
	d := newDemoSession(t, nil)
	seen := map[string]bool{}
	for n := range 5 {
		d.has(d.says(fmt.Sprint("m-", n), press), "새로 고쳤어요")
	}
	for _, use := range d.used() {
		seen[use] = true
	}
	if len(seen) != 5 || !strings.Contains(d.used()[4], "개발 완료") {
		t.Errorf("it shows %v, want 5 different steps, the last one done", d.used())
	}
}
