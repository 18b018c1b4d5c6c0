package audit

import (
	"context"
	"fmt"
	"strings"

	"github.com/everdesk/everdesk/store"
)

// maxScanPages bounds the pages of the chain that one call of List scans for matches.
const maxScanPages = 20

// Query selects records. Empty fields match all.
type Query struct {
	Who, Action string
	// Target also matches targets within it: that of a session matches its agents.
	Target string
	// After is the Next of the previous page; Limit follows [store.PageLimit].
	After string
	Limit int
}

func (q *Query) matches(r *Record) bool {
	return (q.Who == "" || q.Who == r.Who) && (q.Action == "" || q.Action == r.Action) &&
		(q.Target == "" || q.Target == r.Target || strings.HasPrefix(r.Target, q.Target+"/"))
}

// List returns a page of records, the newest first. Unreadable records are omitted. A page
// may be empty and still have a Next.
func (l *Log) List(ctx context.Context, q Query) (store.Page[Record], error) {
	var page store.Page[Record]
	for range maxScanPages {
		found, err := l.docs.Documents(ctx, chain, q.After, q.Limit)
		if err != nil {
			return page, fmt.Errorf("list audit records: %w", err)
		}
		for _, d := range found.Items {
			if r, err := read(d); err == nil && q.matches(&r) {
				page.Items = append(page.Items, r)
			}
		}
		page.Next, q.After = found.Next, found.Next
		if page.Next == "" || len(page.Items) > 0 {
			break
		}
	}
	return page, nil
}

// Break is a place at which the chain is broken.
type Break struct {
	// Seq is the first record that differs from what was written, Why describes the
	// difference.
	Seq uint64
	Why string
}

// VerifyResult is the result of [Log.Verify].
type VerifyResult struct {
	Records int
	// Head is the newest record; zero if there is none. Comparing it with a value noted
	// earlier, or with the hub's logs, reveals that newer records were removed.
	Head Record
	// Broken is the oldest break, or nil.
	Broken *Break
}

// Verify checks the whole chain for records that are missing, altered or linked
// differently. Missing newest records are detected only if they were added through this
// Log; the hub's logs have the hashes of all.
func (l *Log) Verify(ctx context.Context) (VerifyResult, error) {
	w := walk{}
	l.mu.Lock()
	w.lastAdded = l.newest
	l.mu.Unlock()
	for after := ""; ; {
		page, err := l.docs.Documents(ctx, chain, after, 0)
		if err != nil {
			return VerifyResult{}, fmt.Errorf("verify audit log: %w", err)
		}
		for _, d := range page.Items {
			w.checkRecord(d)
		}
		if after = page.Next; after == "" {
			w.end()
			return w.VerifyResult, nil
		}
	}
}

// walk checks the records from the newest to the oldest.
type walk struct {
	VerifyResult
	lastAdded Record // newest record added through this Log
	seq       uint64 // number of the previously checked record, which is the later one in the chain
	prev      string // Prev of that record
	// intact reports that its hash matches, so that prev can be trusted.
	intact bool
}

func (w *walk) setBreak(seq uint64, why string) { w.Broken = &Break{seq, why} }

func (w *walk) checkRecord(d store.Document) {
	w.Records++
	seq := seqOf(d.Name)
	if seq == 0 {
		w.setBreak(0, fmt.Sprintf("record %q has no sequence number", d.Name))
		return
	}
	first := w.seq == 0
	switch {
	case first && seq < w.lastAdded.Seq:
		w.setBreak(w.lastAdded.Seq, "it is missing: this replica added it")
	case !first && seq != w.seq-1:
		w.setBreak(seq+1, "it is missing")
	}
	linked := !first && seq == w.seq-1 && w.intact
	r, err := read(d)
	if first {
		w.Head = r
	}
	wanted := w.prev
	w.seq, w.prev = seq, r.Prev
	w.intact = err == nil && r.Seq == seq && r.Hash == r.sum()
	switch {
	case err != nil:
		w.setBreak(seq, "it was altered: it is unreadable")
	case r.Seq != seq:
		w.setBreak(seq, fmt.Sprintf("it was altered: it says that it is %d", r.Seq))
	case !w.intact:
		w.setBreak(seq, "it was altered: its hash is another")
	case linked && wanted != r.Hash:
		w.setBreak(seq, "it was replaced: the one after it has another hash for it")
	case seq == w.lastAdded.Seq && r.Hash != w.lastAdded.Hash:
		w.setBreak(seq, "it was replaced: this replica added another")
	case seq == 1 && r.Prev != "":
		w.setBreak(seq, "it is the first and names one before it")
	}
}

func (w *walk) end() {
	switch {
	case w.seq > 1:
		w.setBreak(1, "it is missing")
	case w.seq == 0 && w.lastAdded.Seq > 0:
		w.setBreak(w.lastAdded.Seq, "it is missing: this replica added it")
	}
}
