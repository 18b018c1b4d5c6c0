package redisstore

import (
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // a checksum that Redis can make, not a secret
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// logReader reads the logs of sessions.
type logReader struct {
	*caller
	calls  *sessionCaller
	codec  *codec
	packer *packer
}

// Read returns the events after a cursor in order, in one round trip. A cursor without an
// event is [store.ErrTrimmed], [store.ErrUnknownPosition] or [store.ErrAhead].
func (s *Sessions) Read(ctx context.Context, session wire.SessionID, after wire.Position, limit int) ([]store.Event, error) {
	p, err := s.reader.read(ctx, session, after, limit)
	return p.events, err
}

// logPage is a part of a log, with the end and the owner of the log at that time.
type logPage struct {
	events []store.Event
	top    wire.Position
	owner  string
}

func (l *logReader) read(ctx context.Context, session wire.SessionID, after wire.Position, limit int) (logPage, error) {
	const what = "read log of session"
	if err := session.Validate(); err != nil {
		return logPage{}, fmt.Errorf("%s: %w", what, err)
	}
	k := l.keys.session(session)
	limit = store.PageLimit(limit)
	r, err := l.calls.callSession(ctx, what, retryable, session, l.scripts.read, []string{k.meta(), k.log(), k.pack()},
		strconv.FormatUint(after.Epoch, 10), strconv.FormatUint(after.Seq, 10), limit)
	if err == nil && r.word == "PACKED" {
		r, err = l.readPacked(ctx, session, after, limit, r)
	}
	if err != nil {
		return logPage{}, err
	}
	switch r.word {
	case "TRIMMED":
		return logPage{}, fmt.Errorf("%s %s after %v: %w", what, session, after, store.ErrTrimmed)
	case "AHEAD":
		return logPage{}, fmt.Errorf("%s %s after %v: %w", what, session, after, store.ErrAhead)
	case "UNKNOWN":
		return logPage{}, fmt.Errorf("%s %s after %v: %w", what, session, after, store.ErrUnknownPosition)
	}
	page, err := l.codec.decodePage(session, after, limit, r)
	if err != nil {
		return logPage{}, fmt.Errorf("%s %s: %w", what, session, l.calls.handleCorrupt(ctx, session, err))
	}
	return page, nil
}

// readPacked returns what read.lua would return if the session were not packed.
func (l *logReader) readPacked(ctx context.Context, session wire.SessionID, after wire.Position, limit int, r reply) (reply, error) {
	content, top, err := l.packer.open(ctx, session, r)
	if err == nil {
		r, err = l.codec.entriesAfter(session, content, top, after, limit)
	}
	if err != nil {
		return reply{}, fmt.Errorf("read log of session %s: %w", session, l.calls.handleCorrupt(ctx, session, err))
	}
	return r, nil
}

func (c *codec) decodePage(session wire.SessionID, after wire.Position, limit int, r reply) (logPage, error) {
	top, err := r.position(0)
	if err != nil {
		return logPage{}, &store.CorruptError{Where: "top of the log", Reason: err.Error()}
	}
	page := logPage{top: top, owner: r.text(1), events: make([]store.Event, 0, limit)}
	for _, v := range r.args[2:] {
		id, data, ok := streamEntry(v)
		if !ok {
			return logPage{}, &store.CorruptError{Where: "entry of the log", Reason: "unknown format"}
		}
		news, err := c.decodeEntry(session, data)
		if err == nil && news.top.String() != id {
			err = &store.CorruptError{Where: "entry " + id, Reason: "made for " + news.top.String()}
		}
		if err != nil {
			return logPage{}, err
		}
		page.events = append(page.events, news.after(after)...)
	}
	if len(page.events) > limit {
		page.events = page.events[:limit:limit]
	}
	return page, nil
}

// streamEntry parses an entry with one field from a reply of XRANGE.
func streamEntry(v any) (id, data string, ok bool) {
	entry, _ := v.([]any)
	if len(entry) != 2 {
		return "", "", false
	}
	id, _ = entry[0].(string)
	fields, _ := entry[1].([]any)
	if len(fields) != 2 {
		return "", "", false
	}
	data, ok = fields[1].(string)
	return id, data, ok
}

// news is a decoded log entry or another message about a session.
type news struct {
	kind      byte // one of the constants below
	prev, top wire.Position
	events    []store.Event
}

const (
	newsCommit  = 'c' // a batch
	newsOwner   = 'o' // a claim
	newsVacant  = 'v' // a release
	newsDeleted = 'x' // a deletion
)

// after returns the events after a position.
func (n news) after(p wire.Position) []store.Event {
	for i, e := range n.events {
		if e.At.Compare(p) > 0 {
			return n.events[i:]
		}
	}
	return nil
}

// decodeEntry decodes a log entry, which is also the format of published batches.
func (c *codec) decodeEntry(session wire.SessionID, data string) (news, error) {
	line, rest, _ := strings.Cut(data, "\n")
	bad := func(reason string) (news, error) {
		return news{}, &store.CorruptError{Where: fmt.Sprintf("entry %.64q of the log", line), Reason: reason}
	}
	words := strings.Split(line, " ")
	if len(words) != 4 || len(words[0]) != 1 {
		return bad("not an entry")
	}
	prev, err := wire.ParsePosition(words[1])
	if err != nil {
		return bad(err.Error())
	}
	count, err := strconv.Atoi(words[2])
	if err != nil {
		return bad(err.Error())
	}
	if count < 1 || count > len(rest)+1 {
		return bad(fmt.Sprintf("cannot hold %d events", count))
	}
	n := news{kind: words[0][0], prev: prev}
	switch n.kind {
	case newsOwner:
		e, err := decodeClaim(session, prev, rest)
		if err != nil {
			return bad(err.Error())
		}
		n.top, n.events = e.At, []store.Event{e}
	case newsCommit:
		first, top := store.NextPositions(prev, count)
		frames, err := c.schema.Open(store.KindEntry, top.String(), []byte(rest))
		if err != nil {
			return news{}, err
		}
		n.top = top
		n.events = make([]store.Event, 0, count)
		at := first
		for f := range bytes.SplitSeq(frames, []byte{'\n'}) {
			n.events = append(n.events, store.Event{At: at, Frame: slices.Clip(f)})
			at.Seq++
		}
	default:
		return bad("of an unknown kind")
	}
	if len(n.events) != count {
		return bad(fmt.Sprintf("holds %d events", len(n.events)))
	}
	return n, nil
}

// decodeClaim returns the event of a claim from the entry written by claim.lua: a SHA-1 and
// `<replica> <prev> <ms> <epoch>`.
func decodeClaim(session wire.SessionID, prev wire.Position, text string) (store.Event, error) {
	sum, facts, _ := strings.Cut(text, " ")
	want := sha1.Sum([]byte(facts)) //nolint:gosec // a checksum
	if sum != hex.EncodeToString(want[:]) {
		return store.Event{}, fmt.Errorf("%w: checksum does not match", store.ErrCorrupt)
	}
	var replica, before string
	var ms int64
	var epoch uint64
	if _, err := fmt.Sscanf(facts, "%s %s %d %d", &replica, &before, &ms, &epoch); err != nil {
		return store.Event{}, fmt.Errorf("claim: %w", err)
	}
	if before != prev.String() {
		return store.Event{}, fmt.Errorf("%w: follows %v and %s", store.ErrCorrupt, prev, before)
	}
	lease := store.Lease{Session: session, Replica: wire.ReplicaID(replica), Epoch: epoch, Prev: prev}
	return store.ClaimEvent(lease, time.UnixMilli(ms)), nil
}
