//go:build linux

package main

import (
	"math/bits"
	"time"
)

// subBits is the resolution of a histogram: 1 in 2^subBits.
const subBits = 6

// histogram counts durations in buckets whose width grows with the value.
type histogram struct {
	counts [64 << subBits]uint64
	total  uint64
}

func (h *histogram) add(d time.Duration) {
	h.counts[bucket(uint64(max(d, 0)))]++
	h.total++
}

// merge adds the values of another histogram.
func (h *histogram) merge(o *histogram) {
	for i, n := range o.counts {
		h.counts[i] += n
	}
	h.total += o.total
}

// bucket returns the bucket of a value: its highest bits and their number.
func bucket(v uint64) int {
	shift := max(bits.Len64(v)-subBits-1, 0)
	return shift<<subBits + int(v>>shift) //nolint:gosec // below 2^(subBits+1)
}

// quantile returns a duration that the share q of all values does not exceed.
func (h *histogram) quantile(q float64) time.Duration {
	wanted := uint64(q * float64(h.total))
	var seen uint64
	for i, n := range h.counts {
		if seen += n; n > 0 && seen >= wanted {
			return value(i)
		}
	}
	return 0
}

// value returns the largest duration in a bucket.
func value(i int) time.Duration {
	shift := max(i>>subBits-1, 0)
	top := uint64(i - shift<<subBits)        //nolint:gosec // not negative: shift is at most i>>subBits
	return time.Duration((top+1)<<shift - 1) //nolint:gosec // nothing is counted above 2^63
}
