package broadcast

import "github.com/everdesk/everdesk/wire"

// Viewer describes an attached tab for administration.
type Viewer struct {
	wire.Connection
	// Lag is the number of events that were not written to the tab yet. Of the events of
	// earlier epochs it counts none.
	Lag  uint64
	Form Form
}

// Viewers returns the oldest tabs, at most limit.
func (c *Center) Viewers(limit int) []Viewer {
	c.mu.Lock()
	defer c.mu.Unlock()
	oldest := c.tabs[:min(limit, len(c.tabs))]
	list := make([]Viewer, 0, len(oldest))
	for _, t := range oldest {
		t.mu.Lock()
		v := Viewer{Connection: t.who, Form: t.form}
		switch at := t.at; {
		case at.Compare(c.head) >= 0:
		case at.Epoch == c.head.Epoch:
			v.Lag = c.head.Seq - at.Seq
		default:
			v.Lag = c.head.Seq + 1
		}
		t.mu.Unlock()
		list = append(list, v)
	}
	return list
}

func (f Form) String() string {
	switch f {
	case FormNative:
		return "native"
	case FormBatch:
		return "batch"
	case FormDesktop, FormNumbered:
		return "desktop"
	case FormSSE:
		return "sse"
	default:
		return "unknown"
	}
}
