package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Commit applies a batch. A lost connection is no reason to fail: the batch is
// sent again under its number, which Redis applies only once.
func (s *Store) Commit(ctx context.Context, l store.Lease, b store.Batch) (store.Receipt, error) {
	receipt, err := s.commit(ctx, l, b)
	if err != nil {
		return store.Receipt{}, fmt.Errorf("commit to session %s: %w", l.Session, err)
	}
	return receipt, nil
}

func (s *Store) commit(ctx context.Context, l store.Lease, b store.Batch) (store.Receipt, error) {
	if err := checkLease(l); err != nil {
		return store.Receipt{}, err
	}
	if err := s.limits.CheckBatch(l, b); err != nil {
		return store.Receipt{}, err
	}
	v, durable, err := s.committer.run(ctx, l, b)
	if err != nil {
		return store.Receipt{}, s.sessionError(ctx, l.Session, err)
	}
	if _, applied := v.(int64); applied {
		return store.Receipt{Top: topAfter(b), Durable: durable}, nil
	}
	r, err := parseReply(v)
	if err != nil {
		return store.Receipt{}, err
	}
	if r.word == "INDEX" {
		return store.Receipt{}, s.refusal(ctx, l.Session, r)
	}
	if r.word == "STATE" {
		return s.judge(ctx, l, b, r.text(0), durable)
	}
	// A session whose very state is broken may have been set aside before.
	err = s.quarantined(ctx, l.Session, "")
	if q, ok := errors.AsType[*store.QuarantinedError](err); ok && q.Reason == "" {
		err = s.refusal(ctx, l.Session, r)
	}
	return store.Receipt{}, cmp.Or(err, errReply)
}

// judge says what it means that a session is in another state than a batch
// follows.
func (s *Store) judge(
	ctx context.Context, l store.Lease, b store.Batch, text string, durable bool,
) (store.Receipt, error) {
	if strings.HasPrefix(text, "!") {
		return store.Receipt{}, s.quarantined(ctx, l.Session, lostReason)
	}
	if text == "" {
		return store.Receipt{}, store.ErrFenced // there is no such session
	}
	is, err := parseState(text)
	switch {
	case err != nil:
		return store.Receipt{}, s.corrupt(ctx, l.Session, err)
	case is.owner != l.Replica || is.epoch != l.Epoch:
		return store.Receipt{}, store.ErrFenced
	case is.number != b.Number:
		return store.Receipt{}, &store.GapError{Top: is.top, Number: is.number}
	}
	// Only the very same batch was touched, and so waited for, once more.
	return store.Receipt{Top: is.top, Durable: durable && is.top == topAfter(b)}, nil
}

func topAfter(b store.Batch) wire.Position {
	if len(b.Events) == 0 {
		return b.Prev
	}
	_, top := store.NextPositions(b.Prev, len(b.Events))
	return top
}

// write is a batch on its way: its keys and arguments for commit.lua, which
// share no memory with the batch, because the caller may leave before they are
// sent.
type write struct {
	partition uint16
	keys      []string
	args      []any
	entry     []byte // of the log, nil if there are no events
	at        string // the entry's id
	size      int
	durable   bool
}

// meta and log are the first of a write's keys.
func (w *write) meta() string { return w.keys[0] }
func (w *write) log() string  { return w.keys[1] }

func (s *Store) encode(l store.Lease, b store.Batch) *write {
	k := s.keys.session(l.Session)
	entry, bytes := s.encodeEntry(b)
	top := topAfter(b)
	w := &write{
		partition: k.partition,
		keys:      []string{k.meta(), k.log()},
		args: []any{
			stateText(l, b.Number-1, b.Prev), stateText(l, b.Number, top), b.Prev.String(), len(b.Events)<<32 + bytes, 0,
		},
		entry: entry, at: top.String(), size: len(entry), durable: b.Durable,
	}
	if b.Card != nil || b.Working != nil || len(b.Ops)+len(b.Consumed) > 0 {
		s.encodeMore(w, k, l.Session, b)
	}
	return w
}

// encodeEntry returns the log entry of a batch and the bytes of its frames:
// a line `c <prev> <events> <bytes>`, then the frames, joined by line breaks and
// sealed. The line lets scripts count without opening the seal.
func (s *Store) encodeEntry(b store.Batch) (entry []byte, frameBytes int) {
	if len(b.Events) == 0 {
		return nil, 0
	}
	for _, f := range b.Events {
		frameBytes += len(f)
	}
	const headerBytes = 96
	entry = s.buffers.get(headerBytes + s.sealLen + frameBytes + len(b.Events))
	entry = append(b.Prev.Append(append(entry, "c "...)), ' ')
	entry = append(strconv.AppendInt(entry, int64(len(b.Events)), 10), ' ')
	entry = append(strconv.AppendInt(entry, int64(frameBytes), 10), '\n')
	header := len(entry)
	// The frames are joined where the seal will have them, which saves a copy.
	entry = append(entry, make([]byte, s.sealLen)...)
	for i, f := range b.Events {
		if i > 0 {
			entry = append(entry, '\n')
		}
		entry = append(entry, f...)
	}
	return s.schema.Seal(entry[:header], entry[header+s.sealLen:]), frameBytes
}

// encodeMore adds what a batch has beside events.
func (s *Store) encodeMore(w *write, k sessionKeys, id wire.SessionID, b store.Batch) {
	var card []byte
	if b.Card != nil {
		card = s.schema.Seal(nil, b.Card)
		w.size += len(card)
	}
	working := ""
	if b.Working != nil {
		working = "0"
		if *b.Working {
			working = "1"
		}
	}
	w.keys = append(w.keys, k.working(), k.names(), k.inbox(), k.ids(), k.done())
	numbers := map[string]int{}
	var names, ops []any
	for _, op := range b.Ops {
		name := structureName(op)
		if numbers[name] == 0 {
			w.keys = append(w.keys, k.structure(name))
			names = append(names, name)
			numbers[name] = len(names)
		}
		ops = s.appendOp(append(ops, opLetter(op.Kind), numbers[name]), op)
		for _, v := range op.Values {
			w.size += len(v)
		}
	}
	simple := len(w.args)
	w.args = append(w.args, string(id), card, working, len(names), len(b.Consumed))
	w.args = append(w.args, names...)
	for _, id := range b.Consumed {
		w.args = append(w.args, id)
	}
	w.args = append(w.args, ops...)
	w.args[simple-1] = len(w.args) - simple
}

func structureName(op store.Op) string {
	switch op.Kind {
	case store.OpSet, store.OpUnset, store.OpClear:
		return tableName(op.Name)
	default:
		return listName(op.Name)
	}
}

// opLetter is what commit.lua calls an op.
func opLetter(k store.OpKind) string {
	return map[store.OpKind]string{
		store.OpSet: "S", store.OpUnset: "U", store.OpClear: "D", store.OpPush: "P",
		store.OpReplace: "R", store.OpKeepLast: "K", store.OpKeepFirst: "F", store.OpDrop: "D",
	}[k]
}

// appendOp adds what commit.lua needs to know of an op.
func (s *Store) appendOp(args []any, op store.Op) []any {
	switch op.Kind {
	case store.OpSet:
		args = append(args, op.Field)
	case store.OpUnset:
		args = append(args, op.Field)
	case store.OpPush:
		args = append(args, len(op.Values))
	case store.OpReplace, store.OpKeepLast, store.OpKeepFirst:
		args = append(args, op.N)
	}
	for _, v := range op.Values {
		args = append(args, s.schema.Seal(nil, v))
	}
	return args
}
