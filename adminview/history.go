package adminview

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/everdesk/everdesk/wire"
)

const (
	// slotFor is how much time a point is about.
	slotFor = 5 * time.Second
	// keptSlots is how many points a replica keeps: a quarter of an hour.
	keptSlots = 180
	// recently is how long what was counted is an alert.
	recently = 10 * time.Minute
	// lateSlots is how much older than others the newest point of a replica may be
	// before it counts as one that says nothing.
	lateSlots = 3
	// maxGrown bounds what a counter is believed to have grown by.
	maxGrown = math.MaxInt32
)

// slotOf is the number of the slot of a time. It is the same at all replicas, as far
// as their clocks are.
func slotOf(t time.Time) int64 { return t.Unix() / int64(slotFor/time.Second) }

// recent is what a replica has counted recently.
type recent struct {
	Takeovers   uint64 `json:"takeovers,omitempty"`
	Fenced      uint64 `json:"fenced,omitempty"`
	Slow        uint64 `json:"slow,omitempty"`
	RateLimited uint64 `json:"rateLimited,omitempty"`
	StoreErrors uint64 `json:"storeErrors,omitempty"`
}

// alerts is what of it wants a look.
func (r *recent) alerts(where wire.ReplicaID) []Alert {
	var list []Alert
	for _, c := range []struct {
		kind string
		n    uint64
	}{
		{"takeovers", r.Takeovers},
		{"fenced", r.Fenced},
		{"slow", r.Slow},
		{"rateLimited", r.RateLimited},
		{"storeErrors", r.StoreErrors},
	} {
		if c.n > 0 {
			list = append(list, Alert{Kind: c.kind, Count: int(min(c.n, maxGrown)), Where: where})
		}
	}
	return list
}

// grown is how much a counter has grown. One that has become less has begun again.
func grown(before, now uint64) uint64 {
	if now < before {
		return now
	}
	return now - before
}

// memory is what this process has measured in the last quarter of an hour. Its zero
// value is ready; it belongs to the goroutine of Run.
type memory struct {
	slots []slot // the oldest first
}

// slot is what was measured in one.
type slot struct {
	number int64
	at     time.Time // of the last sample
	count  float64   // how many samples there were
	last   Sample
	point  Point // of rates it has the sum
}

// due reports whether nothing was measured in this slot yet.
func (m *memory) due(now time.Time) bool {
	n := len(m.slots)
	return n == 0 || m.slots[n-1].number != slotOf(now)
}

// add keeps a sample.
func (m *memory) add(now time.Time, s Sample) {
	var before Sample // a process counts from 0
	if n := len(m.slots); n > 0 {
		before = m.slots[n-1].last
	}
	if m.due(now) {
		if len(m.slots) == keptSlots {
			m.slots = slices.Delete(m.slots, 0, 1)
		}
		number := slotOf(now)
		m.slots = append(m.slots, slot{number: number, point: Point{Time: wire.Millis(number * slotFor.Milliseconds())}})
	}
	last := &m.slots[len(m.slots)-1]
	last.at, last.last = now, s
	last.count++
	p := &last.point
	p.Events += s.Events
	p.Deliveries += s.Deliveries
	p.AppendP50, p.AppendP99 = max(p.AppendP50, s.AppendP50), max(p.AppendP99, s.AppendP99)
	p.Agents, p.Queued = s.Agents, s.Queued
	p.Takeovers += int(min(grown(before.Takeovers, s.Takeovers), maxGrown))
}

// latest is the last sample.
func (m *memory) latest() Sample {
	if len(m.slots) == 0 {
		return Sample{}
	}
	return m.slots[len(m.slots)-1].last
}

// recent is what was counted lately.
func (m *memory) recent(now time.Time) recent {
	var before, is Sample // a process counts from 0
	for i := range m.slots {
		if now.Sub(m.slots[i].at) >= recently {
			before = m.slots[i].last
		}
		is = m.slots[i].last
	}
	return recent{
		Takeovers: grown(before.Takeovers, is.Takeovers), Fenced: grown(before.Fenced, is.Fenced), Slow: grown(before.Slow, is.Slow),
		RateLimited: grown(before.RateLimited, is.RateLimited), StoreErrors: grown(before.StoreErrors, is.StoreErrors),
	}
}

// points are those of the slots that are over, of the last quarter of an hour.
func (m *memory) points(now time.Time) []Point {
	points := make([]Point, 0, len(m.slots))
	current := slotOf(now)
	for i := range m.slots {
		s := &m.slots[i]
		if s.number >= current || s.number < current-keptSlots {
			continue
		}
		p := s.point
		if n := len(points); n > 0 && p.Time <= points[n-1].Time {
			continue // the clock was set back
		}
		p.Events, p.Deliveries = rounded(p.Events/s.count, 10), rounded(p.Deliveries/s.count, 10)
		p.AppendP50, p.AppendP99 = rounded(p.AppendP50, 1e6), rounded(p.AppendP99, 1e6)
		points = append(points, p)
	}
	return points
}

// rounded has no more digits than somebody sees.
func rounded(n, digits float64) float64 { return math.Round(n*digits) / digits }

// mergeHistories is what all replicas have measured together until now. It ends where
// the first of those ends that still tell: with some of them missing everything would
// seem to become less. Times that are not of the last quarter of an hour are of a
// clock that is wrong.
func mergeHistories(histories [][]Point, now wire.Millis) History {
	const late = wire.Millis(lateSlots * slotFor / time.Millisecond)
	const kept = wire.Millis(keptSlots * slotFor / time.Millisecond)
	by, newest := map[wire.Millis]*Point{}, make([]wire.Millis, 0, len(histories))
	for _, points := range histories {
		var last wire.Millis
		for _, p := range points {
			if p.Time > now || p.Time <= now-kept {
				continue
			}
			sum := by[p.Time]
			if sum == nil {
				sum = &Point{Time: p.Time}
				by[p.Time] = sum
			}
			sum.add(p)
			last = p.Time
		}
		newest = append(newest, last)
	}
	all := History{Points: []Point{}}
	if len(by) == 0 {
		return all
	}
	end := slices.Max(newest)
	telling := end - late
	for _, last := range newest {
		if last >= telling {
			end = min(end, last)
		}
	}
	for _, p := range by {
		if p.Time <= end {
			all.Points = append(all.Points, *p)
		}
	}
	slices.SortFunc(all.Points, func(a, b Point) int { return cmp.Compare(a.Time, b.Time) })
	return all
}

// add puts what another replica has measured at the same time to it. Of what takes
// time the slowest counts: an average would hide it.
func (p *Point) add(q Point) {
	p.Events, p.Deliveries = p.Events+q.Events, p.Deliveries+q.Deliveries
	p.AppendP50, p.AppendP99 = max(p.AppendP50, q.AppendP50), max(p.AppendP99, q.AppendP99)
	p.Agents, p.Queued, p.Takeovers = p.Agents+q.Agents, p.Queued+q.Queued, p.Takeovers+q.Takeovers
}
