package audit

import (
	"context"
	"fmt"
	"strings"

	"github.com/everdesk/everdesk/store"
)

// scanPages is how many pages are looked through for one of a listing that wants only
// some.
const scanPages = 20

// Query says which records are wanted. What is empty is any.
type Query struct {
	Who, Action string
	// Target also finds what is in it: that of a session finds its agents.
	Target string
	// After is the Next of the page before; Limit follows [store.PageLimit].
	After string
	Limit int
}

func (q *Query) wants(r *Record) bool {
	return (q.Who == "" || q.Who == r.Who) && (q.Action == "" || q.Action == r.Action) &&
		(q.Target == "" || q.Target == r.Target || strings.HasPrefix(r.Target, q.Target+"/"))
}

// List shows a page of records, the newest first. Records that cannot be read are left
// out. A page may be empty and still have a Next.
func (b *Log) List(ctx context.Context, q Query) (store.Page[Record], error) {
	var page store.Page[Record]
	for range scanPages {
		found, err := b.docs.Documents(ctx, chain, q.After, q.Limit)
		if err != nil {
			return page, fmt.Errorf("list audit records: %w", err)
		}
		for _, d := range found.Items {
			if r, err := read(d); err == nil && q.wants(&r) {
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

// Break is where a chain is broken.
type Break struct {
	// Seq is the first record that is not as it was written, and Why says how.
	Seq uint64
	Why string
}

// Verdict is what [Book.Verify] found.
type Verdict struct {
	Records int
	// Head is the newest record; zero when there is none. Who has noted it, or finds
	// it in the logs, knows later whether it is there still.
	Head Record
	// Broken is the oldest break, or nil.
	Broken *Break
}

// Verify walks the whole chain. It finds records that are missing, altered or linked to
// others than before. That the newest are missing is found only for those that were
// added through this book; the logs have the hashes of all.
func (b *Log) Verify(ctx context.Context) (Verdict, error) {
	w := walk{}
	b.mu.Lock()
	w.mine = b.last
	b.mu.Unlock()
	for after := ""; ; {
		page, err := b.docs.Documents(ctx, chain, after, 0)
		if err != nil {
			return Verdict{}, fmt.Errorf("verify the audit: %w", err)
		}
		for _, d := range page.Items {
			w.see(d)
		}
		if after = page.Next; after == "" {
			w.end()
			return w.Verdict, nil
		}
	}
}

// walk goes from the newest record to the oldest.
type walk struct {
	Verdict
	mine Record // what is known to have been there
	seq  uint64 // of the record before in the walk, which is the one after in the chain
	prev string // what that says is the hash of the next
	// sound says that it is as it was written, so that what it says counts.
	sound bool
}

func (w *walk) fail(seq uint64, why string) { w.Broken = &Break{seq, why} }

func (w *walk) see(d store.Document) {
	w.Records++
	seq := number(d.Name)
	if seq == 0 {
		w.fail(0, fmt.Sprintf("there is a record %q that has no place", d.Name))
		return
	}
	first := w.seq == 0
	switch {
	case first && seq < w.mine.Seq:
		w.fail(w.mine.Seq, "it is missing: this replica added it")
	case !first && seq != w.seq-1:
		w.fail(seq+1, "it is missing")
	}
	linked := !first && seq == w.seq-1 && w.sound
	r, err := read(d)
	if first {
		w.Head = r
	}
	wanted := w.prev
	w.seq, w.prev = seq, r.Prev
	w.sound = err == nil && r.Seq == seq && r.Hash == r.sum()
	switch {
	case err != nil:
		w.fail(seq, "it was altered: it cannot be read")
	case r.Seq != seq:
		w.fail(seq, fmt.Sprintf("it was altered: it says that it is %d", r.Seq))
	case !w.sound:
		w.fail(seq, "it was altered: its hash is another")
	case linked && wanted != r.Hash:
		w.fail(seq, "it was replaced: the one after it has another hash for it")
	case seq == w.mine.Seq && r.Hash != w.mine.Hash:
		w.fail(seq, "it was replaced: this replica added another")
	case seq == 1 && r.Prev != "":
		w.fail(seq, "it is the first and names one before it")
	}
}

func (w *walk) end() {
	switch {
	case w.seq > 1:
		w.fail(1, "it is missing")
	case w.seq == 0 && w.mine.Seq > 0:
		w.fail(w.mine.Seq, "it is missing: this replica added it")
	}
}
