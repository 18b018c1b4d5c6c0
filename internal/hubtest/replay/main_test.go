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

// writeLines makes a file of one JSON value per line.
func writeLines[T any](t *testing.T, all ...T) string {
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

func runReplay(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e strings.Builder
	code = run(t.Context(), args, &o, &e)
	return code, o.String(), e.String()
}

// validHistory is a short run of one session.
func validHistory() []hubtest.Entry {
	at := func(seq uint64) wire.Position { return wire.Position{Epoch: 1, Seq: seq} }
	log := []hubtest.Event{
		{At: at(0), Hash: "h0", Type: "OWNER_CHANGED", Replica: "a-1"},
		{At: at(1), Hash: "h1", Type: "MESSAGE_ACCEPTED", Message: "m1", Agent: "main-1", How: wire.TakenDirect},
		{At: at(2), Hash: "h2", Type: "AGENT_RESPONSE", Message: "m1", Agent: "main-1", Text: "hello", Outcome: wire.OutcomeCompleted},
	}
	all := []hubtest.Entry{
		{Kind: hubtest.KindHead, Test: "TestF01Kill/2", Seed: 42, Full: true, Note: "f01-2"},
		{Kind: hubtest.KindSnapshot, Source: "one", Session: "s", Event: &hubtest.Event{At: at(0)}},
		{Kind: hubtest.KindSend, Source: "one", Session: "s", Message: "m1", Expect: "hello"},
		{Kind: hubtest.KindFault, Note: "kill a-1"},
		{Kind: hubtest.KindEvent, Source: "one", Session: "s", Event: &log[1]},
		{Kind: hubtest.KindAck, Source: "one", Session: "s", Message: "m1"},
		{Kind: hubtest.KindEvent, Source: "one", Session: "s", Event: &log[2]},
		{Kind: hubtest.KindRules, Rules: &hubtest.Rules{StoreMayLose: true}},
	}
	for i := range log {
		all = append(all, hubtest.Entry{Kind: hubtest.KindLog, Session: "s", Event: &log[i]})
	}
	for kind, who := range map[hubtest.Kind]string{hubtest.KindFinal: "one", hubtest.KindServer: "a"} {
		all = append(all, hubtest.Entry{Kind: kind, Source: who, Session: "s", Event: &hubtest.Event{At: at(2), Hash: "same"}})
	}
	for i := range all {
		all[i].T = time.Duration(i) * time.Second
	}
	return all
}

func TestPrintViolations(t *testing.T) {
	t.Parallel()
	good := validHistory()
	code, out, errs := runReplay(t, writeLines(t, good...))
	if code != exitOK || errs != "" || !strings.Contains(out, "TestF01Kill/2, history f01-2, seed 42, all rounds: ") ||
		!strings.Contains(out, "StoreMayLose:true") || !strings.Contains(out, "no violations") {
		t.Errorf("a valid history: exit status %d, output %s, errors %s; want 0, head, rules and no violations", code, out, errs)
	}
	bad := validHistory()
	i := slices.IndexFunc(bad, func(e hubtest.Entry) bool { return e.Kind == hubtest.KindEvent })
	other := *bad[i].Event
	other.Hash = "spoiled"
	bad[i].Event = &other
	code, out, _ = runReplay(t, "-around", "1", writeLines(t, bad...))
	if code != exitViolations || !strings.Contains(out, "P2 in s at 4s: 1-1 has hash spoiled") || !strings.Contains(out, "1 violations") {
		t.Errorf("an invalid history: exit status %d, output %s; want 1 and one violation of P2", code, out)
	}
	// The entries around the violation, and no others.
	if !strings.Contains(out, "kill a-1") || !strings.Contains(out, "ack      one m1") || strings.Contains(out, "send") {
		t.Errorf("entries around the violation: %s, want the fault and the ack without the send", out)
	}
}

func TestUsesRecordedRules(t *testing.T) {
	t.Parallel()
	withAgents := append(validHistory(), hubtest.Entry{Kind: hubtest.KindAgents, Count: 3, T: time.Hour})
	if code, out, _ := runReplay(t, writeLines(t, withAgents...)); code != exitOK {
		t.Errorf("no limit of agents: exit status %d, want 0; output %s", code, out)
	}
	withAgents = append(withAgents, hubtest.Entry{Kind: hubtest.KindRules, Rules: &hubtest.Rules{MaxAgents: 2}})
	if code, out, _ := runReplay(t, writeLines(t, withAgents...)); code != exitViolations || !strings.Contains(out, "3 agents run, limit 2") {
		t.Errorf("limit of 2 agents: exit status %d, want 1 and a violation; output %s", code, out)
	}
}

func TestTestArgs(t *testing.T) {
	t.Parallel()
	want := "test -count=1 -timeout=30m ./internal/chaos -run ^TestF01Kill$ -chaos.seed=42 -chaos.full"
	if got := strings.Join(testArgs(validHistory()[0]), " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	path := writeLines(t,
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
	if code, out, errs := runReplay(t, "-table", path); code != exitOK || out != want {
		t.Errorf("exit status %d, errors %s, table:\n%s\nwant:\n%s", code, errs, out, want)
	}
}

func TestRefusesInvalidUse(t *testing.T) {
	t.Parallel()
	history := writeLines(t, validHistory()...)
	for _, args := range [][]string{
		nil,
		{"-nothing", history},
		{history, history},
		{"-again", "-table", history},
		{"-around", "-1", history},
		{filepath.Join(t.TempDir(), "none")},
		{writeLines(t, "no history")},
		{writeLines(t, validHistory()[1:]...)},
		{"-again", writeLines(t, 1)},
		{"-table", history},
	} {
		if code, out, errs := runReplay(t, args...); code != exitUsage || errs == "" || out != "" {
			t.Errorf("%v: exit status %d, output %q, errors %q; want 2 and an error", args, code, out, errs)
		}
	}
}
