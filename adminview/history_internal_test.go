package adminview

import (
	"slices"
	"testing"
	"time"

	"github.com/everdesk/everdesk/membership"
	"github.com/everdesk/everdesk/wire"
)

func TestCountersAlertForTenMinutes(t *testing.T) {
	t.Parallel()
	var m sampleHistory
	start := time.UnixMilli(1_700_000_000_000)
	m.add(start, Sample{Fenced: 3}) // since the process began
	if r := m.recent(start); r.Fenced != 3 {
		t.Errorf("fenced at first: got %d, want 3", r.Fenced)
	}
	for at := slotFor; at <= 20*time.Minute; at += slotFor {
		s := Sample{Fenced: 3, Slow: 1}
		if at > 5*time.Minute {
			s.Fenced = 5
		}
		now := start.Add(at)
		m.add(now, s)
		want := recent{Fenced: 5, Slow: 1}
		switch {
		case at <= 5*time.Minute:
			want.Fenced = 3
		case at >= 15*time.Minute+slotFor:
			want = recent{}
		case at >= 10*time.Minute+slotFor:
			want = recent{Fenced: 2}
		case at >= 10*time.Minute:
			want.Fenced = 2
		}
		if got := m.recent(now); got != want {
			t.Fatalf("after %v it is %+v, want %+v", at, got, want)
		}
	}
	alerts := (&recent{Takeovers: 1 << 60, StoreErrors: 2}).alerts("a")
	if want := []Alert{{"takeovers", maxGrown, "a"}, {"storeErrors", 2, "a"}}; !slices.Equal(alerts, want) {
		t.Errorf("alerts: got %+v, want %+v", alerts, want)
	}
}

func TestHistoryCoversQuarterHour(t *testing.T) {
	t.Parallel()
	var m sampleHistory
	start := time.UnixMilli(1_700_000_000_000)
	now := start
	for i := range uint64(4 * keptSlots) { // two in each slot
		now = start.Add(time.Duration(i) * slotFor / 2)
		m.add(now, Sample{Events: float64(10 * (i % 2)), AppendP99: 0.1 * float64(i%2), Agents: 3, Takeovers: i})
	}
	points := m.points(now)
	if len(m.slots) != keptSlots || len(points) != keptSlots-1 {
		t.Fatalf("history: got %d slots and %d points, want %d and %d", len(m.slots), len(points), keptSlots, keptSlots-1)
	}
	for i, p := range points {
		want := Point{Time: points[0].Time + wire.Millis(i*5000), Events: 5, AppendP99: 0.1, Agents: 3, Takeovers: 2}
		if p != want {
			t.Fatalf("point %d is %+v, want %+v", i, p, want)
		}
	}
	// Long gaps between samples are missing values, and old samples are left out.
	now = now.Add(14 * time.Minute)
	m.add(now, Sample{})
	if points := m.points(now.Add(slotFor)); len(points) > 13 || points[len(points)-1].Time != wire.Millis(slotOf(now)*5000) {
		t.Errorf("points after a pause: got %v, want at most 13, the last one of slot %d", points, slotOf(now))
	}
	// A clock that is set back produces no invalid history.
	for i := range 30 {
		now = start.Add(25*time.Minute + time.Duration(i)*slotFor)
		m.add(now, Sample{})
		h := history{Format: format, Process: "p", Points: m.points(now)}
		if err := h.check(); err != nil {
			t.Fatalf("with the clock set back it is %v", err)
		}
	}
}

func TestHistoriesAreMerged(t *testing.T) {
	t.Parallel()
	const now = 1_700_000_000_000
	at := func(slots int) wire.Millis { return now + wire.Millis(5000*slots) }
	a := []Point{{Time: at(-3), Events: 1, Agents: 1}, {Time: at(-2), Events: 2, AppendP50: 0.1, AppendP99: 0.5, Queued: 2, Takeovers: 1}, {Time: at(-1), Events: 3}}
	b := []Point{{Time: at(-2), Events: 5, AppendP50: 0.2, AppendP99: 0.4, Queued: 3, Takeovers: 4, Deliveries: 9}} // one is still to come
	gone := []Point{{Time: at(-170), Events: 7}}
	wrong := []Point{{Time: at(-181), Events: 100}, {Time: at(1000), Events: 100}}
	got := mergeHistories([][]Point{a, b, gone, wrong, nil}, now).Points
	want := []Point{
		{Time: at(-170), Events: 7},
		{Time: at(-3), Events: 1, Agents: 1},
		{Time: at(-2), Events: 7, Deliveries: 9, AppendP50: 0.2, AppendP99: 0.5, Queued: 5, Takeovers: 5},
	}
	if !slices.Equal(got, want) {
		t.Errorf("merged points: got %+v, want %+v", got, want)
	}
	if none := mergeHistories([][]Point{nil, wrong}, now); none.Points == nil || len(none.Points) != 0 {
		t.Errorf("merged from nothing: got %+v, want an empty list of points", none)
	}
}

func TestAgentLimitAlert(t *testing.T) {
	t.Parallel()
	replicas := []measured{{card: membership.Card{ID: "a", Load: membership.Load{AgentLimit: 10}}}}
	for _, c := range []struct{ agents, queued, want int }{{10, 3, 3}, {9, 3, 0}, {10, 0, 0}} {
		o := overviewOf([]Row{{SessionID: "s", Status: Working, Agents: c.agents, Queued: c.queued}}, 0, replicas, time.UnixMilli(0))
		got := 0
		for _, a := range o.Alerts {
			if a.Kind == "agentsFull" {
				got = a.Count
			}
		}
		if got != c.want {
			t.Errorf("agentsFull with %d agents and %d messages: got %d, want %d", c.agents, c.queued, got, c.want)
		}
	}
}
