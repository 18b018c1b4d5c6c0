package notebookfile

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/everdesk/everdesk/wire"
)

// trim leaves out the largest outputs and attachments of a notebook that has more than a window shows.
func trim(n *wire.Notebook) {
	type part struct {
		size int
		drop func()
	}
	over := len(encoded(n)) + len(n.Cells)*cutSize - maxContent
	if over <= 0 {
		return
	}
	var parts []part
	for i := range n.Cells {
		c := &n.Cells[i]
		if c.Attachments != nil {
			parts = append(parts, part{len(c.Attachments), func() { c.Cut, c.Attachments = c.Cut+int64(len(c.Attachments)), nil }})
		}
		for j := range c.Outputs {
			o := &c.Outputs[j]
			parts = append(parts, part{len(encoded(o)), func() { c.Cut, *o = c.Cut+int64(bytesOf(o)), wire.CellOutput{} }})
		}
	}
	slices.SortStableFunc(parts, func(a, b part) int { return b.size - a.size })
	for i := 0; i < len(parts) && over > 0; i++ {
		parts[i].drop()
		over -= parts[i].size
	}
	for i := range n.Cells {
		n.Cells[i].Outputs = slices.DeleteFunc(n.Cells[i].Outputs, func(o wire.CellOutput) bool { return o.Type == "" })
	}
}

// cutSize is the room in bytes for the number of bytes that were left out of a cell.
const cutSize = 32

// encoded returns a value that was read from JSON as JSON.
func encoded(v any) []byte {
	data, _ := json.Marshal(v) // it was read from JSON
	return data
}

// bytesOf returns the bytes of an output that count for the limits.
func bytesOf(o *wire.CellOutput) int { return len(o.Text) + len(o.Value) + len(o.Data) }

// maxMetadata bounds metadata that is kept, in bytes.
const maxMetadata = 16 << 10

// plainObject returns metadata that can be stored: an object that is not too large or too deep. Values that are too deep
// are left out, and the largest ones until the rest is small enough. Often these are the states of widgets.
func plainObject(data json.RawMessage) json.RawMessage {
	var m map[string]any
	if json.Unmarshal(data, &m) != nil {
		return nil
	}
	sizes := map[string]int{}
	for key, value := range m {
		if sizes[key] = len(key) + len(encoded(value)); depth(value) > 15 {
			delete(m, key)
			delete(sizes, key)
		}
	}
	for len(m) > 0 {
		if clean := encoded(m); len(clean) <= maxMetadata {
			return clean
		}
		largest := slices.MaxFunc(slices.Sorted(maps.Keys(sizes)), func(a, b string) int { return sizes[a] - sizes[b] })
		delete(m, largest)
		delete(sizes, largest)
	}
	return nil
}

func depth(v any) int {
	most := 0
	switch v := v.(type) {
	case map[string]any:
		for _, item := range v {
			most = max(most, depth(item))
		}
	case []any:
		for _, item := range v {
			most = max(most, depth(item))
		}
	default:
		return 0
	}
	return most + 1
}

// plainAttachments returns the attachments of a cell that can be stored: texts, which are base64 for pictures.
func plainAttachments(data json.RawMessage) json.RawMessage {
	var all map[string]map[string]text
	if json.Unmarshal(data, &all) != nil || len(all) == 0 {
		return nil
	}
	return encoded(all)
}
