package contextpool

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Bounds of a thread and of its cold list, which holds the hidden messages moved out of the
// thread. When the cold list is full, its oldest messages are deleted; a rewind to before them
// does not bring them back.
const (
	threadEntries = 400
	threadBytes   = 1 << 20
	coldEntries   = 2000
	coldBytes     = 4 << 20
	// chunkEntries is the maximum number of messages in a new chunk.
	chunkEntries = 100
)

// chunk describes consecutive messages of a cold list: their number, encoded size, and the sum
// of their hashes. Sum identifies them in a list of a store that has lost the removal of other
// messages.
type chunk struct {
	N     int    `json:"n"`
	Bytes int    `json:"bytes"`
	Sum   uint64 `json:"sum"`
}

func (c chunk) plus(other chunk) chunk {
	return chunk{c.N + other.N, c.Bytes + other.Bytes, c.Sum + other.Sum}
}

func (h *thread) coldList() string { return store.ColdPrefix + h.listName() }

// boundThread brings a changed thread back into its bounds and stores it. It hides the older
// half of the visible messages until the rest fits, and moves hidden messages to the cold list,
// which is only read for a rewind.
func (s *threadSet) boundThread(h *thread) {
	for over := true; over; {
		seen, bytes := history.Effective(h.messages), 0
		for i := range seen {
			bytes += len(encode(&seen[i]))
		}
		over = (len(seen) > threadEntries || bytes > threadBytes) && s.hideOlderHalf(h) > 0
	}
	all := h.messages
	values := h.setMessages(all)
	if len(all) > threadEntries || h.bytes > threadBytes {
		var moves []store.Op
		values, moves = h.moveHiddenToCold(values)
		s.step.AddOps(moves...)
	}
	s.step.AddOps(store.Drop(h.listName()), store.Push(h.listName(), values...))
	s.store(h)
}

// hideOlderHalf hides the older half of the visible messages of a thread, adds a row about it,
// and returns the number of hidden messages. The caller calls boundThread.
func (s *threadSet) hideOlderHalf(h *thread) int {
	before := history.Tokens(history.View(h.messages))
	had, t := cmp.Or(h.Tokens, before), s.turns.ofAgent(h.agent)
	if t != nil {
		had = cmp.Or(t.Context, before)
	}
	row := s.rows.NextRowID()
	marker := history.Marker{
		ID: history.NextID(h.highestID()), Row: row, TS: wire.Millis(s.step.Now().UnixMilli()),
		TruncationID: "cut-" + strconv.FormatUint(uint64(row), 10),
	}
	left, removed := history.Truncated(h.messages, hiddenShare, marker)
	if removed == 0 {
		return 0
	}
	h.messages, h.stale = left, true
	h.Tokens = scaleTokens(had, before, history.Tokens(history.View(left)))
	r := wire.UIRow{
		Type: wire.RowSay, Say: wire.SaySlidingWindowTruncation, MonitorID: h.Monitor,
		ContextTruncation: &wire.ContextTruncation{
			TruncationID: marker.TruncationID, MessagesRemoved: removed,
			PrevContextTokens: had, NewContextTokens: h.Tokens,
		},
	}
	h.linkRow(&r)
	if t != nil {
		t.Context = 0 // it measured the thread before the change
		r.AgentID, r.MessageID = t.Role, t.messageID()
	}
	s.rows.AddRow(r)
	return removed
}

// hiddenShare is the share of the visible messages that is hidden at once.
const hiddenShare = 0.5

// linkRow sets the thread and its newest message in a row.
func (h *thread) linkRow(r *wire.UIRow) {
	r.Thread, r.ConversationHistoryIndex = h.agent, new(0)
	if n := len(h.messages); n > 0 {
		*r.ConversationHistoryIndex = int(h.messages[n-1].ID) //nolint:gosec // message ids fit into an int
	}
}

// moveHiddenToCold moves the hidden messages to the cold list. It returns the encoded messages
// that stay and the operations on the cold list.
func (h *thread) moveHiddenToCold(values [][]byte) (kept [][]byte, ops []store.Op) {
	seen := map[uint64]bool{}
	for _, m := range history.Effective(h.messages) {
		seen[m.ID] = true
	}
	var stay []history.Message
	var gone [][]byte
	h.Top = h.highestID()
	for i := range h.messages {
		if m := &h.messages[i]; seen[m.ID] {
			stay, kept = append(stay, *m), append(kept, values[i])
			continue
		}
		gone = append(gone, values[i])
	}
	if len(gone) == 0 {
		return values, nil
	}
	h.messages, h.sizes, h.bytes = stay, nil, 0
	for _, v := range kept {
		h.sizes = append(h.sizes, len(v))
		h.bytes += len(v)
	}
	h.Cold = append(h.Cold, chunksOf(gone)...)
	return kept, append([]store.Op{store.Push(h.coldList(), gone...)}, h.trimCold()...)
}

// chunksOf groups encoded messages into chunks.
func chunksOf(values [][]byte) (chunks []chunk) {
	for i, v := range values {
		if i%chunkEntries == 0 {
			chunks = append(chunks, chunk{})
		}
		chunks[len(chunks)-1] = chunks[len(chunks)-1].plus(chunkOf(v))
	}
	return chunks
}

// trimCold deletes the oldest messages of the cold list when it exceeds its bounds.
func (h *thread) trimCold() []store.Op {
	n, bytes := h.coldSize()
	dropped := false
	for (n > coldEntries || bytes > coldBytes) && len(h.Cold) > 1 {
		n, bytes, dropped = n-h.Cold[0].N, bytes-h.Cold[0].Bytes, true
		h.Cold = h.Cold[1:]
	}
	for len(h.Cold) > 2*coldEntries/chunkEntries { // merge chunks when there are many small ones
		h.Cold[1] = h.Cold[0].plus(h.Cold[1])
		h.Cold = h.Cold[1:]
	}
	if !dropped {
		return nil
	}
	return []store.Op{store.KeepLast(h.coldList(), n)}
}

// mergedThread holds the messages of a thread and of its cold list.
type mergedThread struct {
	// cold are the thread's messages in the cold list, in the order of the list, and byID are those
	// of thread and cold list.
	cold, byID []history.Message
	// dirty means that the list holds other values besides, or that some are lost.
	dirty bool
}

// mergeCold merges the thread with items, the values of its cold list. Of these only those count
// that Cold describes: the store may have lost the removal of others. Of a message in both the
// thread's copy counts: the store may have lost the move back of the other.
func (h *thread) mergeCold(items [][]byte) (m mergedThread, err error) {
	spans, _ := matchChunks(h.Cold, items)
	ours := spanItems(spans, items)
	n, _ := h.coldSize()
	m.dirty = len(ours) != len(items) || len(ours) != n
	if m.cold, err = decodeList[history.Message](h.coldList(), ours); err != nil {
		return mergedThread{}, err
	}
	m.byID = slices.Concat(h.messages, m.cold)
	slices.SortStableFunc(m.byID, func(a, b history.Message) int { return cmp.Compare(a.ID, b.ID) })
	m.byID = slices.CompactFunc(m.byID, func(a, b history.Message) bool { return a.ID == b.ID })
	return m, nil
}

func (h *thread) coldSize() (n, bytes int) {
	for _, c := range h.Cold {
		n, bytes = n+c.N, bytes+c.Bytes
	}
	return n, bytes
}
