package adminview

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/everdesk/everdesk/wire"
)

const (
	// slotFor is the duration of a point.
	slotFor = 5 * time.Second
	// keptSlots is the number of points a replica keeps: 15 minutes.
	keptSlots = 180
	// recently is the period that alerts cover.
	recently = 10 * time.Minute
	// lateSlots is how far the newest point of a replica may lag behind the others before
	// it counts as silent.
	lateSlots = 3
	// maxGrown bounds the accepted growth of a counter.
	maxGrown = math.MaxInt32
)

// slotOf returns the number of a time's slot. It is the same on all replicas, as far as
// their clocks agree.
func slotOf(t time.Time) int64 { return t.Unix() / int64(slotFor/time.Second) }

// recent holds the growth of a replica's counters in the last [recently].
type recent struct {
	Takeovers   uint64 `json:"takeovers,omitempty"`
	Fenced      uint64 `json:"fenced,omitempty"`
	Slow        uint64 `json:"slow,omitempty"`
	RateLimited uint64 `json:"rateLimited,omitempty"`
	StoreErrors uint64 `json:"storeErrors,omitempty"`
}

// alerts returns an alert for each non-zero counter.
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

// grown returns the growth of a counter. A smaller value means that it restarted.
func grown(before, now uint64) uint64 {
	if now < before {
		return now
	}
	return now - before
}

// sampleHistory holds the samples of this process in the last 15 minutes. The zero value is ready
// to use; the goroutine of Run owns it.
type sampleHistory struct {
	slots []slot // oldest first
}

// slot holds the measurements of one slot.
type slot struct {
	number int64
	at     time.Time // time of the last sample
	count  float64   // number of samples
	last   Sample
	point  Point // rates are sums until points divides them
}

// due reports whether the current slot has no sample yet.
func (m *sampleHistory) due(now time.Time) bool {
	n := len(m.slots)
	return n == 0 || m.slots[n-1].number != slotOf(now)
}

// add stores a sample.
func (m *sampleHistory) add(now time.Time, s Sample) {
	var before Sample // the counters of a process start at 0
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

// latest returns the last sample.
func (m *sampleHistory) latest() Sample {
	if len(m.slots) == 0 {
		return Sample{}
	}
	return m.slots[len(m.slots)-1].last
}

// recent returns the growth of the counters in the last [recently].
func (m *sampleHistory) recent(now time.Time) recent {
	var before, is Sample // the counters of a process start at 0
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

// points returns the completed slots of the last 15 minutes.
func (m *sampleHistory) points(now time.Time) []Point {
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

// rounded rounds to the digits that are displayed.
func rounded(n, digits float64) float64 { return math.Round(n*digits) / digits }

// mergeHistories adds up the histories of all replicas. It ends at the earliest end of the
// replicas that still report, because sums with missing replicas would seem to drop. Points
// outside the last 15 minutes come from a wrong clock and are ignored.
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

// add adds the point of another replica. For latencies the slowest counts, because an
// average would hide it.
func (p *Point) add(q Point) {
	p.Events, p.Deliveries = p.Events+q.Events, p.Deliveries+q.Deliveries
	p.AppendP50, p.AppendP99 = max(p.AppendP50, q.AppendP50), max(p.AppendP99, q.AppendP99)
	p.Agents, p.Queued, p.Takeovers = p.Agents+q.Agents, p.Queued+q.Queued, p.Takeovers+q.Takeovers
}
