package history

import (
	"slices"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// Marker holds the identifiers of a truncation marker.
type Marker struct {
	// ID is used if the marker becomes the last message, see [NextID]; otherwise the marker
	// gets the odd id below the message that follows it.
	ID  uint64
	Row wire.RowID
	TS  wire.Millis
	// TruncationID is unique; the row that shows the truncation to the user has the same.
	TruncationID string
}

// Truncated hides a share of the visible messages, rounded down to an even count, and
// inserts a marker in their place. It returns the new thread and the number of hidden
// messages. The first visible message stays. A call and its result are hidden together, so
// the count may be one or two higher, or lower if the newest message would be hidden. If
// there is nothing to hide it returns the thread unchanged and 0.
func Truncated(all []Message, share float64, marker Marker) ([]Message, int) {
	visible := visibleIndexes(all)
	var said []int // indexes of visible messages without markers
	for _, i := range visible {
		if !all[i].IsTruncationMarker {
			said = append(said, i)
		}
	}
	first, last := truncationRange(all, said, share)
	if last < first {
		return all, 0
	}
	end := len(all) // index of the marker
	if last+1 < len(said) {
		end = said[last+1]
	}
	out := make([]Message, 0, len(all)+1)
	out = append(out, all...)
	for _, i := range said[first : last+1] {
		out[i].TruncationParent = marker.TruncationID
	}
	for _, i := range visible { // the new marker also replaces older ones
		if all[i].IsTruncationMarker && i < end {
			out[i].TruncationParent = marker.TruncationID
		}
	}
	m := Message{
		ID: marker.ID, Row: marker.Row, TS: marker.TS, IsTruncationMarker: true, TruncationID: marker.TruncationID,
		Entry: providers.Entry{Role: providers.RoleUser, Blocks: []providers.Block{textBlock(truncationNotice)}},
	}
	if end < len(all) {
		m.Turn, m.ID = all[end].Turn, max(all[end].ID, 1)-1
	} else {
		m.Turn = all[len(all)-1].Turn
	}
	return slices.Insert(out, end, m), last + 1 - first
}

const truncationNotice = "(Older parts of the conversation are left out here, because it became too long.)"

// visibleIndexes returns the indexes of the messages that [Effective] returns.
func visibleIndexes(all []Message) (at []int) {
	since := sinceSummary(all)
	eachVisible(since, func(i int, _ []providers.Block) { at = append(at, len(all)-len(since)+i) })
	return at
}

// truncationRange returns the first and the last message to hide, as indexes into said. The
// range is empty if last < first.
func truncationRange(all []Message, said []int, share float64) (first, last int) {
	reach := resultReach(all, said)
	if !(share > 0) || len(said) == 0 { // also false for NaN
		return 1, 0
	}
	remove := int(float64(len(said)-1) * min(share, 1))
	if remove -= remove % 2; remove <= 0 {
		return 1, 0
	}
	// The results of the first message's calls stay with it.
	first, last = reach[0]+1, remove
	// torn[i] is the last message that must be hidden if all up to i are.
	torn := make([]int, len(said))
	for i := first; i < len(said); i++ {
		torn[i] = max(torn[i-1], reach[i])
	}
	on := last
	for on < len(said) && on >= first && torn[on] > on {
		on = torn[on]
	}
	if on < len(said)-1 || last == len(said)-1 {
		return first, on
	}
	for last >= first && torn[last] > last {
		last--
	}
	return first, last
}

// resultReach returns for each message the index of the last message with a result of its
// calls.
func resultReach(all []Message, said []int) []int {
	reach := make([]int, len(said))
	calls := map[string]int{}
	for n, i := range said {
		reach[n] = n
		for j := range all[i].Blocks {
			switch b := &all[i].Blocks[j]; b.Kind {
			case providers.BlockToolCall:
				calls[b.Call] = n
			case providers.BlockToolResult:
				if call, ok := calls[b.Call]; ok {
					reach[call] = n
				}
			case providers.BlockText, providers.BlockThinking, providers.BlockImage, providers.BlockOpaque:
			}
		}
	}
	return reach
}
