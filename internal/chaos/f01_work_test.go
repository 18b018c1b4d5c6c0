package chaos_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everdesk/everdesk/internal/hubtest"
	"github.com/everdesk/everdesk/wire"
)

// workArgs are the settings of hubs for a [workload]: with three agents of a session running,
// further messages are queued.
var workArgs = []string{"--max-session-agents", "3"}

// desktop is a session with tabs.
type desktop struct {
	id       wire.SessionID
	tabs     []*hubtest.Tab
	h        *hubtest.History
	f        *hubtest.Cluster
	messages int
	// messagesMayVanish is set if an admin may remove messages before they are answered.
	messagesMayVanish bool
}

// newDesktop creates a session and opens tabs, each at the URL that where returns.
func newDesktop(t *testing.T, f *hubtest.Cluster, h *hubtest.History, name string, tabs int, where func(tab int) string) *desktop {
	t.Helper()
	d := &desktop{id: f.CreateSession(t), h: h, f: f}
	for i := range tabs {
		d.tabs = append(d.tabs, h.OpenTab(t, hubtest.TabConfig{Name: fmt.Sprintf("%s-%d", name, i), URL: where(i), Session: d.id}))
	}
	return d
}

// owner is the hub that owns the session as far as the first tab knows; nil if its process has
// ended.
func (d *desktop) owner() *hubtest.Hub { return d.f.HubByID(d.tabs[0].Client.State().Owner) }

// epoch is that of the last event of the first tab.
func (d *desktop) epoch() uint64 { return d.tabs[0].Client.Position().Epoch }

// waitEpoch waits until a tab has seen a later epoch.
func (d *desktop) waitEpoch(t *testing.T, tab *hubtest.Tab, epoch uint64) {
	t.Helper()
	if err := tab.WaitUntil(t.Context(), func() bool { return tab.Client.Position().Epoch > epoch }); err != nil {
		t.Fatalf("no hub took over %s after epoch %d: %v", d.id, epoch, err)
	}
}

// delayOf is the time from a moment until a tab of the session saw a matching event of a later
// epoch.
func (d *desktop) delayOf(from time.Duration, epoch uint64, wanted func(hubtest.Entry) bool) (time.Duration, bool) {
	for _, e := range d.h.Entries() {
		shown := e.Kind == hubtest.KindEvent || e.Kind == hubtest.KindSnapshot
		if e.T > from && e.Session == d.id && shown && e.Event.At.Epoch > epoch && wanted(e) {
			return e.T - from, true
		}
	}
	return 0, false
}

// nextOwner returns the owner and the epoch that followed an epoch, as far as tabs saw them.
func (d *desktop) nextOwner(epoch uint64) (wire.ReplicaID, uint64) {
	for _, e := range d.h.Entries() {
		if e.Session == d.id && e.Kind == hubtest.KindEvent && e.Event.Replica != "" && e.Event.At.Epoch > epoch {
			return e.Event.Replica, e.Event.At.Epoch
		}
	}
	return "", 0
}

func anyEntry(hubtest.Entry) bool { return true }

// continuesTurn matches new output of an agent for a message, or the end of its turn.
func continuesTurn(id wire.MessageID) func(hubtest.Entry) bool {
	return func(e hubtest.Entry) bool { return e.Event.Message == id && (e.Event.Text != "" || e.Event.IsEnd()) }
}

// isAbout matches every entry about a message.
func isAbout(id wire.MessageID) func(hubtest.Entry) bool {
	return func(e hubtest.Entry) bool { return e.Event.Message == id }
}

// workload is a round of mixed work in a session: a streamed answer, a window that is written to
// repeatedly, a question, and two queued messages.
type workload struct {
	d      *desktop
	n      int
	window wire.WindowID
	stream wire.MessageID
	build  wire.MessageID
	ask    wire.MessageID
	all    []wire.MessageID
	sent   sync.WaitGroup
}

// windowWrites is the number of writes to the window of a workload.
const windowWrites = 6

// startWorkload sends the messages of a workload from all tabs, without waiting for the answers.
func (d *desktop) startWorkload(t *testing.T, rng *rand.Rand) *workload {
	t.Helper()
	d.messages++
	s := &workload{d: d, n: d.messages, window: wire.WindowID(fmt.Sprintf("w-%d", d.messages))}
	send := func(name string, monitor wire.MonitorID, expect string, lines ...string) wire.MessageID {
		id := wire.MessageID(fmt.Sprintf("%s-%d", name, s.n))
		s.all = append(s.all, id)
		tab := d.tabs[rng.IntN(len(d.tabs))]
		m := wire.UserMessage{MessageID: id, MonitorID: monitor, Content: strings.Join(lines, "\n")}
		s.sent.Go(func() {
			if err := tab.SendMessage(t.Context(), m, expect); err != nil && !d.messagesMayVanish {
				t.Errorf("send %s in %s: %v", id, d.id, err)
			}
		})
		return id
	}
	const n = 50
	s.stream = send("stream", "monitor-0", streamWords(n), "/nosteer", fmt.Sprintf("/stream %d 25", n))
	build := []string{"/nosteer", fmt.Sprintf("/window %s Notes | 0", s.window)}
	for i := range windowWrites {
		build = append(build, fmt.Sprintf(`/call window:update {"windowId":%q,"operation":"append","content":" %d"}`, s.window, i+1), "/sleep 150ms")
	}
	s.build = send("build", "monitor-0", "", build...)
	s.ask = send("ask", "monitor-1", "", "/nosteer", "/ask Which? | a | b", "/say done")
	for i := range 2 {
		text := fmt.Sprintf("waited %d", i)
		send(fmt.Sprintf("wait%d", i), "monitor-0", text, "/nosteer", "/say "+text)
	}
	return s
}

// question is the open question of the workload, if a tab has it.
func (s *workload) question(tab *hubtest.Tab) (wire.OpenPrompt, bool) {
	for _, p := range tab.Client.State().Prompts {
		if strings.HasSuffix(string(p.AgentID), "-"+string(s.ask)) {
			return p, true
		}
	}
	return wire.OpenPrompt{}, false
}

// finish waits for the question, answers it, and waits for the end of everything. A question that
// was open before must still be open, with the remaining time.
func (s *workload) finish(t *testing.T, rng *rand.Rand, before wire.OpenPrompt, asked bool) {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 90*time.Second, fmt.Errorf("workload %d of %s does not end", s.n, s.d.id))
	defer cancel()
	tab := s.d.tabs[rng.IntN(len(s.d.tabs))]
	var p wire.OpenPrompt
	err := tab.WaitUntil(ctx, func() (ok bool) {
		p, ok = s.question(tab)
		return ok || tab.HasEnded(s.ask)
	})
	if err != nil {
		t.Fatalf("no question of %s: %v", s.ask, err)
	}
	switch {
	case p.ID == "" && asked:
		t.Errorf("the question of %s in %s was open and is not open any more", s.ask, s.d.id)
	case asked && (p.ID != before.ID || p.Deadline != before.Deadline):
		t.Errorf("the question of %s in %s is %s until %v, then %s until %v; want no change", s.ask, s.d.id, before.ID, before.Deadline, p.ID, p.Deadline)
	}
	if p.ID != "" {
		if _, err := tab.Client.Send(ctx, wire.UserPromptResponse{PromptID: p.ID, SelectedValues: []string{"b"}}); err != nil {
			t.Errorf("answer %s: %v", s.ask, err)
		}
	}
	s.sent.Wait()
	s.end(ctx, t)
}

// end waits until every message has ended, and checks the window.
func (s *workload) end(ctx context.Context, t *testing.T) {
	t.Helper()
	tab := s.d.tabs[0]
	outcomes := map[wire.MessageID]wire.Outcome{}
	for _, id := range s.all {
		outcome, err := tab.AwaitEnd(ctx, id)
		if err != nil {
			t.Fatalf("%s in %s has no end: %v", id, s.d.id, err)
		}
		outcomes[id] = outcome
	}
	if o := outcomes[s.ask]; o != wire.OutcomeCompleted {
		t.Errorf("%s in %s was answered and ended as %q, want completed or interrupted", s.ask, s.d.id, o)
	}
	var want strings.Builder
	for i := range windowWrites + 1 {
		fmt.Fprintf(&want, " %d", i)
	}
	for _, w := range tab.Client.State().Windows {
		if w.WindowID != s.window {
			continue
		}
		got, ok := w.Content.(wire.MarkdownContent)
		whole := strings.TrimSpace(want.String())
		if !ok || !strings.HasPrefix(whole, got.Data) || outcomes[s.build] == wire.OutcomeCompleted && got.Data != whole {
			t.Errorf("window %s of %s: got content %+v after its turn ended as %q, want %q, or a beginning of it if the turn did not complete", s.window, s.d.id, w.Content, outcomes[s.build], whole)
		}
	}
}
