package redisstore

import (
	"context"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// write is a batch being committed: its keys and arguments for commit.lua, its log entry,
// and the result. It shares no memory with the batch, because the caller may return before
// it is sent.
//
// Writes are pooled with all their memory: with hundreds of sessions committing at once,
// garbage collection would cost more than the commits.
type write struct {
	session    wire.SessionID
	partition  uint16
	size       int
	text       []byte // backing array of keys and args
	keys, args []arg
	structures []structure // touched by the ops; used while encoding
	log, at    arg         // the log's key and the entry's id
	entry      arg         // log entry, empty without events
	add, lock  *redis.StatusCmd

	done       chan struct{} // buffered; receives a token when the results below are set
	value      any
	replicated bool // a second node has the batch
	// republishing means that the entry is being published again, so the write is not reused.
	republishing bool
	err          error
}

// arg is an argument of a command. go-redis encodes a pointer to it without copying.
type arg []byte

// MarshalBinary returns the bytes to go-redis.
func (w *arg) MarshalBinary() ([]byte, error) { return *w, nil }

// structure is a table or a list.
type structure struct {
	list bool
	name string
}

// maxPooledBytes is the largest capacity of a write that is returned to the pool.
const maxPooledBytes = 64 << 10

func newWrite(ctx context.Context) *write {
	w := &write{done: make(chan struct{}, 1)}
	w.add = redis.NewStatusCmd(ctx, "xadd", &w.log, "nomkstream", &w.at, "d", &w.entry)
	w.lock = redis.NewStatusCmd(ctx, "xsetid", &w.log, lockedID)
	return w
}

// getWrite returns a write that holds the encoded batch.
func (c *committer) getWrite(l store.Lease, b store.Batch) *write {
	w, ok := c.writes.Get().(*write)
	if !ok {
		w = newWrite(c.runCtx)
	}
	c.codec.encode(w, l, b)
	return w
}

// putWrite returns a write to the pool. No other goroutine may use it.
func (c *committer) putWrite(w *write) {
	if cap(w.entry)+cap(w.text) <= maxPooledBytes {
		c.writes.Put(w)
	}
}

// codec encodes batches for commit.lua and decodes what the scripts return.
type codec struct {
	keys    keyspace
	schema  store.Schema
	sealLen int // bytes that sealing adds to a value
}

func newCodec(keys keyspace, schema store.Schema) *codec {
	return &codec{keys: keys, schema: schema, sealLen: len(schema.Seal(nil, nil))}
}

// encode encodes a batch into w.
func (c *codec) encode(w *write, l store.Lease, b store.Batch) {
	w.session, w.partition = l.Session, partition(string(l.Session))
	w.keys, w.args = w.keys[:0], w.args[:0]
	w.text = c.keys.appendAt(w.text[:0], w.partition, "s", string(l.Session), "")
	base := len(w.text)
	w.text = append(w.text, "meta"...)
	w.keys = append(w.keys, w.textFrom(0))
	w.addKey(base, "", "log")
	w.log = w.keys[1]

	var bytes int
	w.entry, bytes = c.appendEntry(w.entry[:0], b)
	prev := w.addState(l, b.Number-1, b.Prev)
	w.at = w.addState(l, b.Number, topAfter(b))
	w.args = append(w.args, prev)
	w.addInt(len(b.Events)<<32 + bytes)
	further := len(w.args)
	w.args = append(w.args, nil) // placeholder for the number of further arguments
	if b.Card != nil || b.Working != nil || b.User != "" || len(b.Ops)+len(b.Consumed) > 0 {
		c.encodeChanges(w, base, b)
	}
	w.args[further] = w.digits(len(w.args) - further - 1)
	w.size = len(w.entry) + len(w.text)
}

// appendEntry appends the log entry of a batch and returns the bytes of its frames. The
// entry is a line `c <prev> <events> <bytes>`, then the frames, joined by line breaks and
// sealed. The line lets scripts count without opening the seal.
func (c *codec) appendEntry(entry []byte, b store.Batch) (_ []byte, frameBytes int) {
	if len(b.Events) == 0 {
		return entry, 0
	}
	for _, f := range b.Events {
		frameBytes += len(f)
	}
	const headerBytes = 96
	entry = slices.Grow(entry, headerBytes+c.sealLen+frameBytes+len(b.Events))
	entry = append(b.Prev.Append(append(entry, "c "...)), ' ')
	entry = append(strconv.AppendInt(entry, int64(len(b.Events)), 10), ' ')
	entry = append(strconv.AppendInt(entry, int64(frameBytes), 10), '\n')
	header := len(entry)
	// The frames are joined at their place in the sealed value, which saves a copy.
	entry = append(entry, make([]byte, c.sealLen)...)
	for i, f := range b.Events {
		if i > 0 {
			entry = append(entry, '\n')
		}
		entry = append(entry, f...)
	}
	return c.schema.Seal(entry[:header], entry[header+c.sealLen:]), frameBytes
}

// encodeChanges adds the card, the working flag, the consumed ids and the ops of a batch.
func (c *codec) encodeChanges(w *write, base int, b store.Batch) {
	for i := range b.Ops {
		if st := structureOf(&b.Ops[i]); !slices.Contains(w.structures, st) {
			w.structures = append(w.structures, st)
		}
	}
	from := len(w.text)
	if b.Card != nil {
		w.text = c.schema.Seal(w.text, b.Card)
	}
	w.args = append(w.args, w.textFrom(from))
	from = len(w.text)
	if b.Working != nil {
		w.text = append(append(w.text, workingDigit(*b.Working)), w.session...)
	}
	w.args = append(w.args, w.textFrom(from))
	w.addInt(len(w.structures))
	w.addInt(len(b.Consumed))
	w.addOptionalKeys(base, c.keys, b)
	for _, st := range w.structures {
		w.addArg(st.prefix(), st.name)
	}
	for _, id := range b.Consumed {
		w.addArg("", id)
	}
	for i := range b.Ops {
		c.encodeOp(w, &b.Ops[i])
	}
	if b.User != "" {
		w.addArg("", "O")
		w.addInt(1 + len(w.structures) - len(w.keys)) // the number of the first key, as commit.lua counts structures
		w.addArg("", b.User)
	}
	clear(w.structures) // release the caller's strings
	w.structures = w.structures[:0]
}

func workingDigit(working bool) byte {
	if working {
		return '1'
	}
	return '0'
}

// addOptionalKeys adds the keys that the batch touches besides meta and log.
func (w *write) addOptionalKeys(base int, k keyspace, b store.Batch) {
	if b.Working != nil {
		from := len(w.text)
		w.text = k.appendAt(w.text, w.partition, "working")
		w.keys = append(w.keys, w.textFrom(from))
	}
	if len(w.structures) > 0 {
		w.addKey(base, "", "names")
	}
	if len(b.Consumed) > 0 {
		w.addKey(base, "", "inbox")
		w.addKey(base, "", "ids")
		w.addKey(base, "", "done")
	}
	for _, st := range w.structures {
		w.addKey(base, st.prefix(), st.name)
	}
}

// encodeOp adds the arguments of an op for commit.lua.
func (c *codec) encodeOp(w *write, op *store.Op) {
	w.addArg("", opLetter(op.Kind))
	w.addInt(1 + slices.Index(w.structures, structureOf(op)))
	switch op.Kind {
	case store.OpSet, store.OpUnset:
		w.addArg("", op.Field)
	case store.OpPush:
		w.addInt(len(op.Values))
	case store.OpReplace, store.OpKeepLast, store.OpKeepFirst:
		w.addInt(op.N)
	}
	for _, v := range op.Values {
		from := len(w.text)
		w.text = c.schema.SealAs(w.text, v, op.Schema)
		w.args = append(w.args, w.textFrom(from))
	}
}

func structureOf(op *store.Op) structure {
	switch op.Kind {
	case store.OpSet, store.OpUnset, store.OpClear:
		return structure{name: op.Name}
	default:
		return structure{list: true, name: op.Name}
	}
}

// prefix returns the prefix of the structure's name in Redis.
func (s structure) prefix() string {
	if s.list {
		return listName("")
	}
	return tableName("")
}

// opLetter returns the name of an op in commit.lua.
func opLetter(k store.OpKind) string {
	switch k {
	case store.OpSet:
		return "S"
	case store.OpUnset:
		return "U"
	case store.OpPush:
		return "P"
	case store.OpReplace:
		return "R"
	case store.OpKeepLast:
		return "K"
	case store.OpKeepFirst:
		return "F"
	default: // OpClear, OpDrop
		return "D"
	}
}

// textFrom returns the text from an offset on as an argument. Growing the text does not
// change it.
func (w *write) textFrom(from int) arg { return w.text[from:len(w.text):len(w.text)] }

// addKey adds a key of the session, whose base is the first bytes of the text.
func (w *write) addKey(base int, prefix, name string) {
	from := len(w.text)
	w.text = append(append(append(w.text, w.text[:base]...), prefix...), name...)
	w.keys = append(w.keys, w.textFrom(from))
}

func (w *write) addArg(prefix, rest string) {
	from := len(w.text)
	w.text = append(append(w.text, prefix...), rest...)
	w.args = append(w.args, w.textFrom(from))
}

func (w *write) addInt(n int) { w.args = append(w.args, w.digits(n)) }

func (w *write) digits(n int) arg {
	from := len(w.text)
	w.text = strconv.AppendInt(w.text, int64(n), 10)
	return w.textFrom(from)
}

// addState adds the state of a session after a batch as an argument. It returns its last
// part, the position.
func (w *write) addState(l store.Lease, number uint64, top wire.Position) (position arg) {
	from := len(w.text)
	w.text = appendState(w.text, l, number)
	end := len(w.text)
	w.text = top.Append(w.text)
	w.args = append(w.args, w.textFrom(from))
	return w.textFrom(end)
}
