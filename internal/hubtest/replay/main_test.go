package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/internal/hubtest"
	"github.com/everdesk/everdesk/wire"
)

// write makes a file of one JSON value per line.
func write[T any](t *testing.T, all ...T) string {
	t.Helper()
	var b []byte
	for _, e := range all {
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		b = append(append(b, line...), '\n')
	}
	path := filepath.Join(t.TempDir(), "file.jsonl")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func replay(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e strings.Builder
	code = run(t.Context(), args, &o, &e)
	return code, o.String(), e.String()
}

// course is a short run of one session.
func course() []hubtest.Entry {
	at := func(seq uint64) wire.Position { return wire.Position{Epoch: 1, Seq: seq} }
	log := []hubtest.Event{
		{At: at(0), Hash: "h0", Type: "OWNER_CHANGED", Replica: "a-1"},
		{At: at(1), Hash: "h1", Type: "MESSAGE_ACCEPTED", Message: "m1", Agent: "main-1", How: wire.TakenDirect},
		{At: at(2), Hash: "h2", Type: "AGENT_RESPONSE", Message: "m1", Agent: "main-1", Text: "hello", Outcome: wire.OutcomeCompleted},
	}
	all := []hubtest.Entry{
		{Kind: hubtest.KindHead, Test: "TestF01Kill/2", Seed: 42, Full: true, Note: "f01-2"},
		{Kind: hubtest.KindSnapshot, Who: "one", Session: "s", Event: &hubtest.Event{At: at(0)}},
		{Kind: hubtest.KindSend, Who: "one", Session: "s", Message: "m1", Expect: "hello"},
		{Kind: hubtest.KindFault, Note: "kill a-1"},
		{Kind: hubtest.KindEvent, Who: "one", Session: "s", Event: &log[1]},
		{Kind: hubtest.KindAck, Who: "one", Session: "s", Message: "m1"},
		{Kind: hubtest.KindEvent, Who: "one", Session: "s", Event: &log[2]},
		{Kind: hubtest.KindRules, Rules: &hubtest.Rules{Loss: true}},
	}
	for i := range log {
		all = append(all, hubtest.Entry{Kind: hubtest.KindLog, Session: "s", Event: &log[i]})
	}
	for kind, who := range map[hubtest.Kind]string{hubtest.KindFinal: "one", hubtest.KindServer: "a"} {
		all = append(all, hubtest.Entry{Kind: kind, Who: who, Session: "s", Event: &hubtest.Event{At: at(2), Hash: "same"}})
	}
	for i := range all {
		all[i].T = time.Duration(i) * time.Second
	}
	return all
}

func TestLook(t *testing.T) {
	t.Parallel()
	good := course()
	code, out, errs := replay(t, write(t, good...))
	if code != exitGood || errs != "" || !strings.Contains(out, "TestF01Kill/2, history f01-2, seed 42, all rounds: ") ||
		!strings.Contains(out, "Loss:true") || !strings.Contains(out, "nothing is wrong") {
		t.Errorf("a good run: %d, %s, %s", code, out, errs)
	}
	bad := course()
	i := slices.IndexFunc(bad, func(e hubtest.Entry) bool { return e.Kind == hubtest.KindEvent })
	other := *bad[i].Event
	other.Hash = "spoiled"
	bad[i].Event = &other
	code, out, _ = replay(t, "-around", "1", write(t, bad...))
	if code != exitBroken || !strings.Contains(out, "P2 in s at 4s: 1-1 is spoiled") || !strings.Contains(out, "1 violations") {
		t.Errorf("a bad run: %d, %s", code, out)
	}
	// What was around it, and nothing else.
	if !strings.Contains(out, "kill a-1") || !strings.Contains(out, "ack      one m1") || strings.Contains(out, "send") {
		t.Errorf("around it was: %s", out)
	}
}

func TestRulesAreThoseOfTheRun(t *testing.T) {
	t.Parallel()
	crowd := append(course(), hubtest.Entry{Kind: hubtest.KindAgents, Count: 3, T: time.Hour})
	if code, out, _ := replay(t, write(t, crowd...)); code != exitGood {
		t.Errorf("nobody said how many may run: %d, %s", code, out)
	}
	crowd = append(crowd, hubtest.Entry{Kind: hubtest.KindRules, Rules: &hubtest.Rules{Agents: 2}})
	if code, out, _ := replay(t, write(t, crowd...)); code != exitBroken || !strings.Contains(out, "3 agents run, 2 may") {
		t.Errorf("two may run: %d, %s", code, out)
	}
}

func TestAgain(t *testing.T) {
	t.Parallel()
	want := "test -count=1 -timeout=30m ./internal/chaos -run ^TestF01Kill$ -chaos.seed=42 -chaos.full"
	if got := strings.Join(again(course()[0]), " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	path := write(t,
		hubtest.Result{
			Fault: "F1", What: "kill | -9", Rounds: 200, Seconds: 99.6,
			Figures: []hubtest.Figure{{Name: "p50", Value: "5s"}, {Name: "p99", Value: "6s", Wanted: "≤ 7s"}},
		},
		hubtest.Result{Fault: "L", What: "order", Rounds: 1000, Violations: 1, Seconds: 3})
	want := `| fault | what | rounds | violations | figures (wanted) | seconds |
|---|---|---:|---:|---|---:|
| F1 | kill \| -9 | 200 | 0 | p50 5s, p99 6s (≤ 7s) | 100 |
| L | order | 1000 | 1 |  | 3 |
`
	if code, out, errs := replay(t, "-table", path); code != exitGood || out != want {
		t.Errorf("%d, %s\n%s", code, errs, out)
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	history := write(t, course()...)
	for _, args := range [][]string{
		nil,
		{"-nothing", history},
		{history, history},
		{"-again", "-table", history},
		{"-around", "-1", history},
		{filepath.Join(t.TempDir(), "none")},
		{write(t, "no history")},
		{write(t, course()[1:]...)},
		{"-again", write(t, 1)},
		{"-table", history},
	} {
		if code, out, errs := replay(t, args...); code != exitUsage || errs == "" || out != "" {
			t.Errorf("%v: %d, %s, %s", args, code, out, errs)
		}
	}
}
