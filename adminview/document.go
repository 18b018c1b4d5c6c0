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

// collection is the store collection of the replicas' reports. The name is part of the
// stored format.
const collection = "monitor"

// Document names in the collection.
const interestName = "interest"

func headName(r wire.ReplicaID) string { return "head/" + string(r) }

func historyName(r wire.ReplicaID) string { return "history/" + string(r) }

func chunkName(r wire.ReplicaID, n int) string { return fmt.Sprintf("rows/%s/%d", r, n) }

func partName(r wire.ReplicaID, id wire.SessionID) string {
	return "part/" + string(r) + "/" + string(id)
}

// Bounds of what is written and accepted.
const (
	// documentBytes bounds a compressed document; stores accept twice as much.
	documentBytes = 512 << 10
	// plainBytes bounds a decompressed document.
	plainBytes = 8 << 20
	// chunkRows is the approximate number of rows in a chunk.
	chunkRows = 128
	// maxChunks bounds the chunks of a replica.
	maxChunks = 1024
	// maxParts bounds the sessions that a replica reports in detail.
	maxParts = 64
)

// format is the version of the documents. Documents of other versions are ignored.
const format = 1

// head is the report of a replica about itself, with the numbers of its other documents.
type head struct {
	Format int `json:"v"`
	// Process identifies the process; Number counts its heads.
	Process string `json:"process"`
	Number  uint64 `json:"n"`
	Sample  Sample `json:"sample"`
	Recent  recent `json:"recent,omitzero"`
	// History is the number of the history document, 0 if there is none.
	History int64 `json:"history,omitempty"`
	// Chunks are the numbers of the row chunks, Parts those of the sessions in detail. A
	// number increases with every change.
	Chunks []uint64                  `json:"chunks,omitempty"`
	Parts  map[wire.SessionID]uint64 `json:"parts,omitempty"`
}

func (h *head) check() error {
	if h.Format != format || h.Process == "" || len(h.Chunks) > maxChunks || len(h.Parts) > maxParts {
		return errForeign
	}
	return nil
}

// history holds the measurements of a replica.
type history struct {
	Format  int    `json:"v"`
	Process string `json:"process"`
	// Number is the start time of the newest point.
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
	// Of is the total number of chunks.
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
			return errForeign // an owner cannot report the other statuses
		}
	}
	return nil
}

// part is a replica's knowledge of a session that an admin looks at.
type part struct {
	Format  int    `json:"v"`
	Process string `json:"process"`
	Number  uint64 `json:"n"`
	// Owner is set if the replica owns the session; other replicas report only their tabs.
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

// errForeign means that a document has an unknown format.
var errForeign = errors.New("not an admin view document of this version")

// checked is a document that can validate itself.
type checked[T any] interface {
	*T
	check() error
}

// codec encodes documents. The zero value is ready to use.
type codec struct{ writers sync.Pool }

// encode compresses a document.
func (c *codec) encode(v any) []byte {
	var out bytes.Buffer
	w, ok := c.writers.Get().(*flate.Writer)
	if ok {
		w.Reset(&out)
	} else {
		var err error
		if w, err = flate.NewWriter(&out, flate.BestSpeed); err != nil {
			panic(err) // the level is valid
		}
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if err := errors.Join(e.Encode(v), w.Close()); err != nil {
		panic(err) // documents always encode
	}
	c.writers.Put(w)
	return out.Bytes()
}

// decode decodes and validates a document.
func decode[T any, P checked[T]](data []byte) (T, error) {
	var v, none T
	r := flate.NewReader(bytes.NewReader(data))
	plain, err := io.ReadAll(io.LimitReader(r, plainBytes+1))
	if err != nil {
		return none, fmt.Errorf("%w: %w", errForeign, err)
	}
	if len(plain) > plainBytes {
		return none, fmt.Errorf("%w: too large", errForeign)
	}
	if err := json.Unmarshal(plain, &v); err != nil {
		return none, fmt.Errorf("%w: %w", errForeign, err)
	}
	if err := P(&v).check(); err != nil {
		return none, err
	}
	return v, nil
}

// chunk encodes a chunk, without titles if it would be too large.
func (c *codec) chunk(of chunk) []byte {
	data := c.encode(&of)
	if len(data) > documentBytes {
		of.Rows = mapped(of.Rows, Row.Redacted)
		data = c.encode(&of)
	}
	return data
}

// part encodes a part, with shortened lists if it would be too large.
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

// half returns the first half of a list.
func half[T any](list []T) []T { return slices.Clip(list[:len(list)/2]) }
