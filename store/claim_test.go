package store_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

func TestNextEpoch(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_000_000)
	for _, c := range []struct {
		previous uint64
		now      time.Time
		want     uint64
	}{
		{0, now, 1_000_000},
		{999_999, now, 1_000_000},
		{1_000_000, now, 1_000_001},
		{5_000_000, now, 5_000_001},
		{0, now.Add(999 * time.Microsecond), 1_000_000},
		{0, time.UnixMilli(0), 1},
		{3, time.UnixMilli(-5), 4},
	} {
		if got := store.NextEpoch(c.previous, c.now); got != c.want {
			t.Errorf("NextEpoch(%d, %v) = %d, want %d", c.previous, c.now.UnixMilli(), got, c.want)
		}
	}
}

func TestClaimEvent(t *testing.T) {
	t.Parallel()
	lease := store.Lease{Session: "s", Replica: "r", Epoch: 8, TTL: time.Minute, Prev: wire.Position{Epoch: 7, Seq: 3}}
	at := time.Date(2026, 1, 2, 3, 4, 5, 678_900_000, time.FixedZone("elsewhere", 3600))
	e := store.ClaimEvent(lease, at)
	if e.At != lease.Top() || e.At != (wire.Position{Epoch: 8}) {
		t.Errorf("event is at %v, want 8-0", e.At)
	}
	var got struct {
		Type      string `json:"type"`
		SessionID string `json:"session_id"`
		MessageID string `json:"message_id"`
		Timestamp string `json:"timestamp"`
		Data      struct {
			Replica string `json:"replica"`
			Epoch   uint64 `json:"epoch"`
			Prev    string `json:"prev"`
		} `json:"data"`
	}
	if err := json.Unmarshal(e.Frame, &got); err != nil {
		t.Fatal(err)
	}
	if got.Type != "OWNER_CHANGED" || got.SessionID != "s" || got.MessageID != "8-0" || got.Timestamp != "2026-01-02T02:04:05.678Z" ||
		got.Data.Replica != "r" || got.Data.Epoch != 8 || got.Data.Prev != "7-3" {
		t.Errorf("event says %+v, want OWNER_CHANGED of s at 8-0 with replica r, epoch 8 and previous position 7-3", got)
	}
	if bytes.ContainsRune(e.Frame, '\n') {
		t.Errorf("event %q has a line break, want one line", e.Frame)
	}
	// An engine that keeps the arguments in milliseconds shows the same bytes.
	again := store.ClaimEvent(lease, time.UnixMilli(at.UnixMilli()))
	if !bytes.Equal(again.Frame, e.Frame) {
		t.Errorf("the same claim is\n%s and\n%s, want the same bytes", e.Frame, again.Frame)
	}
}
