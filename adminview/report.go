package adminview

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// TTLs of the report documents, and the intervals at which unchanged ones are rewritten.
const (
	headTTL    = 6 * time.Second
	historyTTL = 30 * time.Second
	chunkTTL   = 30 * time.Second
	chunkAgain = 10 * time.Second
	partTTL    = 6 * time.Second
	partAgain  = 2 * time.Second
)

// maxConcurrentDocuments bounds concurrent reads and writes of documents.
const maxConcurrentDocuments = 8

// rowOf converts the owner's status of a session.
func rowOf(s *session.Status, owner wire.ReplicaID) Row {
	r := Row{
		SessionID: s.ID, User: s.User, Title: s.Title, Status: Idle, Doing: s.Activity, DoingMS: s.For.Milliseconds(),
		Owner: owner, Epoch: s.Epoch, Top: s.Top, Tabs: s.Tabs, Monitors: s.Monitors, Windows: s.Windows,
		Agents: s.Agents, Queued: s.Queued, Questions: s.Questions, Budget: s.Budget, Errors: s.Errors,
		Tokens: s.Tokens, Cost: s.Cost,
	}
	if !s.Updated.IsZero() {
		r.UpdatedAt = wire.Millis(s.Updated.UnixMilli())
	}
	if s.LastError != 0 {
		r.LastError = strconv.Itoa(int(s.LastError))
	}
	switch {
	case s.Stuck:
		r.Status = Stuck
	case s.Questions > 0:
		r.Status = Waiting
	case s.Stalled:
		r.Status = Stalled
	case s.Working:
		r.Status = Working
	}
	return r
}

// rowsOf converts the sessions owned here, sorted by id.
func rowsOf(census []session.Status, owner wire.ReplicaID) []Row {
	rows := make([]Row, len(census))
	for i := range census {
		rows[i] = rowOf(&census[i], owner)
	}
	slices.SortFunc(rows, byID)
	return rows
}

func byID(a, b Row) int { return cmp.Compare(a.SessionID, b.SessionID) }

// reporter writes the reports of this replica, for admins whose requests other replicas serve.
// The goroutine of Run owns it.
type reporter struct {
	self    wire.ReplicaID
	process string
	codec   codec
	number  uint64
	head    written
	history writtenHistory
	chunks  []writtenRows
	parts   map[wire.SessionID]*writtenPart
	spare   []written // versions of chunks that existed before
}

// written is the state of one of our documents in the store.
type written struct {
	version uint64
	number  uint64
	at      time.Time
}

type writtenHistory struct {
	written
	newest int64 // start time of its newest point
}

type writtenRows struct {
	written
	rows []Row
}

type writtenPart struct {
	written
	plain []byte // encoded form without the number
}

func newReporter(self wire.ReplicaID) *reporter {
	return &reporter{self: self, process: rand.Text(), parts: map[wire.SessionID]*writtenPart{}}
}

// publish writes the changed documents, the head last because it refers to the others.
func (r *reporter) publish(ctx context.Context, s Documents, rows []Row, parts map[wire.SessionID]part, measured *sampleHistory, now time.Time) error {
	err := errors.Join(r.publishRows(ctx, s, rows, now), r.publishParts(ctx, s, parts, now), r.publishHistory(ctx, s, measured, now))
	if err != nil {
		return err // the documents in the store stay consistent
	}
	r.number++
	h := head{
		Format: format, Process: r.process, Number: r.number, Sample: measured.latest(), Recent: measured.recent(now),
		History: r.history.newest, Parts: map[wire.SessionID]uint64{},
	}
	for i := range r.chunks {
		h.Chunks = append(h.Chunks, r.chunks[i].number)
	}
	for id, p := range r.parts {
		h.Parts[id] = p.number
	}
	return r.put(ctx, s, headName(r.self), r.codec.encode(&h), &r.head, headTTL, now)
}

// publishHistory writes the history when it has a new point.
func (r *reporter) publishHistory(ctx context.Context, s Documents, measured *sampleHistory, now time.Time) error {
	points := measured.points(now)
	if len(points) == 0 {
		return nil
	}
	newest := int64(points[len(points)-1].Time)
	if newest == r.history.newest && now.Sub(r.history.at) < historyTTL/2 {
		return nil
	}
	data := r.codec.encode(&history{Format: format, Process: r.process, Number: newest, Points: points})
	if err := r.put(ctx, s, historyName(r.self), data, &r.history.written, historyTTL, now); err != nil {
		return err
	}
	r.history.newest = newest
	return nil
}

// publishRows writes the changed chunks.
func (r *reporter) publishRows(ctx context.Context, s Documents, rows []Row, now time.Time) error {
	chunks := split(rows, countChunks(len(rows), len(r.chunks)))
	if len(chunks) != len(r.chunks) {
		r.resize(len(chunks))
	}
	return forEachConcurrently(len(chunks), func(i int) error {
		c := &r.chunks[i]
		if c.number > 0 && slices.Equal(c.rows, chunks[i]) && now.Sub(c.at) < chunkAgain {
			return nil
		}
		number := c.number + 1
		data := r.codec.chunk(chunk{Format: format, Process: r.process, Of: len(chunks), Number: number, Rows: chunks[i]})
		if err := r.put(ctx, s, chunkName(r.self, i), data, &c.written, chunkTTL, now); err != nil {
			return err
		}
		c.number, c.rows = number, chunks[i]
		return nil
	})
}

// resize changes the number of chunks. Their numbers continue, so that readers do not take
// an old chunk for a new one.
func (r *reporter) resize(n int) {
	for i := range r.chunks {
		if i == len(r.spare) {
			r.spare = append(r.spare, written{})
		}
		r.spare[i] = r.chunks[i].written
	}
	r.chunks = make([]writtenRows, n)
	for i := range r.chunks {
		if i < len(r.spare) {
			r.chunks[i].written = r.spare[i]
			r.chunks[i].at = time.Time{} // forces a write
		}
	}
}

// publishParts writes the changed parts.
func (r *reporter) publishParts(ctx context.Context, s Documents, parts map[wire.SessionID]part, now time.Time) error {
	for id := range r.parts {
		if _, wanted := parts[id]; !wanted {
			delete(r.parts, id) // the document expires
		}
	}
	for id, p := range parts {
		p.Format, p.Process = format, r.process
		was := r.parts[id]
		if was == nil {
			was = &writtenPart{}
		}
		p.Number = 0
		plain := r.codec.part(p)
		if same := bytes.Equal(plain, was.plain); same && now.Sub(was.at) < partAgain {
			continue
		}
		p.Number = max(was.number+1, uint64(now.UnixMilli())) // above the number of an earlier interest
		if err := r.put(ctx, s, partName(r.self, id), r.codec.part(p), &was.written, partTTL, now); err != nil {
			return err
		}
		was.number, was.plain = p.Number, plain
		r.parts[id] = was
	}
	return nil
}

// put writes one of our documents. A conflict means that an earlier process wrote it or
// that it expired: put then reads the current version and writes again.
func (r *reporter) put(ctx context.Context, s Documents, name string, data []byte, was *written, ttl time.Duration, now time.Time) error {
	d := store.Document{Collection: collection, Name: name, Data: data, Version: was.version, TTL: ttl}
	version, err := s.Put(ctx, d)
	if errors.Is(err, store.ErrConflict) {
		there, gone := s.Get(ctx, collection, name)
		if gone != nil && !errors.Is(gone, store.ErrNotFound) {
			return fmt.Errorf("report: %w", gone)
		}
		d.Version = there.Version
		version, err = s.Put(ctx, d)
	}
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	was.version, was.at = version, now
	return nil
}

// countChunks returns the number of chunks for a number of rows. It keeps the previous
// number if that is close enough.
func countChunks(rows, before int) int {
	n := 1
	for n*chunkRows < rows && n < maxChunks {
		n *= 2
	}
	if before > n && rows > before*chunkRows/8 {
		return before
	}
	return n
}

// split distributes rows over chunks by the hash of their id, so that a row stays in its
// chunk.
func split(rows []Row, n int) [][]Row {
	chunks := make([][]Row, n)
	for i := range rows {
		h := fnv.New32a()
		_, _ = h.Write([]byte(rows[i].SessionID)) // never fails
		at := int(h.Sum32() % uint32(n))          //nolint:gosec // n is small
		chunks[at] = append(chunks[at], rows[i])
	}
	return chunks
}

// forEachConcurrently calls do for 0 to n-1, at most [maxConcurrentDocuments] at a time, and joins the errors.
func forEachConcurrently(n int, do func(int) error) error {
	var wg sync.WaitGroup
	failures := make([]error, n)
	next := make(chan int)
	for range min(n, maxConcurrentDocuments) {
		wg.Go(func() {
			for i := range next {
				failures[i] = do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	return errors.Join(failures...)
}
