package chaos_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/internal/hubtest"
	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/wire"
)

// F21: hubs of different releases share sessions.
func TestF21Versions(t *testing.T) {
	t.Parallel()
	t.Run("next", testNextRelease)
	if plan.Full { // building another release takes longer than all the rest
		t.Run("previous", testUpgrade)
	}
}

// testNextRelease runs hubs of this release and of a later one, and moves sessions between them by
// kills and drains. The next release has messages, events and stored fields that this one does not
// know.
func testNextRelease(t *testing.T) {
	t.Parallel()
	began := time.Now()
	next := nextRelease(t)
	f := hubtest.Start(t, hubtest.Options{
		Programs: []string{program, next, program}, Hubs: 3, Store: redistest.Standalone(t).URL(), Args: append([]string{"--lease", "2s"}, workArgs...),
	})
	m := &mixedRun{f: f, h: plan.NewHistory(t, "f21")}
	rng := plan.Rand(0)
	var tabs []*hubtest.Tab
	for i := range plan.Rounds(2, 6) {
		// The first tab uses the load balancer, the other tabs stay at their hubs: see
		// mixedRun.sendWave.
		d := newDesktop(t, f, m.h, string(rune('p'+i)), 1+len(f.Hubs), func(tab int) string {
			if tab == 0 {
				return f.Balancer.URL()
			}
			return f.Hubs[tab-1].URL
		})
		m.all, tabs = append(m.all, d), append(tabs, d.tabs...)
	}
	rounds := plan.Rounds(2, 20)
	for n := range rounds {
		for i, d := range m.all {
			m.sendWave(t, d, wire.MessageID(fmt.Sprintf("wave-%d-%d", n, i)))
		}
		workloads := make([]*workload, len(m.all))
		for i, d := range m.all {
			workloads[i] = d.startWorkload(t, rng)
		}
		which := rng.IntN(len(m.all))
		target := m.all[which]
		if err := target.tabs[0].AwaitPieces(t.Context(), workloads[which].stream, 1+rng.IntN(20)); err != nil {
			t.Fatal(err)
		}
		m.moveSession(t, target, n%2 == 0)
		for _, s := range workloads {
			s.finish(t, rng, wire.OpenPrompt{}, false)
		}
	}
	violations := f.Finish(t, m.h, tabs, hubtest.Rules{})
	unread := undecoded(t, f, m.h)
	newer := 0
	for _, e := range m.h.Entries() {
		if e.Kind == hubtest.KindLog && e.Event.Type == "WAVED" {
			newer++
		}
	}
	if newer == 0 {
		t.Error("the next release wrote no event of a new type")
	}
	plan.Add(t, hubtest.Result{
		Fault: "F21", What: "this release beside the next one", Rounds: rounds, Violations: violations, Seconds: time.Since(began).Seconds(),
		Figures: []hubtest.Figure{
			{Name: "sessions", Value: strconv.Itoa(len(m.all))},
			{Name: "moved", Value: strconv.Itoa(m.moved)},
			{Name: "events of an unknown type", Value: strconv.Itoa(newer)},
			{Name: "messages of an unknown type refused", Value: strconv.Itoa(m.refused)},
			{Name: "decode errors", Value: strconv.Itoa(unread), Wanted: "0"},
		},
	})
}

// undecoded counts the frames that tabs and hubs could not decode. Hubs continue without them and
// log them.
func undecoded(t *testing.T, f *hubtest.Cluster, h *hubtest.History) int {
	t.Helper()
	all := 0
	for _, e := range h.Entries() {
		if e.Kind == hubtest.KindBadEvents {
			all += e.Count
		}
	}
	for _, hub := range f.Hubs {
		for _, text := range []string{"cannot be read", "unreadable"} {
			if n := hub.CountInLog(text); n > 0 {
				t.Errorf("log of hub %s: got %q %d times, want it never\n%s", hub.Name, text, n, hub.Log())
				all += n
			}
		}
	}
	return all
}

// mixedRun is a set of sessions that hubs of two releases share.
type mixedRun struct {
	f   *hubtest.Cluster
	h   *hubtest.History
	all []*desktop

	moved, refused int
}

// sendWave sends a message that only the next release knows, through one of its hubs. The owner
// executes it or refuses it.
func (m *mixedRun) sendWave(t *testing.T, d *desktop, id wire.MessageID) {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 2*time.Minute, fmt.Errorf("no answer to %s in %s", id, d.id))
	defer cancel()
	tab := d.tabs[2] // at the hub in the middle
	frame := fmt.Appendf(nil, `{"type":"WAVE","data":{"messageId":%q,"text":"hello"}}`, id)
	if _, err := tab.Client.Forward(ctx, frame); err != nil {
		t.Fatalf("send %s: %v", id, err)
	}
	var answer string
	err := tab.WaitUntil(ctx, func() bool {
		for _, e := range m.h.Entries() {
			if e.Source == tab.Name && e.Event != nil && e.Event.Message == id {
				answer = e.Event.Type
			}
		}
		return answer != ""
	})
	if err != nil {
		t.Fatal(err)
	}
	if answer != "WAVED" {
		m.refused++
	}
}

// moveSession moves a session away from its owner.
func (m *mixedRun) moveSession(t *testing.T, d *desktop, kill bool) {
	t.Helper()
	owner, epoch := d.owner(), d.epoch()
	if owner == nil || !owner.Alive() {
		t.Fatalf("%s is owned by %q, which is not running", d.id, d.tabs[0].Client.State().Owner)
	}
	m.moved++
	if kill {
		m.h.AddFault("kill %s", owner.ID())
		owner.Kill(t)
	} else {
		m.h.AddFault("stop %s", owner.ID())
		owner.Terminate(t)
		if code := owner.Wait(t); code != 0 {
			t.Errorf("exit code of hub %s: got %d, want 0", owner.ID(), code)
		}
	}
	d.waitEpoch(t, d.tabs[0], epoch)
	owner.Start(t)
}

// previousCommit is the last commit of the previous release.
const previousCommit = "a2fbc9a"

// testUpgrade runs hubs of the previous release, which are upgraded under load, downgraded again,
// and upgraded once more.
func testUpgrade(t *testing.T) {
	t.Parallel()
	began := time.Now()
	before := previousRelease(t)
	f := hubtest.Start(t, hubtest.Options{
		Program: before, Hubs: 3, Store: redistest.Standalone(t).URL(), Args: []string{"--shutdown-grace", "20s", "--lease", "3s"},
	})
	r := &rollingRun{f: f, h: plan.NewHistory(t, "f21-previous"), stop: make(chan struct{}), lengthy: map[wire.SessionID]bool{}}
	t.Cleanup(r.work.Wait) // they log to the test
	const sessions = 30
	for i := range sessions {
		r.startBusySession(t, i)
	}
	replaced := 0
	for _, release := range []string{program, before, program} {
		for _, hub := range f.Hubs {
			r.replace(t, hub, release)
			replaced++
		}
	}
	close(r.stop)
	r.work.Wait()
	violations := f.Finish(t, r.h, r.tabs, hubtest.Rules{})
	unread := undecoded(t, f, r.h)
	plan.Add(t, hubtest.Result{
		Fault: "F21", What: "the release before this one is replaced, this one is, and again, under load", Rounds: replaced,
		Violations: violations, Seconds: time.Since(began).Seconds(),
		Figures: []hubtest.Figure{
			{Name: "busy sessions", Value: strconv.Itoa(sessions)},
			{Name: "turns", Value: strconv.Itoa(int(r.turns.Load()))},
			{Name: "interrupted", Value: strconv.Itoa(int(r.cut.Load()))},
			{Name: "exit, most", Value: roundDuration(r.exits.quantile(1))},
			{Name: "busy session continues p99", Value: roundDuration(r.busied.quantile(0.99))},
			{Name: "decode errors", Value: strconv.Itoa(unread), Wanted: "0"},
		},
	})
}

// sourceChange is a change of a file for the next release.
type sourceChange struct{ file, from, to string }

// nextReleaseChanges make the next release: a message, an event, a field of an event and a stored
// field of a turn.
var nextReleaseChanges = []sourceChange{
	{
		"wire/entries.go", `		client[Interrupt](`,
		`		client[Wave]("WAVE", FamilyDesktop, "A test message."),
		client[Interrupt](`,
	},
	{
		"wire/entries.go", `		event[AgentThinking](`,
		`		event[Waved]("WAVED", FamilyDesktop, lasting, FormNone, "A test event."),
		event[AgentThinking](`,
	},
	{
		"wire/desktop_event.go", "// AgentResponse is",
		`// Wave is a message of the next release.
type Wave struct {
	Inbound
	MessageID MessageID ` + "`json:\"messageId,omitempty\"`" + `
	Text      string    ` + "`json:\"text\"`" + `
}

// Waved is an event of the next release.
type Waved struct {
	Outbound
	MessageID MessageID ` + "`json:\"messageId,omitempty\"`" + `
	MonitorID MonitorID ` + "`json:\"monitorId,omitempty\"`" + `
	Text      string    ` + "`json:\"text\"`" + `
}

// AgentResponse is`,
	},
	{
		"wire/desktop_event.go", "	IsComplete bool `json:\"isComplete\"`\n",
		"	IsComplete bool `json:\"isComplete\"`\n	Mood string `json:\"mood,omitempty\"`\n",
	},
	{"contextpool/reports.go", "rs.step.Emit(wire.AgentResponse{", `rs.step.Emit(wire.AgentResponse{Mood: "good", `},
	{"contextpool/turn_ender.go", "end := wire.AgentResponse{", `end := wire.AgentResponse{Mood: "best",`},
	{"contextpool/turn.go", "	Attempt int            `json:\"attempt\"`\n", "	Attempt int            `json:\"attempt\"`\n	Mood string `json:\"mood,omitempty\"`\n"},
	{"contextpool/turn_starter.go", "	t := &turn{\n		Kind: wire.AgentMain,", "	t := &turn{\n		Mood: \"good\", Kind: wire.AgentMain,"},
	{
		"session/commands.go", "	case wire.UserMessage:\n",
		`	case wire.Wave:
		cs.w.Emit(wire.Waved{MessageID: c.Message.ID, Text: m.Text})
	case wire.UserMessage:
		cs.w.Emit(wire.Waved{Text: "before a message"})
`,
	},
}

// nextRelease builds a hub with these changes.
func nextRelease(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	replace := map[string]string{}
	for _, c := range nextReleaseChanges {
		path, err := filepath.Abs(filepath.Join("..", "..", c.file))
		if err != nil {
			t.Fatal(err)
		}
		from := path
		if replace[path] != "" {
			from = replace[path]
		}
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(string(text), c.from) != 1 {
			t.Fatalf("%s has %q %d times, want once: the changes for the next release must be adapted", c.file, c.from, strings.Count(string(text), c.from))
		}
		replace[path] = filepath.Join(folder, strings.ReplaceAll(c.file, "/", "-"))
		if err := os.WriteFile(replace[path], []byte(strings.Replace(string(text), c.from, c.to, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(overlay, list, 0o600); err != nil {
		t.Fatal(err)
	}
	path, err := hubtest.Build(t.Context(), folder, "next", "-overlay", overlay)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// previousRelease builds the hub of the previous release.
func previousRelease(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	run := func(dir, name string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("build the previous release, %s: %s: %v: %s", previousCommit, name, err, strings.TrimSpace(string(out)))
		}
	}
	archive := filepath.Join(folder, "previous.tar")
	run(filepath.Join("..", ".."), "git", "archive", "-o", archive, previousCommit)
	run(folder, "tar", "-xf", archive)
	run(folder, "go", "build", "-trimpath", "-o", "previous", "./cmd/hub")
	return filepath.Join(folder, "previous")
}
