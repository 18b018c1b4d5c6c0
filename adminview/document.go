package adminview

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/everdesk/everdesk/wire"
)

// collection is where replicas leave what they report for those who look.
const collection = "monitor"

// Names of documents in the collection.
const interestName = "interest"

func headName(r wire.ReplicaID) string { return "head/" + string(r) }

func historyName(r wire.ReplicaID) string { return "history/" + string(r) }

func chunkName(r wire.ReplicaID, n int) string { return fmt.Sprintf("rows/%s/%d", r, n) }

func partName(r wire.ReplicaID, id wire.SessionID) string {
	return "part/" + string(r) + "/" + string(id)
}

// Bounds of what is written and believed.
const (
	// documentBytes is how large a document gets; stores take twice as much.
	documentBytes = 512 << 10
	// plainBytes is how large it may be when it is not compressed any more.
	plainBytes = 8 << 20
	// chunkRows is how many rows a chunk has, about.
	chunkRows = 128
	// maxChunks bounds the chunks of a replica.
	maxChunks = 1024
	// maxParts is how many sessions one replica is asked for in detail.
	maxParts = 64
)

// format is the version of what follows. Documents of another are not read.
const format = 1

// head is what a replica says of itself and of what else it has written.
type head struct {
	Format int `json:"v"`
	// Process tells its lives apart, and Number counts the heads of one.
	Process string `json:"process"`
	Number  uint64 `json:"n"`
	Sample  Sample `json:"sample"`
	Recent  recent `json:"recent,omitzero"`
	// History is the number of its history, 0 if there is none.
	History int64 `json:"history,omitempty"`
	// Chunks are the numbers of the chunks of rows, and Parts those of the
	// sessions that somebody looks at. Each grows when there is something new.
	Chunks []uint64                  `json:"chunks,omitempty"`
	Parts  map[wire.SessionID]uint64 `json:"parts,omitempty"`
}

func (h *head) check() error {
	if h.Format != format || h.Process == "" || len(h.Chunks) > maxChunks || len(h.Parts) > maxParts {
		return errForeign
	}
	return nil
}

// history is what a replica has measured.
type history struct {
	Format  int    `json:"v"`
	Process string `json:"process"`
	// Number is when its newest point began.
	Number int64   `json:"n"`
	Points []Point `json:"points"`
}

func (h *history) check() error {
	if h.Format != format || h.Process == "" || len(h.Points) > keptSlots {
		return errForeign
	}
	for i := range h.Points {
		p := &h.Points[i]
		if i > 0 && p.Time <= h.Points[i-1].Time || min(p.Agents, p.Queued, p.Takeovers) < 0 ||
			max(p.Agents, p.Queued, p.Takeovers) > maxGrown || min(p.Events, p.Deliveries, p.AppendP50, p.AppendP99) < 0 ||
			max(p.Events, p.Deliveries, p.AppendP50, p.AppendP99) > maxGrown {
			return errForeign
		}
	}
	return nil
}

// chunk is a part of the rows of a replica.
type chunk struct {
	Format  int    `json:"v"`
	Process string `json:"process"`
	// Of says how many chunks there are.
	Of     int    `json:"of"`
	Number uint64 `json:"n"`
	Rows   []Row  `json:"rows"`
}

func (c *chunk) check() error {
	if c.Format != format || c.Process == "" {
		return errForeign
	}
	for i := range c.Rows {
		r := &c.Rows[i]
		if err := r.SessionID.Validate(); err != nil {
			return err
		}
		switch r.Status {
		case Stuck, Waiting, Stalled, Working, Idle:
		default:
			return errForeign // the others are not for the owner to say
		}
	}
	return nil
}

// part is what a replica knows of a session that somebody looks at.
type part struct {
	Format  int    `json:"v"`
	Process string `json:"process"`
	Number  uint64 `json:"n"`
	// Owner says that it is the owner's, which has more than tabs.
	Owner  bool   `json:"owner,omitempty"`
	Epoch  uint64 `json:"epoch,omitempty"`
	Detail Detail `json:"detail"`
}

func (p *part) check() error {
	if p.Format != format || p.Process == "" {
		return errForeign
	}
	return nil
}

// errForeign means that a document is not what it should be.
var errForeign = errors.New("not a document of this monitor")

// checked is a document that knows when it is none.
type checked[T any] interface {
	*T
	check() error
}

// codec makes the stored form of documents. Its zero value is ready.
type codec struct{ writers sync.Pool }

// encode makes the stored form of a document.
func (c *codec) encode(v any) []byte {
	var out bytes.Buffer
	w, ok := c.writers.Get().(*flate.Writer)
	if ok {
		w.Reset(&out)
	} else {
		var err error
		if w, err = flate.NewWriter(&out, flate.BestSpeed); err != nil {
			panic(err) // the level is a good one
		}
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if err := errors.Join(e.Encode(v), w.Close()); err != nil {
		panic(err) // documents are of numbers, texts and lists of them
	}
	c.writers.Put(w)
	return out.Bytes()
}

// decode reads a document, which may be anybody's.
func decode[T any, P checked[T]](data []byte) (T, error) {
	var v, none T
	r := flate.NewReader(bytes.NewReader(data))
	plain, err := io.ReadAll(io.LimitReader(r, plainBytes+1))
	if err != nil {
		return none, fmt.Errorf("%w: %w", errForeign, err)
	}
	if len(plain) > plainBytes {
		return none, fmt.Errorf("%w: it is too large", errForeign)
	}
	if err := json.Unmarshal(plain, &v); err != nil {
		return none, fmt.Errorf("%w: %w", errForeign, err)
	}
	if err := P(&v).check(); err != nil {
		return none, err
	}
	return v, nil
}

// chunk makes the stored form of a chunk, in which titles are left out if there is
// no room for them.
func (c *codec) chunk(of chunk) []byte {
	data := c.encode(&of)
	if len(data) > documentBytes {
		of.Rows = mapped(of.Rows, Row.Redacted)
		data = c.encode(&of)
	}
	return data
}

// part makes the stored form of a part, with as much of it as there is room for.
func (c *codec) part(p part) []byte {
	for {
		data := c.encode(&p)
		if len(data) <= documentBytes {
			return data
		}
		d := &p.Detail
		d.Messages, d.Tabs, d.Windows = half(d.Messages), half(d.Tabs), half(d.Windows)
		d.Asks, d.Agents = half(d.Asks), half(d.Agents)
		d.Monitors = mapped(d.Monitors, func(m Monitor) Monitor {
			m.Queue = half(m.Queue)
			return m
		})
	}
}

// half is the first half of a list.
func half[T any](list []T) []T { return slices.Clip(list[:len(list)/2]) }
