package chaos_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/everdesk/everdesk/internal/hubtest"
	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/wire"
)

// F10: every message is sent one to five times, at once and later, by tabs at all hubs and with
// REST requests. Each has one turn, and all senders get the same answer.
func TestF10Duplicates(t *testing.T) {
	t.Parallel()
	began := time.Now()
	sessions := plan.Rounds(4, 40)
	const messages = 250
	each := plan.Rounds(10, messages)
	f := hubtest.Start(t, hubtest.Options{Program: program, Hubs: 3, Store: redistest.Standalone(t).URL()})
	h := plan.NewHistory(t, "f10")
	var wg sync.WaitGroup
	var tabs []*hubtest.Tab
	for i := range sessions {
		d := &duplicateSender{t: t, cluster: f, history: h, rng: plan.Rand(uint64(i)), session: f.CreateSession(t)}
		for _, hub := range f.Hubs {
			name := fmt.Sprintf("tab at %s of %d", hub.Name, i)
			d.tabs = append(d.tabs, h.OpenTab(t, hubtest.TabConfig{Name: name, URL: hub.URL, Session: d.session}))
		}
		tabs = append(tabs, d.tabs...)
		wg.Go(func() {
			for n := range each {
				d.sendCopies(wire.MessageID(fmt.Sprintf("m-%d", n)), fmt.Sprintf("this is %d", n))
			}
		})
	}
	wg.Wait()
	violations := f.Finish(t, h, tabs, hubtest.Rules{})
	c := countCopies(t, h.Entries())
	if want := sessions * each; c.messages != want || c.turns != want {
		t.Errorf("%d messages and %d turns, want %d", c.messages, c.turns, want)
	}
	if c.copies <= c.messages || c.answers != c.copies {
		t.Errorf("%d answers to %d copies of %d messages, want one answer per copy", c.answers, c.copies, c.messages)
	}
	plan.Add(t, hubtest.Result{
		Fault: "F10", What: "messages sent 1 to 5 times over 3 hubs, by tabs and requests", Rounds: c.messages, Violations: violations + c.doubled + c.contrary,
		Seconds: time.Since(began).Seconds(),
		Figures: []hubtest.Figure{
			{Name: "copies", Value: strconv.Itoa(c.copies)},
			{Name: "turns", Value: strconv.Itoa(c.turns), Wanted: "one each"},
			{Name: "duplicates", Value: strconv.Itoa(c.doubled), Wanted: "0"},
			{Name: "contradictory answers", Value: strconv.Itoa(c.contrary), Wanted: "0"},
		},
	})
}

// duplicateSender is one session whose messages are sent repeatedly.
type duplicateSender struct {
	t       *testing.T
	cluster *hubtest.Cluster
	history *hubtest.History
	rng     *rand.Rand
	session wire.SessionID
	tabs    []*hubtest.Tab
}

// sendCopies sends a message a few times at once, and perhaps once more when it has ended.
func (d *duplicateSender) sendCopies(id wire.MessageID, reply string) {
	copies, late := 1+d.rng.IntN(5), 0
	if copies > 1 {
		late = d.rng.IntN(2)
	}
	some := d.rng.Perm(len(d.tabs))[:1+d.rng.IntN(len(d.tabs))]
	pick := func() (at int, request bool) { return some[d.rng.IntN(len(some))], d.rng.IntN(4) == 0 }
	var wg sync.WaitGroup
	byTab := make([]int, len(d.tabs)) // a tab does not send the same message twice at a time
	for range copies - late {
		if at, request := pick(); request {
			wg.Go(func() { d.send(id, reply, at, true) })
		} else {
			byTab[at]++
		}
	}
	for at, n := range byTab {
		wg.Go(func() {
			for range n {
				d.send(id, reply, at, false)
			}
		})
	}
	wg.Wait()
	if _, err := d.tabs[some[0]].AwaitEnd(d.t.Context(), id); err != nil {
		d.t.Errorf("%s of %s has no end: %v", id, d.session, err)
	}
	for range late {
		at, request := pick()
		d.send(id, reply, at, request)
	}
}

// send sends one copy through a hub, by a tab or with a request.
func (d *duplicateSender) send(id wire.MessageID, reply string, at int, request bool) {
	text := "/nosteer\n/say " + reply
	if !request {
		if err := d.tabs[at].Send(d.t.Context(), id, text, reply); err != nil {
			d.t.Errorf("%s of %s: %v", id, d.session, err)
		}
		return
	}
	entry := hubtest.Entry{Kind: hubtest.KindSend, Source: "request", Session: d.session, Message: id, Expect: reply}
	d.history.Add(entry)
	body, err := json.Marshal(map[string]any{"messageId": id, "content": text})
	if err != nil {
		d.t.Error(err)
		return
	}
	var frame json.RawMessage
	url := d.cluster.Hubs[at].URL + "/api/sessions/" + string(d.session) + "/messages"
	if err := d.cluster.Call(d.t, http.MethodPost, url, string(body), &frame); err != nil {
		d.t.Errorf("%s of %s with a request: %v", id, d.session, err)
		return
	}
	answer, err := wire.Native{}.DecodeEvent(frame)
	if err != nil {
		d.t.Error(err)
		return
	}
	entry.Kind, entry.Expect = hubtest.KindAck, ""
	switch a := answer.Data.(type) {
	case wire.MessageAccepted:
		entry.Event = &hubtest.Event{At: answer.At, Type: "MESSAGE_ACCEPTED", Agent: a.AgentID, How: a.How}
	case wire.MessageQueued:
		entry.Event = &hubtest.Event{At: answer.At, Type: "MESSAGE_QUEUED"}
	default:
		d.t.Errorf("%s of %s: got the answer %s, want it accepted or queued", id, d.session, frame)
		return
	}
	d.history.Add(entry)
}

// copyCounts are the outcomes of repeated messages.
type copyCounts struct {
	messages, copies, answers, turns int
	doubled                          int // further turns
	contrary                         int // answers that differ
}

// countCopies compares the answers with the log.
func countCopies(t *testing.T, entries []hubtest.Entry) copyCounts {
	t.Helper()
	type message struct {
		session wire.SessionID
		id      wire.MessageID
	}
	type counts struct {
		copies, begun, queued int
		taken                 hubtest.Event
		answers               []hubtest.Entry
	}
	all := map[message]*counts{}
	of := func(session wire.SessionID, id wire.MessageID) *counts {
		k := message{session, id}
		if all[k] == nil {
			all[k] = &counts{}
		}
		return all[k]
	}
	for _, e := range entries {
		switch {
		case e.Kind == hubtest.KindSend:
			of(e.Session, e.Message).copies++
		case e.Kind == hubtest.KindAck:
			m := of(e.Session, e.Message)
			m.answers = append(m.answers, e)
		case e.Kind == hubtest.KindLog && e.Event.Type == "MESSAGE_ACCEPTED":
			m := of(e.Session, e.Event.Message)
			m.begun++
			m.taken = *e.Event
		case e.Kind == hubtest.KindLog && e.Event.Type == "MESSAGE_QUEUED":
			of(e.Session, e.Event.Message).queued++
		}
	}
	var c copyCounts
	for k, m := range all {
		c.messages++
		c.copies += m.copies
		c.answers += len(m.answers)
		c.turns += min(m.begun, 1)
		if m.begun != 1 || m.queued > 1 {
			c.doubled++
			t.Errorf("%s of %s was accepted %d times and queued %d times, want at most once", k.id, k.session, m.begun, m.queued)
		}
		for _, e := range m.answers {
			// A queued message is answered as queued until it starts.
			waits := e.Event.Type == "MESSAGE_QUEUED" && m.queued == 1
			if !waits && (e.Event.Type != m.taken.Type || e.Event.Agent != m.taken.Agent || e.Event.How != m.taken.How) {
				c.contrary++
				t.Errorf("%s of %s: %s got %s by %s (%s), want the answer of the first copy, by %s (%s)", k.id, k.session, e.Source, e.Event.Type, e.Event.Agent, e.Event.How, m.taken.Agent, m.taken.How)
			}
		}
	}
	return c
}
