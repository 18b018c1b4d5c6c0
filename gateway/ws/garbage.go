package ws

import "runtime/metrics"

// The hub lets garbage grow to many times the heap in use, because marking costs CPU time. That suits
// short-lived frames. A handshake, however, leaves several times as much garbage as its connection
// keeps, and both lie in the same pages: pages of which a little stays in use cannot be returned to the
// system. So garbage is collected several times while the number of connections grows, and once more
// when it has stopped growing.

// connectGrowth decides when to collect garbage while the number of connections grows. It belongs to
// registry.mu.
type connectGrowth struct{ next int }

// Garbage is collected when the number of connections has grown by growthStep and by
// 1/growthShare, so that all collections together mark a connection a few times only.
const (
	growthStep  = 500
	growthShare = 8
)

// isDue is called with the number of connections after each connect. A number that was reached before
// is no growth: the heap has space for it.
func (g *connectGrowth) isDue(connections int) bool {
	if connections < max(g.next, growthStep) {
		return false
	}
	g.next = connections + max(growthStep, connections/growthShare)
	return true
}

// connectBurst detects the end of a burst of connects on a hub with little to do. A handshake
// leaves more garbage than its connection keeps, and an idle hub would not collect it for minutes.
// A busy hub collects by itself, and returning memory to the system would slow its clients down.
type connectBurst struct {
	lastAccepted, lastAllocated, freedAt uint64
	quietTicks                           int
}

const (
	burstSize       = 1000    // connections
	burstQuietTicks = 5       // ticks
	busyAllocBytes  = 4 << 20 // bytes allocated in a tick
)

// subsided is called every tick with the total number of accepted connections and of allocated
// bytes. It reports whether to return memory to the system.
func (b *connectBurst) subsided(arrived, allocated uint64) bool {
	calm := arrived == b.lastAccepted && allocated-b.lastAllocated < busyAllocBytes
	b.lastAccepted, b.lastAllocated = arrived, allocated
	if !calm {
		b.quietTicks = 0
		return false
	}
	b.quietTicks++
	if b.quietTicks < burstQuietTicks || arrived-b.freedAt < burstSize {
		return false
	}
	b.freedAt = arrived
	return true
}

// allocatedBytes returns the number of bytes that the process has allocated since its start.
func allocatedBytes() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
