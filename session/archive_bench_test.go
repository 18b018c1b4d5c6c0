package session_test

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	records "github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/redisstore"
	"github.com/everdesk/everdesk/wire"
)

// BenchmarkFirstPage reads the newest 200 rows of a conversation from Redis.
func BenchmarkFirstPage(b *testing.B) {
	for _, rows := range []int{1000, 10_000} {
		b.Run(fmt.Sprint("rows=", rows), func(b *testing.B) {
			s, err := redisstore.Open(b.Context(), redistest.Standalone(b).Client(b), redisstore.Config{})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			h := session.NewHub(session.Config{Replica: "a", Logger: slog.New(slog.DiscardHandler)}, session.StoreOf(s.Sessions))
			if _, err := h.Create(b.Context(), session.NewSession{ID: "ses-1", User: "ada"}); err != nil {
				b.Fatal(err)
			}
			fillArchive(b, s.Sessions, rows)
			b.ReportAllocs()
			for b.Loop() {
				page, err := h.Rows(b.Context(), "ses-1", session.RowQuery{Monitor: firstMonitor, Limit: 200})
				if err != nil || len(page.Rows) != 200 {
					b.Fatalf("%d rows, want 200, error %v", len(page.Rows), err)
				}
			}
		})
	}
}

// fillArchive makes a conversation of many rows, like those of [rowTexts].
func fillArchive(tb testing.TB, s testStore, rows int) {
	tb.Helper()
	lease, err := s.Claim(tb.Context(), "ses-1", "x", time.Minute)
	if err != nil {
		tb.Fatal(err)
	}
	archive, ops := records.NewArchive(firstMonitor, nil)
	for id := 1; id <= rows; id++ {
		ops = append(ops, archive.Add(wire.UIRow{
			ID: wire.RowID(id), TS: wire.Millis(2 * id), Type: wire.RowSay, Say: wire.SayText, Text: fmt.Sprint("text ", id), MonitorID: firstMonitor,
		})...)
		if id%1000 == 0 {
			b := store.Batch{Number: uint64(id / 1000), Prev: lease.Top(), Ops: append(ops, archive.SaveOp())}
			if _, err := s.Commit(tb.Context(), lease, b); err != nil {
				tb.Fatal(err)
			}
			ops = nil
		}
	}
}
