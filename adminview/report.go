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

// How long what is reported stays in the store, and when it is written again
// although it is the same.
const (
	headTTL    = 6 * time.Second
	historyTTL = 30 * time.Second
	chunkTTL   = 30 * time.Second
	chunkAgain = 10 * time.Second
	partTTL    = 6 * time.Second
	partAgain  = 2 * time.Second
)

// atOnce is how many documents are read or written at the same time.
const atOnce = 8

// rowOf is what the owner of a session says of it.
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

// rowsOf are the rows of what is owned here, in the order of their ids.
func rowsOf(census []session.Status, owner wire.ReplicaID) []Row {
	rows := make([]Row, len(census))
	for i := range census {
		rows[i] = rowOf(&census[i], owner)
	}
	slices.SortFunc(rows, byID)
	return rows
}

func byID(a, b Row) int { return cmp.Compare(a.SessionID, b.SessionID) }

// reporter writes down what this replica knows, for those who look through others.
// It belongs to the goroutine of Run.
type reporter struct {
	self    wire.ReplicaID
	process string
	codec   codec
	number  uint64
	head    written
	history writtenHistory
	chunks  []writtenRows
	parts   map[wire.SessionID]*writtenPart
	spare   []written // the versions of chunks that there were once
}

// written is a document of ours in the store.
type written struct {
	version uint64
	number  uint64
	at      time.Time
}

type writtenHistory struct {
	written
	newest int64 // its number
}

type writtenRows struct {
	written
	rows []Row
}

type writtenPart struct {
	written
	plain []byte // what it says
}

func newReporter(self wire.ReplicaID) *reporter {
	return &reporter{self: self, process: rand.Text(), parts: map[wire.SessionID]*writtenPart{}}
}

// publish writes what has changed, the head last: it says what else there is.
func (r *reporter) publish(ctx context.Context, s Store, rows []Row, parts map[wire.SessionID]part, measured *memory, now time.Time) error {
	err := errors.Join(r.publishRows(ctx, s, rows, now), r.publishParts(ctx, s, parts, now), r.publishHistory(ctx, s, measured, now))
	if err != nil {
		return err // what is there is still true of itself
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

// publishHistory writes what was measured, when there is a point more.
func (r *reporter) publishHistory(ctx context.Context, s Store, measured *memory, now time.Time) error {
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

// publishRows writes the chunks that have changed.
func (r *reporter) publishRows(ctx context.Context, s Store, rows []Row, now time.Time) error {
	chunks := split(rows, countChunks(len(rows), len(r.chunks)))
	if len(chunks) != len(r.chunks) {
		r.resize(len(chunks))
	}
	return together(len(chunks), func(i int) error {
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

// resize changes how many chunks there are. Numbers go on, so that nobody takes an
// old chunk for a new one.
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
			r.chunks[i].at = time.Time{} // and so it is written
		}
	}
}

// publishParts writes the parts that have changed.
func (r *reporter) publishParts(ctx context.Context, s Store, parts map[wire.SessionID]part, now time.Time) error {
	for id := range r.parts {
		if _, wanted := parts[id]; !wanted {
			delete(r.parts, id) // it expires
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
		p.Number = max(was.number+1, uint64(now.UnixMilli())) // above that of an earlier look
		if err := r.put(ctx, s, partName(r.self, id), r.codec.part(p), &was.written, partTTL, now); err != nil {
			return err
		}
		was.number, was.plain = p.Number, plain
		r.parts[id] = was
	}
	return nil
}

// put writes a document of ours. Nobody else writes it but a process before us, or
// it has expired: then it is looked up what is there.
func (r *reporter) put(ctx context.Context, s Store, name string, data []byte, was *written, ttl time.Duration, now time.Time) error {
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

// countChunks is how many chunks so many rows make, when there were some before:
// as many, if that fits well enough.
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

// split puts rows into chunks in which each stays while it changes.
func split(rows []Row, n int) [][]Row {
	chunks := make([][]Row, n)
	for i := range rows {
		h := fnv.New32a()
		_, _ = h.Write([]byte(rows[i].SessionID)) // it never fails
		at := int(h.Sum32() % uint32(n))          //nolint:gosec // n is small
		chunks[at] = append(chunks[at], rows[i])
	}
	return chunks
}

// together does n things, a few at the same time, and returns what went wrong.
func together(n int, do func(int) error) error {
	var wg sync.WaitGroup
	failures := make([]error, n)
	next := make(chan int)
	for range min(n, atOnce) {
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
