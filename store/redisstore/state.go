package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Load returns the tables and lists as of one position, without the log and the cold lists.
// It reads their names first, because a script must receive every key it touches, and
// starts again if they have changed meanwhile.
func (s *Sessions) Load(ctx context.Context, session wire.SessionID) (store.State, error) {
	const what = "load session"
	if err := session.Validate(); err != nil {
		return store.State{}, fmt.Errorf("%s: %w", what, err)
	}
	k := s.keys.session(session)
	for {
		known, err := s.calls.structures(ctx, what, session)
		if err != nil {
			return store.State{}, err
		}
		if known.missing {
			return store.State{}, fmt.Errorf("%s %s: %w", what, session, store.ErrNotFound)
		}
		var names []string
		keys, args := []string{k.meta(), k.pack()}, []any{known.version}
		for _, name := range known.names {
			if !strings.HasPrefix(name, listName(store.ColdPrefix)) {
				names = append(names, name)
				keys = append(keys, k.structure(name))
				args = append(args, name[:1])
			}
		}
		r, err := s.calls.callSession(ctx, what, retryable, session, s.scripts.load, keys, args...)
		if err != nil {
			return store.State{}, err
		}
		if r.word == "CHANGED" {
			continue
		}
		state, err := s.stateOf(ctx, session, names, r)
		if err != nil {
			return store.State{}, fmt.Errorf("%s %s: %w", what, session, s.calls.handleCorrupt(ctx, session, err))
		}
		return state, nil
	}
}

// stateOf returns the state in the reply of load.lua.
func (s *Sessions) stateOf(ctx context.Context, session wire.SessionID, names []string, r reply) (store.State, error) {
	if r.word != "PACKED" {
		return s.codec.decodeState(names, r)
	}
	content, top, err := s.packer.open(ctx, session, r)
	if err != nil {
		return store.State{}, err
	}
	return s.codec.packedState(content, top)
}

func (c *codec) decodeState(names []string, r reply) (store.State, error) {
	top, err := r.position(0)
	if err != nil {
		return store.State{}, &store.CorruptError{Where: "top of the log", Reason: err.Error()}
	}
	state := store.State{At: top, Tables: map[string]map[string][]byte{}, Lists: map[string][][]byte{}}
	for i, name := range names {
		contents, _ := r.args[1+i].([]any)
		if table, ok := strings.CutPrefix(name, tableName("")); ok {
			if state.Tables[table], err = c.openTable(table, contents); err != nil {
				return store.State{}, err
			}
			continue
		}
		list := strings.TrimPrefix(name, listName(""))
		if state.Lists[list], err = c.openItems(list, contents); err != nil {
			return store.State{}, err
		}
	}
	return state, nil
}

func (c *codec) openTable(table string, contents []any) (map[string][]byte, error) {
	fields := make(map[string][]byte, len(contents)/2)
	for i := 0; i+1 < len(contents); i += 2 {
		field, _ := contents[i].(string)
		sealed, _ := contents[i+1].(string)
		value, err := c.schema.Open(store.KindField, table+"/"+field, []byte(sealed))
		if err != nil {
			return nil, err
		}
		fields[field] = value
	}
	return fields, nil
}

func (c *codec) openItems(list string, contents []any) ([][]byte, error) {
	items := make([][]byte, len(contents))
	for i, v := range contents {
		sealed, _ := v.(string)
		value, err := c.schema.Open(store.KindItem, list, []byte(sealed))
		if err != nil {
			return nil, err
		}
		items[i] = value
	}
	return items, nil
}

// ReadList returns a page of a list, fewer items than limit only at its end. A negative
// from counts from the end.
func (s *Sessions) ReadList(
	ctx context.Context, session wire.SessionID, list string, from, limit int,
) (store.ListPage, error) {
	const what = "read list of session"
	if err := session.Validate(); err != nil {
		return store.ListPage{}, fmt.Errorf("%s: %w", what, err)
	}
	if err := store.CheckName("list", list); err != nil {
		return store.ListPage{}, fmt.Errorf("%s %s: %w", what, session, err)
	}
	k := s.keys.session(session)
	r, err := s.calls.callSession(ctx, what, retryable, session, s.scripts.list,
		[]string{k.meta(), k.structure(listName(list)), k.pack()}, from, store.PageLimit(limit))
	if err == nil && r.word == "PACKED" {
		var content *packed
		if content, _, err = s.packer.open(ctx, session, r); err == nil {
			r = content.list(list, from, store.PageLimit(limit))
		}
	}
	if err != nil {
		return store.ListPage{}, err
	}
	total, err := r.count(0)
	if err != nil || len(r.args) != 2 {
		return store.ListPage{}, fmt.Errorf("%s %s: %w", what, session, errors.Join(errReply, err))
	}
	length := int(total) //nolint:gosec // the length of a list
	contents, _ := r.args[1].([]any)
	items, err := s.codec.openItems(list, contents)
	if err != nil {
		return store.ListPage{}, fmt.Errorf("%s %s: %w", what, session, s.calls.handleCorrupt(ctx, session, err))
	}
	return store.ListPage{From: store.ListStart(from, length), Items: items, Total: length}, nil
}
