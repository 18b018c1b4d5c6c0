package metrics

import (
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// seconds converts the unit of [time.Duration] to seconds.
const seconds = 1 / float64(time.Second)

// histogram counts values in buckets. Unlike that of the client library it accepts integers only,
// so that counting is two atomic additions, and it can be read without allocating.
type histogram struct {
	unit   float64   // exported value per counted value
	bounds []float64 // in exported units
	steps  []int64   // in counted units
	counts []atomic.Uint64
	sum    atomic.Int64
}

func newHistogram(unit float64, bounds []float64) *histogram {
	h := &histogram{unit: unit, bounds: bounds, steps: make([]int64, len(bounds)), counts: make([]atomic.Uint64, len(bounds)+1)}
	for i, b := range bounds {
		h.steps[i] = int64(b/unit + 0.5)
	}
	return h
}

func (h *histogram) add(v int64) {
	i := 0
	for i < len(h.steps) && v > h.steps[i] {
		i++
	}
	h.counts[i].Add(1)
	h.sum.Add(v)
}

// read appends the counts of all buckets to into.
func (h *histogram) read(into []uint64) []uint64 {
	for i := range h.counts {
		into = append(into, h.counts[i].Load())
	}
	return into
}

// total returns the number of counted values.
func (h *histogram) total() uint64 {
	var n uint64
	for i := range h.counts {
		n += h.counts[i].Load()
	}
	return n
}

// quantile estimates the value that a share q of the values in buckets does not exceed. Without
// values it is 0.
func (h *histogram) quantile(q float64, buckets []uint64) float64 {
	var total uint64
	for _, n := range buckets {
		total += n
	}
	rank, below, from := q*float64(total), 0.0, 0.0
	for i, n := range buckets {
		if i == len(h.bounds) {
			break
		}
		if n > 0 && below+float64(n) >= rank {
			return from + (h.bounds[i]-from)*(rank-below)/float64(n)
		}
		below, from = below+float64(n), h.bounds[i]
	}
	if total == 0 {
		return 0
	}
	return from // above the last bound
}

// counters are counters by a label whose values are fixed.
type counters struct {
	values []string
	by     map[string]*atomic.Uint64
}

func newCounters(values []string) counters {
	c := counters{values: append(slices.Clip(values), other), by: map[string]*atomic.Uint64{}}
	for _, v := range c.values {
		c.by[v] = new(atomic.Uint64)
	}
	return c
}

func (c *counters) add(value string, n uint64) {
	counter := c.by[value]
	if counter == nil {
		counter = c.by[other]
	}
	counter.Add(n)
}

func (c *counters) total() uint64 {
	var n uint64
	for _, counter := range c.by {
		n += counter.Load()
	}
	return n
}

// The codes of connections that ended without a close code (RFC 6455, 7.1.5).
const (
	codeNone wire.CloseCode = 1005
	codeLost wire.CloseCode = 1006
)

func closeCodes() []string {
	codes := []string{codeLabel(codeNone), codeLabel(codeLost)}
	for _, c := range wire.CloseCodes() {
		codes = append(codes, codeLabel(c.Code))
	}
	return codes
}

func codeLabel(c wire.CloseCode) string { return strconv.Itoa(int(c)) }
