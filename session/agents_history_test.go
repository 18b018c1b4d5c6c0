package session_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/desktop"
	records "github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// People send, edit and rewind messages in random order while conversations exceed their limits and
// owners change: the visible rows and the models' histories agree, the store has what tabs see, and
// every message has one end.
//
// SESSION_HISTORY_ROUNDS sets the number of rounds, and SESSION_HISTORY_SEED repeats one that
// failed.
func TestHistories(t *testing.T) {
	t.Parallel()
	rounds, seed := 8, uint64(time.Now().UnixNano())
	if text := os.Getenv("SESSION_HISTORY_ROUNDS"); text != "" {
		n, err := strconv.Atoi(text)
		requireNoError(t, err)
		rounds = n
	}
	if text := os.Getenv("SESSION_HISTORY_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		requireNoError(t, err)
		rounds, seed = 1, n
	}
	for i := range rounds {
		seed := seed + uint64(i)
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newHistoryTest(t, seed)
				for range 15 {
					for range 1 + s.r.IntN(10) {
						s.doRandom()
					}
					s.waitIdle()
					s.checkAll()
				}
				// A tab that reads the whole log only now sees the same.
				s.mirror, s.read = desktop.New(s.d.id), wire.Position{}
				s.checkAll()
			})
		})
	}
}

// historyTest is a session whose conversation is changed at random.
type historyTest struct {
	t     *testing.T
	r     *rand.Rand
	cfg   hubConfig
	o     *agentHub
	d     *testDesktop
	n     int
	steps []string // for failure messages

	// rows are all rows that ever existed.
	rows map[wire.RowID]wire.UIRow
	seen int // events that were read

	mirror *desktop.State // the state of a tab that has followed the log
	read   wire.Position  // up to which the mirror has read
}

func newHistoryTest(t *testing.T, seed uint64) *historyTest {
	t.Helper()
	s := &historyTest{t: t, r: rand.New(rand.NewPCG(seed, 8)), rows: map[wire.RowID]wire.UIRow{}, cfg: hubConfig{
		logger: discardLogger(), limits: agentpool.Limits{Agents: 4},
		session: session.Config{Window: 2000, CondenseAt: 80, AnswersPerMinute: -1},
	}}
	s.o = startAgentHub(t, newSyncDeployment(t), s.cfg)
	s.d = s.o.newDesktop(t, "ses-1")
	s.mirror = desktop.New(s.d.id)
	return s
}

func (s *historyTest) logStep(format string, args ...any) {
	s.steps = append(s.steps, fmt.Sprintf(format, args...))
}

func (s *historyTest) fail(format string, args ...any) {
	s.t.Helper()
	s.t.Fatalf("%s\nafter\n%s\nwith\n%s", fmt.Sprintf(format, args...), strings.Join(s.steps, "\n"), s.d.dump())
}

func (s *historyTest) id() wire.MessageID {
	s.n++
	return wire.MessageID(fmt.Sprintf("x%d", s.n))
}

func (s *historyTest) monitor() wire.MonitorID {
	if s.r.IntN(4) == 0 {
		return backgroundMonitor
	}
	return firstMonitor
}

// randomScript returns the directives of a turn.
func (s *historyTest) randomScript() string {
	steps := []string{
		"/say something\\n", "/think about it", "/stream 8 400", "/sleep 30ms", "/sleep 5ms", "/nosteer", openWindowDirective("w0"), openWindowDirective("w1"),
		`/call window:update {"windowId":"w0","operation":"append","content":"."}`, `/call window:list {} window:list {}`,
		"/fill 700", "/fail invalid: enough", "/fail context_length: too long", "/task default /say I am a task; /sleep 2ms",
	}
	lines := []string{fmt.Sprintf("number %d", s.n)}
	for range 1 + s.r.IntN(4) {
		lines = append(lines, steps[s.r.IntN(len(steps))])
	}
	return strings.Join(lines, "\n")
}

// send sends a command and does not wait.
func (s *historyTest) send(data wire.ClientPayload) {
	s.t.Helper()
	id := s.id()
	s.logStep("%s %T %+v", id, data, data)
	s.d.send(id, data)
}

// randomRow returns a present or deleted row.
func (s *historyTest) randomRow() wire.UIRow {
	rows := s.d.snapshot().RecentMessages
	if len(rows) == 0 {
		return wire.UIRow{TS: 1}
	}
	if s.r.IntN(2) == 0 { // mostly not far back
		rows = rows[len(rows)*3/4:]
	}
	return rows[s.r.IntN(len(rows))]
}

// doRandom does one random thing.
func (s *historyTest) doRandom() {
	s.t.Helper()
	switch k := s.r.IntN(100); {
	case k < 42:
		s.send(wire.UserMessage{MonitorID: s.monitor(), Content: s.randomScript()})
	case k < 50:
		w := wire.WindowID(fmt.Sprintf("w%d", s.r.IntN(2)))
		s.send(wire.WindowMessage{MonitorID: s.monitor(), WindowID: w, Content: s.randomScript()})
	case k < 58:
		s.send(wire.Condense{MonitorID: s.monitor()})
	case k < 68:
		row := s.randomRow()
		u := wire.Rewind{TS: row.TS, MonitorID: row.MonitorID, IncludeTarget: s.r.IntN(4) == 0}
		if s.r.IntN(3) == 0 {
			u.Revision = new(s.r.IntN(3))
		}
		s.send(u)
	case k < 76:
		row := s.randomRow()
		s.send(wire.EditMessage{TS: row.TS, MonitorID: row.MonitorID, Text: s.randomScript()})
	case k < 80:
		s.send(wire.Interrupt{MonitorID: s.monitor(), Scope: wire.ScopeMonitor})
	case k < 92:
		d := time.Duration(s.r.IntN(40)) * time.Millisecond
		s.logStep("%v pass", d)
		time.Sleep(d)
	case k < 96:
		s.logStep("another claims the session")
		_, err := s.o.store.Claim(s.t.Context(), s.d.id, "a", time.Minute)
		requireNoError(s.t, err)
	default:
		s.crash()
	}
}

// crash kills the owner and starts another one.
func (s *historyTest) crash() {
	s.t.Helper()
	s.logStep("the owner crashes")
	s.o = s.o.restart(s.t, s.cfg)
	s.d.handle = openHandle(s.t, s.o.Hub, s.d.id)
}

// waitIdle waits until nothing runs any more.
func (s *historyTest) waitIdle() {
	s.t.Helper()
	s.logStep("it settles")
	deliverBarrier(s.t, s.d.handle)
	time.Sleep(10 * time.Minute)
	s.d.waitIdle()
	s.logStep("it has settled")
}

// checkAll checks all invariants.
func (s *historyTest) checkAll() {
	s.t.Helper()
	now := s.d.snapshot()
	kept, err := s.o.store.Load(s.t.Context(), s.d.id)
	requireNoError(s.t, err)
	for _, e := range readLogAfter(s.t, s.o.deployment, s.read) {
		s.mirror.Apply(e)
		s.read = e.At
	}
	if desktop.HashOf(now) != s.mirror.Hash() {
		s.fail("tabs see something else than the owner")
	}
	s.recordRows()
	for _, m := range now.Monitors {
		s.checkRows(m.MonitorID, now.RecentMessages)
	}
	for name, data := range kept.Tables["threads"] {
		s.checkThread(name, data, kept)
	}
	for _, name := range []string{"turns", "turns.prompt", "queue", "queue.said"} {
		if len(kept.Tables[name]) != 0 {
			s.fail("table %s holds %s at the end, want it empty", name, kept.Tables[name])
		}
	}
}

// recordRows records the rows since the last call. No id is used twice.
func (s *historyTest) recordRows() {
	events, _ := s.d.from(s.seen)
	s.seen += len(events)
	for _, e := range events {
		p, is := e.Data.(wire.MessageUpdated)
		if !is {
			continue
		}
		if before, known := s.rows[p.Message.ID]; p.Message.ID == 0 || known && before.TS != p.Message.TS {
			s.fail("row %d has been one at %d and is one at %d", p.Message.ID, before.TS, p.Message.TS)
		}
		s.rows[p.Message.ID] = p.Message
	}
}

// checkRows compares the archive of a conversation with the desktop.
func (s *historyTest) checkRows(monitor wire.MonitorID, hot []wire.UIRow) {
	s.t.Helper()
	all := readArchive(s.t, s.o.Hub, monitor, 37)
	for i, row := range all {
		if i > 0 && all[i-1].ID >= row.ID {
			s.fail("row %d comes after %d", row.ID, all[i-1].ID)
		}
		if row.Partial != nil && *row.Partial {
			s.fail("row %d is not whole: %+v", row.ID, row)
		}
	}
	hot = slices.DeleteFunc(slices.Clone(hot), func(r wire.UIRow) bool { return r.MonitorID != monitor })
	if len(hot) > len(all) || !slices.EqualFunc(hot, all[len(all)-len(hot):], func(a, b wire.UIRow) bool { return reflect.DeepEqual(a, b) }) {
		s.fail("the archive of %s has\n%s\nand the desktop\n%s", monitor, joinTexts(all), joinTexts(hot))
	}
}

// describeThread returns a thread with all rows that it had, for failure messages.
func (s *historyTest) describeThread(all []records.Message) string {
	var b strings.Builder
	for _, id := range slices.Sorted(maps.Keys(s.rows)) {
		r := s.rows[id]
		newest := 0
		if r.ConversationHistoryIndex != nil {
			newest = *r.ConversationHistoryIndex
		}
		fmt.Fprintf(&b, "\nrow %d of %s and %q after %d at %d: %s %.60q", id, r.MonitorID, r.Thread, newest, r.TS, r.Say, r.Text)
	}
	for _, m := range all {
		fmt.Fprintf(&b, "\nmessage %d of row %d: %s", m.ID, m.Row, m.Role)
		for _, block := range m.Blocks {
			fmt.Fprintf(&b, " %s %.60q", block.Kind, block.Text)
		}
	}
	return b.String()
}

// checkThread compares the history of a model with the visible rows.
func (s *historyTest) checkThread(agent string, about []byte, kept store.State) {
	s.t.Helper()
	var of struct{ Monitor wire.MonitorID }
	requireNoError(s.t, json.Unmarshal(about, &of))
	moved, err := s.o.store.ReadList(s.t.Context(), s.d.id, "cold:api:"+agent, 0, 10_000)
	requireNoError(s.t, err)
	var all []records.Message
	for _, item := range slices.Concat(moved.Items, kept.Lists["api:"+agent]) {
		var m records.Message
		requireNoError(s.t, json.Unmarshal(item, &m))
		all = append(all, m)
	}
	slices.SortStableFunc(all, func(a, b records.Message) int { return int(a.ID) - int(b.ID) })
	if view := records.View(all); len(view) > 0 {
		if err := providers.Check(view); err != nil {
			s.fail("%s: %v", agent, err)
		}
	}
	people, shown, texts := map[wire.RowID]wire.UIRow{}, map[int]bool{}, map[int]string{}
	for _, row := range readArchive(s.t, s.o.Hub, of.Monitor, 500) {
		people[row.ID] = row
		if row.Thread == agent {
			shown[*row.ConversationHistoryIndex] = true
			if row.Say == wire.SayText {
				texts[*row.ConversationHistoryIndex] += row.Text
			}
		}
	}
	for i, m := range all {
		if i > 0 && all[i-1].ID >= m.ID {
			s.fail("%s: message %d comes after %d", agent, m.ID, all[i-1].ID)
		}
		was, made := s.rows[m.Row]
		_, there := people[m.Row]
		gone := made && was.MonitorID == of.Monitor && !there
		results := slices.ContainsFunc(m.Blocks, func(b providers.Block) bool { return b.Kind == providers.BlockToolResult })
		if gone && !results && !shown[int(m.ID)] {
			s.fail("%s: message %d is of row %d, which is gone: %s", agent, m.ID, m.Row, s.describeThread(all))
		}
		for _, block := range m.Blocks {
			text, _, _ := strings.Cut(block.Text, "ful ful") // what /fill adds is for the model only
			if text = strings.TrimSpace(text); m.Role == providers.RoleAssistant && !strings.Contains(texts[int(m.ID)], text) {
				s.fail("%s: no row shows the text %q of message %d: %s", agent, text, m.ID, s.describeThread(all))
			}
		}
	}
}
