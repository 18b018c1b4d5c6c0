package redisstore

import (
	"errors"
	"testing"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// FuzzStored reads anything at all as what is stored of a session. It is read, or
// refused as corrupt or too new, and what is read is what was asked for.
func FuzzStored(f *testing.F) {
	c, documents := newCodec(keyspace{}, store.Schema{}), &Documents{caller: &caller{}}
	entry, _ := c.appendEntry(nil, store.Batch{Prev: wire.Position{Epoch: 7, Seq: 3}, Events: [][]byte{[]byte("one"), []byte("two")}})
	f.Add(string(entry))
	f.Add("c 7-3 -2 6\n" + string(c.schema.Seal(nil, []byte("one\ntwo"))))
	f.Add("c 7-3 99999999999999 6\n" + string(c.schema.Seal(nil, []byte("one\ntwo"))))
	f.Add("o 7-3 1 6\nda39a3ee5e6b4b0d3255bfef95601890afd80709 r 7-3 1 2")
	f.Add("!hub-1 7 4 7-9")
	f.Add("0 " + time.Now().String())
	f.Fuzz(func(t *testing.T, text string) {
		if n, err := c.decodeEntry("s", text); err == nil && (len(n.events) == 0 || n.events[len(n.events)-1].At != n.top) {
			t.Errorf("entry %q is read as %+v, want events that end at its top", text, n)
		} else if err != nil && !errors.Is(err, store.ErrCorrupt) && !errors.Is(err, store.ErrNewerSchema) {
			t.Errorf("entry %q is refused with %v, want %v or %v", text, err, store.ErrCorrupt, store.ErrNewerSchema)
		}
		if state, err := parseState(text); err == nil {
			lease := store.Lease{Replica: state.owner, Epoch: state.epoch}
			if again, err := parseState(string(state.top.Append(appendState(nil, lease, state.number)))); err != nil || again != state {
				t.Errorf("state %q is read as %+v and then as %+v, error %v, want the same", text, state, again, err)
			}
		}
		var info store.Info
		_ = fillInfo(&info, map[string]string{"state": text, "oldest": text, "created": text, "updated": text, "until": text}, nil)
		_, _, _ = parseCursor(text)
		values := []any{"OK", text, []any{text, []any{"d", text}}, []any{text}, int64(1), nil}
		r, err := parseReply(values)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = c.decodePage("s", wire.Position{}, 10, reply{word: r.word, args: append([]any{text, text}, r.args...)})
		_, _ = c.decodeState([]string{"t:a", "l:b"}, reply{args: []any{text, []any{"f", text}, []any{text}}})
		_, _ = documents.openDocument(store.Document{}, reply{args: []any{text, text, text}})
	})
}
