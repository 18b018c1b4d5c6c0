package contextpool_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/profiles"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

const titler = "title"

// newTitleRig returns a rig whose sessions get titles, from a provider of its own.
func newTitleRig(t fataler) *rig {
	r := newRig(t)
	r.cfg.Titles = true
	r.runner.has = []string{"demo", "other", "of-title"}
	r.runner.defaults = map[profiles.Role]string{profiles.RoleTitle: "of-title"}
	r.hire()
	r.step(func() { r.pool.Recover() })
	return r
}

// hasTitleRun reports whether a run finds a title.
func (r *rig) hasTitleRun() bool {
	for _, run := range r.runner.runs {
		if run.Role == titler {
			return true
		}
	}
	return false
}

// wantNoTitleRun fails if a run finds a title.
func (r *rig) wantNoTitleRun(when string) {
	r.t.Helper()
	if r.hasTitleRun() {
		r.t.Fatalf("a run finds a title %s, want none", when)
	}
}

// finds makes the run that finds a title emit text and end.
func (r *rig) finds(says string) {
	r.t.Helper()
	run := r.run(titler)
	r.began(run)
	r.said(run, says)
	r.spent(run, 10)
	r.ended(run)
}

func TestTheFirstAnswerGivesTheSessionATitle(t *testing.T) {
	t.Parallel()
	r := newTitleRig(t)
	r.wantNoTitleRun("before the first message")
	run := r.direct("m1")
	r.wantNoTitleRun("before the first answer")
	r.answers(run, "the answer", 100)
	title := r.run(titler)
	if title.Provider != "of-title" || title.System == "" || !title.Fork || len(title.From.Entries) != 0 {
		t.Errorf("the run has the provider %q, the system prompt %q and the conversation %v, want of-title, one and none", title.Provider, title.System, title.From)
	}
	for _, want := range []string{"text of m1", "the answer"} {
		if !strings.Contains(title.Prompt, want) {
			t.Errorf("the prompt is %q, want %q in it", title.Prompt, want)
		}
	}
	wantEqual(t, r.desktop.Monitors()[0].State, wire.MonitorIdle)
	events := len(r.events)
	r.finds("\"Trip to Rome\"\n\nI hope you like it.")
	wantEqual(t, r.titles, []string{"Trip to Rome|"})
	wantEqual(t, len(r.events)-events, 0) // the session emits SESSION_RENAMED
	r.runMainTurn("m2", "more", 100)
	r.wantNoTitleRun("for the second answer")
}

// The tokens and the cost of a title count where those of the answer do.
func TestATitleCountsTowardsUsage(t *testing.T) {
	t.Parallel()
	r := newTitleRig(t)
	r.runMainTurn("m1", "the answer", 100)
	before := r.pool.View.Overview()
	r.finds("Rome")
	after := r.pool.View.Overview()
	wantEqual(t, []any{after.Tokens - before.Tokens, after.Cost - before.Cost}, []any{int64(10), 0.5})
	tasks, err := history.LoadTasks(r.kept.tables[history.TaskTable])
	if err != nil {
		t.Fatalf("read the tasks: %v, want no error", err)
	}
	item, _ := tasks.Get("t1")
	wantEqual(t, []any{item.TokensIn, item.TotalCost}, []any{99 + 9, 1.0})
}

func TestNoTitleIsFound(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*rig){
		"if the session has one":       func(r *rig) { r.step(func() { r.Emit(wire.SessionRenamed{Title: "Mine"}) }) },
		"if a person has removed it":   func(r *rig) { r.step(r.pool.TitleChanged) },
		"by a provider with no model":  func(r *rig) { r.runner.scripted = []string{"of-title"} },
		"by a provider that is gone":   func(r *rig) { r.runner.has = []string{"demo"} },
		"if titles are switched off":   func(r *rig) { r.cfg.Titles = false; r.hire(); r.step(func() { r.pool.Recover() }) },
		"if too many turns are on way": func(r *rig) { fillTurns(r) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newTitleRig(t)
			prepare(r)
			r.runMainTurn("m1", "the answer", 100)
			r.wantNoTitleRun(name)
		})
	}
	t.Run("after an answer without text", func(t *testing.T) {
		t.Parallel()
		r := newTitleRig(t)
		r.ended(r.direct("m1"))
		r.wantNoTitleRun("after an answer without text")
		r.failed(r.direct("m2"), providers.Invalid)
		r.wantNoTitleRun("after a failure")
		r.runMainTurn("m3", "the answer", 100)
		r.finds("Rome")
		wantEqual(t, r.titles, []string{"Rome|"})
	})
}

// fillTurns starts as many calls of programs as the session has room for.
func fillTurns(r *rig) {
	for i := range 70 {
		r.step(func() {
			r.pool.StartClientCall(contextpool.ClientCall{ID: wire.MessageID("c" + strings.Repeat("x", i)), Monitor: first, Token: "t", Name: "n"})
		})
	}
}

// A title that a person gives while the model looks for one stays.
func TestATitleOfAPersonStays(t *testing.T) {
	t.Parallel()
	r := newTitleRig(t)
	r.runMainTurn("m1", "the answer", 100)
	run := r.run(titler)
	r.began(run)
	r.said(run, "Rome")
	r.step(func() {
		r.Emit(wire.SessionRenamed{Title: "Mine"})
		r.pool.TitleChanged()
	})
	if !slices.ContainsFunc(r.runner.interrupted, func(s string) bool { return strings.HasPrefix(s, run.ID) }) {
		t.Errorf("interrupted runs are %v, want %s among them", r.runner.interrupted, run.ID)
	}
	r.ended(run) // the model was faster than the interruption
	wantEqual(t, len(r.titles), 0)
	r.step(func() { r.Emit(wire.SessionRenamed{Title: ""}) })
	r.runMainTurn("m2", "more", 100)
	r.wantNoTitleRun("after a person has removed the title")
	r.crash()
	r.runMainTurn("m3", "more", 100)
	r.wantNoTitleRun("after a take-over")
}

// A failure has no effect that people see, and the next answer tries once more.
func TestATitleThatIsNotFoundIsTriedOnceMore(t *testing.T) {
	t.Parallel()
	r := newTitleRig(t)
	for i, id := range []string{"m1", "m2"} {
		r.runMainTurn(id, "the answer", 100)
		run := r.run(titler)
		events := len(r.events)
		r.began(run)
		r.handleReport(agentpool.Retrying{RunRef: agentpool.RunRef{Run: run.ID}, Why: "overloaded"})
		r.failed(run, providers.Overloaded)
		wantEqual(t, len(r.events)-events, 0)
		wantEqual(t, len(r.titles), i+1)
	}
	if failed := r.pool.View.Overview().Failed; failed != 0 {
		t.Errorf("%d turns have failed, want 0", failed)
	}
	r.runMainTurn("m3", "the answer", 100)
	r.wantNoTitleRun("for the third answer")
}

// The run is stopped when its model call fails for the second time, or writes more than a title.
func TestATitleRunIsBounded(t *testing.T) {
	t.Parallel()
	r := newTitleRig(t)
	r.runMainTurn("m1", strings.Repeat("x", 100_000), 100)
	run := r.run(titler)
	if len(run.Prompt) > 5000 {
		t.Errorf("the prompt has %d bytes, want at most 5000", len(run.Prompt))
	}
	r.began(run)
	for range 2 {
		r.handleReport(agentpool.Retrying{RunRef: agentpool.RunRef{Run: run.ID}, Why: "overloaded"})
	}
	wantEqual(t, r.runner.interrupted, []string{run.ID + ": the model call failed twice"})
	r.interrupted(run)
	r.runMainTurn("m2", "again", 100)
	run = r.run(titler)
	r.began(run)
	r.said(run, strings.Repeat("word ", 400))
	wantEqual(t, len(r.runner.interrupted), 2)
	r.interrupted(run)
	if got := r.titles[len(r.titles)-1]; !strings.HasPrefix(got, "word word") || utf8.RuneCountInString(got) > 61+len("|the model answers with more than a title") {
		t.Errorf("the title is %q, want the first words", got)
	}
}

// A new owner lets a run be repeated once, and finds no title when there is one.
func TestATitleIsFoundOnceAfterTakeOvers(t *testing.T) {
	t.Parallel()
	r := newTitleRig(t)
	r.runMainTurn("m1", "the answer", 100)
	r.crash() // while the run waits for a slot, which calls no model
	r.began(r.run(titler))
	r.crash()
	again := r.run(titler)
	wantEqual(t, again.Provider, "of-title")
	r.began(again)
	r.crash()
	r.wantNoTitleRun("after two runs were cut off")
	r.runMainTurn("m2", "more", 100)
	r.wantNoTitleRun("for the second answer")

	r = newTitleRig(t)
	r.runMainTurn("m1", "the answer", 100)
	r.began(r.run(titler))
	r.crash()
	r.finds("Rome")
	wantEqual(t, r.titles, []string{"Rome|"})
	r.crash()
	r.runMainTurn("m2", "more", 100)
	r.wantNoTitleRun("after a title was found")

	r = newTitleRig(t)
	r.runMainTurn("m1", "the answer", 100)
	r.began(r.run(titler))
	r.step(r.pool.TitleChanged)
	r.crash()
	r.wantNoTitleRun("after a person has given a title")
	wantEqual(t, len(r.titles), 0)
}

// A reset, a rewind and an interruption end the run; a later answer gives the title.
func TestATitleAfterTheRunWasEnded(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*rig){
		"by a reset": func(r *rig) { r.step(r.pool.Reset) },
		"by a person": func(r *rig) {
			r.step(func() { r.pool.Interrupt(contextpool.Scope{Kind: wire.ScopeSession}, false) })
			r.interrupted(r.run(titler))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newTitleRig(t)
			r.runMainTurn("m1", "the answer", 100)
			r.began(r.run(titler))
			end(r)
			r.wantNoTitleRun("after it was ended " + name)
			r.runMainTurn("m2", "another answer", 100)
			r.finds("Rome")
			wantEqual(t, r.titles[len(r.titles)-1], "Rome|")
		})
	}
}

func TestTitlesAreCleaned(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"Trip to Rome":                     "Trip to Rome",
		"  \n\n## **Trip to Rome**.\nmore": "Trip to Rome",
		"Title: \"Trip to Rome\"":          "Trip to Rome",
		"„Reise nach Rom“":                 "Reise nach Rom",
		"「로마 여행 계획」":                       "로마 여행 계획",
		"a\tb\u0007c \u202e evil":          "a b c evil",
		strings.Repeat("word ", 30):        "word word word word word word word word word word word…",
		strings.Repeat("긴", 100):           strings.Repeat("긴", 59) + "…",
		"bad \xff bytes":                   "bad bytes",
		"Re: how to name <things>":         "Re: how to name <things",
		"12:30 is a time":                  "12:30 is a time",
		"a title of exactly sixty characters, which is as long as it ": "a title of exactly sixty characters, which is as long as it",
	} {
		r := newTitleRig(t)
		r.runMainTurn("m1", "the answer", 100)
		r.finds(in)
		wantEqual(t, r.titles, []string{want + "|"})
	}
	r := newTitleRig(t)
	r.runMainTurn("m1", "the answer", 100)
	r.finds(" \n\"\" ... \n")
	wantEqual(t, r.titles, []string{"|the model has answered without a title"})
}
