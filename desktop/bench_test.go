package desktop_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/wire"
)

// full is a desktop with 50 windows of 1 KiB.
func full() *desktop.State {
	s := newScript()
	for i := range 50 {
		w := open(wire.WindowID(fmt.Sprint("w", i)))
		w.Content = text(strings.Repeat("x", 1024))
		s.act(w)
	}
	s.Changes()
	return s.State
}

func BenchmarkApply(b *testing.B) {
	for name, p := range map[string]wire.ServerPayload{
		"badge":      actions(wire.AppBadge{AppID: "app", Count: 1}),
		"setContent": actions(wire.WindowSetContent{WindowID: "w7", Content: text("new")}),
		"move":       actions(wire.WindowMove{WindowID: "w7", X: 1, Y: 2}),
	} {
		b.Run(name, func(b *testing.B) {
			s, seq := full(), uint64(1<<20)
			now := time.UnixMilli(1_000_000)
			b.ReportAllocs()
			for b.Loop() {
				seq++
				s.Apply(wire.Event{At: wire.Position{Epoch: 1, Seq: seq}, Time: now, Data: p})
			}
		})
		b.Run(name+" and Changes", func(b *testing.B) {
			s, seq := full(), uint64(1<<20)
			now := time.UnixMilli(1_000_000)
			b.ReportAllocs()
			for b.Loop() {
				seq++
				s.Apply(wire.Event{At: wire.Position{Epoch: 1, Seq: seq}, Time: now, Data: p})
				s.Changes()
			}
		})
	}
}

// An answer of 100 KiB, a few words at a time.
func BenchmarkStream(b *testing.B) {
	const words = "a few words "
	s, seq, offset := full(), uint64(1<<20), 0
	now := time.UnixMilli(1_000_000)
	b.ReportAllocs()
	for b.Loop() {
		seq++
		s.Apply(wire.Event{At: wire.Position{Epoch: 1, Seq: seq}, Time: now, Data: wire.AgentResponse{
			AgentID: "main-monitor-0-m1", Delta: words, Offset: offset,
		}})
		if offset += len(words); offset > 100<<10 {
			offset = 0
		}
		s.Changes()
	}
}

func actions(a ...wire.Action) wire.Actions {
	return wire.Actions{Actions: a, MonitorID: "monitor-0"}
}

func BenchmarkSnapshot(b *testing.B) {
	s := full()
	b.ReportAllocs()
	for b.Loop() {
		s.Snapshot()
	}
}

func BenchmarkHash(b *testing.B) {
	s := full()
	b.ReportAllocs()
	for b.Loop() {
		s.Hash()
	}
}
