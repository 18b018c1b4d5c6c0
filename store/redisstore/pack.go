package redisstore

import (
	"context"
	"crypto/sha1" //nolint:gosec // a checksum that Redis can make, not a secret
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// packer replaces the keys of dormant sessions by one compressed value, and back.
type packer struct {
	*caller
	calls     *sessionCaller
	codec     *codec
	objects   Objects // nil if there are none
	storage   *storage
	deflaters deflaters
	// marked says that the format of the store allows packs.
	marked atomic.Bool
}

// Pack ends a lease like Release. It replaces the log, tables and lists of the session by one
// compressed value, unless there are commands in the inbox, the session is quarantined or its
// content is larger than maxPackedBytes. Reads take the content from that value; Claim and Send
// restore the keys. One script removes the keys, and one restores them, so there are no states
// in between. [store.ErrFenced] if the lease is not the current one.
func (s *Sessions) Pack(ctx context.Context, l store.Lease) error {
	if err := checkLease(l); err != nil {
		return fmt.Errorf("pack session: %w", err)
	}
	done, err := s.packer.pack(ctx, l)
	if done || errors.Is(err, store.ErrFenced) {
		return err
	}
	if err != nil {
		s.log.WarnContext(ctx, "session not packed", "session", l.Session, "err", err)
	}
	l.Heir = ""
	return s.Release(ctx, l)
}

// pack reports whether it packed the session, which has ended the lease.
func (p *packer) pack(ctx context.Context, l store.Lease) (bool, error) {
	const what = "pack session"
	k := p.keys.session(l.Session)
	known, err := p.calls.structures(ctx, what, l.Session)
	if err != nil {
		return false, err
	}
	slices.Sort(known.names)
	keys := []string{k.meta(), k.log(), k.inbox(), k.ids(), k.done()}
	args := []any{string(l.Replica), epochText(l), known.version, maxPackedBytes}
	for _, name := range known.names {
		keys = append(keys, k.structure(name))
		args = append(args, name[:1])
	}
	r, err := p.calls.callSession(ctx, what, retryable, l.Session, p.scripts.gather, keys, args...)
	if err != nil || r.word != "OK" {
		return false, err
	}
	content, err := packedOf(known.names, r)
	if err != nil {
		return false, fmt.Errorf("%s %s: %w", what, l.Session, err)
	}
	value, err := p.deflaters.encode(content)
	if err != nil {
		return false, fmt.Errorf("%s %s: %w", what, l.Session, err)
	}
	if err := p.markFormat(ctx); err != nil {
		return false, err
	}
	gone := []string{k.inbox(), k.log(), k.ids(), k.done(), k.names()}
	for _, name := range known.names {
		gone = append(gone, k.structure(name))
	}
	r, err = p.calls.callSession(ctx, what, notRetryable, l.Session, p.scripts.pack,
		append([]string{k.meta(), k.pack(), k.working()}, gone...), string(l.Session), r.text(0), value)
	return err == nil && r.word == "OK", err
}

// packedOf returns the content that gather.lua has read.
func packedOf(names []string, r reply) (*packed, error) {
	if len(r.args) != 4+len(names) {
		return nil, errReply
	}
	content := &packed{ids: textsOf(r.args[2]), done: textsOf(r.args[3])}
	entries, _ := r.args[1].([]any)
	for _, v := range entries {
		id, data, ok := streamEntry(v)
		if !ok {
			return nil, errReply
		}
		content.log = append(content.log, id, data)
	}
	for i, name := range names {
		content.structures = append(content.structures, packedStructure{name: name, items: textsOf(r.args[4+i])})
	}
	return content, nil
}

func textsOf(v any) []string {
	list, _ := v.([]any)
	texts := make([]string, len(list))
	for i := range list {
		texts[i], _ = list[i].(string)
	}
	return texts
}

// markFormat stores, before the first pack, that the store has packs: programs that do not know
// packs refuse it then.
func (p *packer) markFormat(ctx context.Context) error {
	if p.marked.Load() {
		return nil
	}
	key := p.keys.format()
	err := p.runOnServer(ctx, "write store format", retryable, key, func(ctx context.Context, server *redis.Client) error {
		// A full Redis refuses the write, which is needed only once in the life of a store.
		if found, err := server.Get(ctx, key).Int(); err == nil && found == formatPacks {
			return nil
		}
		return server.Set(ctx, key, formatPacks, 0).Err()
	})
	if err == nil {
		p.marked.Store(true)
	}
	return err
}

// unpack restores the keys of a packed session. Another replica may have done so, too.
func (p *packer) unpack(ctx context.Context, session wire.SessionID) error {
	const what = "unpack session"
	k := p.keys.session(session)
	begin := time.Now()
	value, err := p.value(ctx, session)
	if err != nil {
		return err
	}
	content, object, err := p.decode(ctx, session, value)
	if value == "" {
		err = &store.CorruptError{Where: "key " + k.pack(), Reason: "missing"}
		if is, failed := p.isPacked(ctx, k); failed != nil || !is {
			return failed // unpacked meanwhile
		}
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", what, session, p.calls.handleCorrupt(ctx, session, err))
	}
	sum := sha1.Sum([]byte(value)) //nolint:gosec // a checksum
	keys := []string{k.meta(), k.pack(), k.log(), k.ids(), k.done(), k.names(), k.inbox()}
	args := []any{hex.EncodeToString(sum[:]), ""}
	if object != "" {
		args[1] = objectOf(session, object)
	}
	add := func(name string, items []string) {
		args = append(args, name, len(items))
		for _, item := range items {
			args = append(args, item)
		}
	}
	add("log", content.log)
	add("ids", content.ids)
	add("done", content.done)
	for _, s := range content.structures {
		keys = append(keys, k.structure(s.name))
		add(s.name, s.items)
	}
	r, err := p.calls.callSession(ctx, what, retryable, session, p.scripts.unpack, keys, args...)
	if err == nil && r.word == "OK" && object != "" {
		p.cfg.Observer.SessionWarmed(time.Since(begin))
	}
	return err
}

// decode opens the pack that a value from Redis is or refers to, and returns the name of the object
// that has it, or "".
func (p *packer) decode(ctx context.Context, session wire.SessionID, value string) (content *packed, object string, err error) {
	if value, object, err = p.resolve(ctx, session, value); err != nil {
		return nil, "", err
	}
	content, err = decodePack(string(session), value)
	return content, object, err
}

func (p *packer) isPacked(ctx context.Context, k sessionKeys) (is bool, err error) {
	err = p.runOnServer(ctx, "look up pack", retryable, k.meta(), func(ctx context.Context, server *redis.Client) error {
		var err error
		is, err = server.HExists(ctx, k.meta(), "packed").Result()
		return err
	})
	return is, err
}

// maxUnpacks bounds how often one call unpacks a session that other replicas pack again.
const maxUnpacks = 5

// callUnpacked calls a script that refuses packed sessions, and unpacks the session before.
func (p *packer) callUnpacked(ctx context.Context, what string, id wire.SessionID, call func() (reply, error)) (reply, error) {
	for range maxUnpacks {
		r, err := call()
		if err != nil || r.word != "PACKED" {
			return r, err
		}
		if err := p.unpack(ctx, id); err != nil {
			return reply{}, err
		}
	}
	return reply{}, fmt.Errorf("%s %s: %w: other replicas packed the session %d times during the call", what, id, store.ErrUnavailable, maxUnpacks)
}

// open decodes the pack in the reply {'PACKED', top, pack} of a script that reads.
func (p *packer) open(ctx context.Context, id wire.SessionID, r reply) (*packed, wire.Position, error) {
	top, err := r.position(0)
	if err != nil {
		return nil, top, p.calls.handleCorrupt(ctx, id, &store.CorruptError{Where: "top of the log", Reason: err.Error()})
	}
	content, _, err := p.decode(ctx, id, r.text(1))
	if err != nil {
		return nil, top, p.calls.handleCorrupt(ctx, id, err)
	}
	return content, top, nil
}

// packedState returns the tables and lists of a pack, without the cold lists.
func (c *codec) packedState(content *packed, top wire.Position) (store.State, error) {
	var names []string
	r := reply{args: []any{top.String()}}
	for _, s := range content.structures {
		if !strings.HasPrefix(s.name, listName(store.ColdPrefix)) {
			names = append(names, s.name)
			r.args = append(r.args, anysOf(s.items))
		}
	}
	return c.decodeState(names, r)
}

// list returns a page of a list of a pack, as the reply of list.lua.
func (p *packed) list(name string, from, limit int) reply {
	var items []string
	for _, s := range p.structures {
		if s.name == listName(name) {
			items = s.items
		}
	}
	start := store.ListStart(from, len(items))
	page := items[start:min(start+limit, len(items))]
	return reply{word: "OK", args: []any{strconv.Itoa(len(items)), anysOf(page)}}
}

// entriesAfter returns the log of a pack from a valid cursor on, as the reply of read.lua. The
// first entry may begin before the cursor.
func (c *codec) entriesAfter(session wire.SessionID, content *packed, top, after wire.Position, limit int) (reply, error) {
	r := reply{word: "OK", args: []any{top.String(), ""}}
	found := after.IsZero()
	for i := 0; i+1 < len(content.log) && limit > 0; i += 2 {
		n, err := c.decodeEntry(session, content.log[i+1])
		if err != nil {
			return reply{}, err
		}
		later := n.after(after)
		if !found && n.top.Compare(after) >= 0 {
			if found = slices.ContainsFunc(n.events, func(e store.Event) bool { return e.At == after }); !found {
				return reply{word: "UNKNOWN"}, nil
			}
		}
		if len(later) > 0 {
			r.args = append(r.args, []any{content.log[i], []any{"d", content.log[i+1]}})
			limit -= len(later)
		}
	}
	if !found {
		return reply{}, &store.CorruptError{Where: "log in the pack of session " + string(session), Reason: "ends before the log"}
	}
	return r, nil
}

func anysOf(texts []string) []any {
	list := make([]any, len(texts))
	for i, t := range texts {
		list[i] = t
	}
	return list
}
