package session

import (
	"testing"

	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/wire"
)

// FuzzRestore loads a session with arbitrary stored data under a valid checksum. It is loaded or
// refused, without a panic.
func FuzzRestore(f *testing.F) {
	tables := []string{
		ledgerTable, closedTable, appsTable, "desk", "windows", "monitors", "dialogs", "prompts", "agents", "rows", "pool", "turns",
		"turns.prompt", "queue", "queue.said", "groups", "reload", "asks", "threads", "turns.calls:m", "turns.deeds:m", "budget:monitor-0",
	}
	lists := []string{"tape:monitor-0", "timeline:monitor-0", "api:main-monitor-0"}
	for i := range tables {
		f.Add(byte(i), "monitor-0", []byte(`{"id":"monitor-0","h":"x","t":1,"a":{"v":"done"}}`))
		f.Add(byte(i), "a", []byte(`[]`))
	}
	f.Add(byte(0), "c", []byte(`{"order":{"kind":"act","message":{}},"message":{"type":"USER_MESSAGE"}}`))
	f.Fuzz(func(_ *testing.T, which byte, name string, data []byte) {
		table := tables[int(which)%len(tables)]
		kept := map[string]map[string][]byte{table: {name: data}}
		items := map[string][][]byte{lists[int(which)%len(lists)]: {data, data}}
		if state, err := desktop.Restore("s", wire.Position{Epoch: 1, Seq: 1}, kept); err == nil {
			_ = state.Snapshot()
			_ = state.Hash()
		}
		_ = (&ledger{}).restore(kept[ledgerTable])
		_ = (&closedQuestions{}).restore(kept[closedTable])
		_, _ = readCard(data)
		_, _ = decodeItem(data)
		_ = contextpool.New(contextpool.Config{Session: "s"}, contextpool.Session{}, nil, nil).Restore(kept, items)
	})
}
