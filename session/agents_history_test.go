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

// Whatever people say and take back, in whatever order, while conversations become
// too long and owners change: people and models know the same, what is kept is what
// is shown, and every message has one end.
//
// SESSION_HISTORY_ROUNDS does it more often, and SESSION_HISTORY_SEED does one that
// failed again.
func TestHistories(t *testing.T) {
	t.Parallel()
	rounds, seed := 8, uint64(time.Now().UnixNano())
	if text := os.Getenv("SESSION_HISTORY_ROUNDS"); text != "" {
		n, err := strconv.Atoi(text)
		ok(t, err)
		rounds = n
	}
	if text := os.Getenv("SESSION_HISTORY_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		ok(t, err)
		rounds, seed = 1, n
	}
	for i := range rounds {
		seed := seed + uint64(i)
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSaga(t, seed)
				for range 15 {
					for range 1 + s.r.IntN(10) {
						s.act()
					}
					s.settle()
					s.judge()
				}
			})
		})
	}
}

// saga is a session with a past that does not stay as it was.
type saga struct {
	t    *testing.T
	r    *rand.Rand
	cfg  hubConfig
	o    *office
	d    *testDesktop
	n    int
	done []string // what was done, for people

	// rows are all that there ever were.
	rows map[wire.RowID]wire.UIRow
	seen int // events that were looked at
}

func newSaga(t *testing.T, seed uint64) *saga {
	t.Helper()
	s := &saga{t: t, r: rand.New(rand.NewPCG(seed, 8)), rows: map[wire.RowID]wire.UIRow{}, cfg: hubConfig{
		logger: silence(), limits: agentpool.Limits{Agents: 4},
		session: session.Config{Window: 2000, CondenseAt: 80, AnswersPerMinute: -1},
	}}
	s.o = agentHub(t, inBubble(t), s.cfg)
	s.d = s.o.newDesktop(t, "ses-1")
	return s
}

func (s *saga) note(format string, args ...any) {
	s.done = append(s.done, fmt.Sprintf(format, args...))
}

func (s *saga) fail(format string, args ...any) {
	s.t.Helper()
	s.t.Fatalf("%s\nafter\n%s\nwith\n%s", fmt.Sprintf(format, args...), strings.Join(s.done, "\n"), s.d.tell())
}

func (s *saga) id() wire.MessageID {
	s.n++
	return wire.MessageID(fmt.Sprintf("x%d", s.n))
}

func (s *saga) monitor() wire.MonitorID {
	if s.r.IntN(4) == 0 {
		return background
	}
	return first
}

// script is what a turn does.
func (s *saga) script() string {
	steps := []string{
		"/say something\\n", "/think about it", "/stream 8 400", "/sleep 30ms", "/sleep 5ms", "/nosteer", opening("w0"), opening("w1"),
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
func (s *saga) send(data wire.ClientPayload) {
	s.t.Helper()
	id := s.id()
	s.note("%s %T %+v", id, data, data)
	s.d.send(id, data)
}

// target is a row of the present or of the past.
func (s *saga) target() wire.UIRow {
	rows := s.d.snapshot().RecentMessages
	if len(rows) == 0 {
		return wire.UIRow{TS: 1}
	}
	if s.r.IntN(2) == 0 { // mostly not far back
		rows = rows[len(rows)*3/4:]
	}
	return rows[s.r.IntN(len(rows))]
}

// act does one thing.
func (s *saga) act() {
	s.t.Helper()
	switch k := s.r.IntN(100); {
	case k < 42:
		s.send(wire.UserMessage{MonitorID: s.monitor(), Content: s.script()})
	case k < 50:
		w := wire.WindowID(fmt.Sprintf("w%d", s.r.IntN(2)))
		s.send(wire.WindowMessage{MonitorID: s.monitor(), WindowID: w, Content: s.script()})
	case k < 58:
		s.send(wire.Condense{MonitorID: s.monitor()})
	case k < 68:
		row := s.target()
		u := wire.Rewind{TS: row.TS, MonitorID: row.MonitorID, IncludeTarget: s.r.IntN(4) == 0}
		if s.r.IntN(3) == 0 {
			u.Revision = new(s.r.IntN(3))
		}
		s.send(u)
	case k < 76:
		row := s.target()
		s.send(wire.EditMessage{TS: row.TS, MonitorID: row.MonitorID, Text: s.script()})
	case k < 80:
		s.send(wire.Interrupt{MonitorID: s.monitor(), Scope: wire.ScopeMonitor})
	case k < 92:
		d := time.Duration(s.r.IntN(40)) * time.Millisecond
		s.note("%v pass", d)
		time.Sleep(d)
	case k < 96:
		s.note("another claims the session")
		_, err := s.o.store.Claim(s.t.Context(), s.d.id, "a", time.Minute)
		ok(s.t, err)
	default:
		s.crash()
	}
}

// crash ends the owner as it is, and another goes on.
func (s *saga) crash() {
	s.t.Helper()
	s.note("the owner crashes")
	s.o = s.o.again(s.t, s.cfg)
	s.d.handle = enter(s.t, s.o.Hub, s.d.id)
}

// settle waits until nothing runs any more.
func (s *saga) settle() {
	s.t.Helper()
	s.note("it settles")
	settled(s.t, s.d.handle)
	time.Sleep(10 * time.Minute)
	s.d.rest()
	s.note("it has settled")
}

// judge looks whether all is as it should be.
func (s *saga) judge() {
	s.t.Helper()
	now := s.d.snapshot()
	kept, err := s.o.store.Load(s.t.Context(), s.d.id)
	ok(s.t, err)
	mirror := desktop.New(s.d.id)
	for _, e := range history(s.t, s.o.site) {
		mirror.Apply(e)
	}
	if desktop.HashOf(now) != mirror.Hash() {
		s.fail("tabs see something else than the owner")
	}
	s.learn()
	for _, m := range now.Monitors {
		s.judgeRows(m.MonitorID, now.RecentMessages)
	}
	for name, data := range kept.Tables["threads"] {
		s.judgeThread(name, data, kept)
	}
	for _, name := range []string{"turns", "turns.prompt", "queue", "queue.said"} {
		if len(kept.Tables[name]) != 0 {
			s.fail("left is %s: %s", name, kept.Tables[name])
		}
	}
}

// learn takes down the rows that there were since it did so last. An id is never
// given twice.
func (s *saga) learn() {
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

// judgeRows compares what the archive has of a conversation with what the desktop
// has.
func (s *saga) judgeRows(monitor wire.MonitorID, hot []wire.UIRow) {
	s.t.Helper()
	all := archived(s.t, s.o.Hub, monitor, 37)
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
		s.fail("the archive of %s has\n%s\nand the desktop\n%s", monitor, texts(all), texts(hot))
	}
}

// tell is a thread with all rows that it had, for people.
func (s *saga) tell(all []records.Message) string {
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

// judgeThread compares what a model knows with what people see.
func (s *saga) judgeThread(agent string, about []byte, kept store.State) {
	s.t.Helper()
	var of struct{ Monitor wire.MonitorID }
	ok(s.t, json.Unmarshal(about, &of))
	moved, err := s.o.store.ReadList(s.t.Context(), s.d.id, "cold:api:"+agent, 0, 10_000)
	ok(s.t, err)
	var all []records.Message
	for _, item := range slices.Concat(moved.Items, kept.Lists["api:"+agent]) {
		var m records.Message
		ok(s.t, json.Unmarshal(item, &m))
		all = append(all, m)
	}
	slices.SortStableFunc(all, func(a, b records.Message) int { return int(a.ID) - int(b.ID) })
	if view := records.View(all); len(view) > 0 {
		if err := providers.Check(view); err != nil {
			s.fail("%s: %v", agent, err)
		}
	}
	people, shown := map[wire.RowID]wire.UIRow{}, map[int]bool{}
	for _, row := range archived(s.t, s.o.Hub, of.Monitor, 500) {
		people[row.ID] = row
		if row.Thread == agent {
			shown[*row.ConversationHistoryIndex] = true
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
			s.fail("%s: message %d is of row %d, which is gone: %s", agent, m.ID, m.Row, s.tell(all))
		}
	}
}
