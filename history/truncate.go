package history

import (
	"slices"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// Marker is what names the place where something is left out.
type Marker struct {
	// ID is that of the message if it has to be the last one, see [NextID]; else it
	// has the odd id before the message that it is put before.
	ID  uint64
	Row wire.RowID
	TS  wire.Millis
	// TruncationID is unique, and that of the row that tells people.
	TruncationID string
}

// Truncated leaves out a share of what is visible, rounded down to an even count,
// and puts a marker in its place. The first visible message stays. A call and its
// result go or stay together, so that one or two more may go, or fewer if the
// newest would. It returns the same thread and 0 if there is nothing to leave out.
func Truncated(all []Message, share float64, marker Marker) ([]Message, int) {
	visible := visibleAt(all)
	var said []int // of those, what somebody said
	for _, i := range visible {
		if !all[i].IsTruncationMarker {
			said = append(said, i)
		}
	}
	first, last := bounds(all, said, share)
	if last < first {
		return all, 0
	}
	end := len(all) // where the marker goes
	if last+1 < len(said) {
		end = said[last+1]
	}
	out := make([]Message, 0, len(all)+1)
	out = append(out, all...)
	for _, i := range said[first : last+1] {
		out[i].TruncationParent = marker.TruncationID
	}
	for _, i := range visible { // an older marker is told by this one
		if all[i].IsTruncationMarker && i < end {
			out[i].TruncationParent = marker.TruncationID
		}
	}
	m := Message{
		ID: marker.ID, Row: marker.Row, TS: marker.TS, IsTruncationMarker: true, TruncationID: marker.TruncationID,
		Entry: providers.Entry{Role: providers.RoleUser, Blocks: []providers.Block{textBlock(leftOut)}},
	}
	if end < len(all) {
		m.Turn, m.ID = all[end].Turn, max(all[end].ID, 1)-1
	} else {
		m.Turn = all[len(all)-1].Turn
	}
	return slices.Insert(out, end, m), last + 1 - first
}

const leftOut = "(Older parts of the conversation are left out here, because it became too long.)"

// visibleAt are the places of what [Effective] shows of a thread.
func visibleAt(all []Message) (at []int) {
	since := sinceSummary(all)
	eachVisible(since, func(i int, _ []providers.Block) { at = append(at, len(all)-len(since)+i) })
	return at
}

// bounds are the first and the last that go, as places in said. There are none if
// the last is before the first.
func bounds(all []Message, said []int, share float64) (first, last int) {
	reach := pairs(all, said)
	if !(share > 0) || len(said) == 0 { // which is so for what is no number
		return 1, 0
	}
	remove := int(float64(len(said)-1) * min(share, 1))
	if remove -= remove % 2; remove <= 0 {
		return 1, 0
	}
	// The first message keeps its results.
	first, last = reach[0]+1, remove
	// torn is the last message that what goes until then needs to go, too.
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

// pairs says of each message how far the results of its calls reach.
func pairs(all []Message, said []int) []int {
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
