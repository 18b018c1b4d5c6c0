package session

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// A log loses its oldest events, and the events that stay say nothing of what was there before. So the
// owner stores the whole state now and then, as a keyframe: events can be folded from there on.
const (
	keyframeList  = store.ColdPrefix + "keyframes"
	keyframeTable = "keyframes"
	// keyframeSince is the field with the number of events since the last keyframe.
	keyframeSince = "since"
	// A keyframe is stored after this many events or bytes of events. Both are a small part of the
	// bounds of a log, so that a full log has several.
	keyframeEvents = 1500
	keyframeBytes  = 2 << 20
	// maxKeyframes bounds the stored ones: more than fit into a log.
	maxKeyframes = 9
	// maxKeyframe bounds the compressed size of one, in bytes. A larger state is left out.
	maxKeyframe = 1 << 20
	// maxKeyframeState bounds the size of a state before compression, in bytes.
	maxKeyframeState = 64 << 20
)

var keyframeFormat = sync.OnceValue(wire.FormatOf[wire.SessionState])

// keyframes stores the keyframes of an owned session. It belongs to the goroutine of the session, except
// for encoding, which runs beside it.
type keyframes struct {
	w    *stepWriter
	port port
	// stopped is done when the encoding of this owner has ended.
	stopped sync.WaitGroup

	events, bytes int // since the last keyframe
	written       int // value of events that is in the store
	taking        bool
}

// restore continues the count of the previous owner. It is lost in part if that owner died, and then the
// next keyframe is later.
func (k *keyframes) restore(table map[string][]byte) {
	n, err := strconv.Atoi(string(table[keyframeSince]))
	if err == nil && n > 0 {
		k.events, k.written = n, n
	}
}

// countOp returns the op that stores the count.
func (k *keyframes) countOp() store.Op {
	return store.Set(keyframeTable, keyframeSince, strconv.AppendInt(nil, int64(k.events), 10))
}

// count adds the events of a step that is about to be committed. The count is stored with rows, which
// have other costs: not with every piece of an answer.
func (k *keyframes) count(s *step) {
	k.events += len(s.frames)
	for _, f := range s.frames {
		k.bytes += len(f)
	}
	if s.archived && k.events != k.written {
		s.ops = append(s.ops, k.countOp())
		k.written = k.events
	}
}

// storeIfDue stores a keyframe of the committed state if one is due.
func (k *keyframes) storeIfDue() {
	if k.taking || k.events < keyframeEvents && k.bytes < keyframeBytes {
		return
	}
	k.taking, k.events, k.bytes = true, 0, 0
	state := k.w.state.Snapshot()
	state.LastMessageID = k.w.top
	k.stopped.Go(func() {
		data, err := encodeKeyframe(state)
		if err != nil {
			k.w.log.Warn("keyframe not stored", "err", err)
		}
		_ = k.port.put(k.w.held.ctx, item{work: func() { // an error means that the owner ended
			k.taking = false
			k.w.AddOps(k.countOp())
			if data != nil {
				k.w.AddOps(store.Push(keyframeList, data), store.KeepLast(keyframeList, maxKeyframes))
			}
		}})
	})
}

// encodeKeyframe returns the stored form of a state: its position on a line, and the compressed state.
func encodeKeyframe(state wire.SessionState) ([]byte, error) {
	state.HeartbeatMS = 1 // no state is valid without one
	var buf bytes.Buffer
	buf.Write(state.LastMessageID.Append(nil))
	buf.WriteByte('\n')
	z := gzip.NewWriter(&buf)
	data := keyframeFormat().Append(nil, &state)
	if len(data) > maxKeyframeState {
		return nil, fmt.Errorf("%w: the state of a keyframe has %d bytes", store.ErrTooLarge, len(data))
	}
	_, err := z.Write(data)
	if err = errors.Join(err, z.Close()); err != nil {
		return nil, fmt.Errorf("compress a keyframe: %w", err)
	}
	if buf.Len() > maxKeyframe {
		return nil, fmt.Errorf("%w: a keyframe of %d bytes", store.ErrTooLarge, buf.Len())
	}
	return buf.Bytes(), nil
}

// keyframePosition returns the position of a stored keyframe and its compressed state.
func keyframePosition(data []byte) (wire.Position, []byte, error) {
	head, rest, _ := bytes.Cut(data, []byte{'\n'})
	at, err := wire.ParsePosition(string(head))
	if err != nil {
		return at, nil, fmt.Errorf("keyframe: %w", err)
	}
	return at, rest, nil
}

// decodeKeyframe returns the state of a keyframe.
func decodeKeyframe(compressed []byte) (wire.SessionState, error) {
	z, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return wire.SessionState{}, fmt.Errorf("keyframe: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(z, maxKeyframeState))
	if err != nil {
		return wire.SessionState{}, fmt.Errorf("keyframe: %w", err)
	}
	state, err := keyframeFormat().DecodeOwn(data)
	if err != nil {
		return wire.SessionState{}, fmt.Errorf("keyframe: %w", err)
	}
	return state, nil
}

// importKeyframe returns the op that stores the state of an imported session, which has no events.
func importKeyframe(state *desktop.State, at wire.Position) []store.Op {
	now := state.Snapshot()
	now.LastMessageID = at
	data, err := encodeKeyframe(now)
	if err != nil {
		return nil // only the film of the session is shorter
	}
	return []store.Op{store.Push(keyframeList, data)}
}

// FilmStart is where the known part of a session's life begins.
type FilmStart struct {
	// After is the position after which the log has all events; zero for a log that begins with the
	// session.
	After wire.Position
	// State is the state there; nil for a log that begins with the session.
	State *wire.SessionState
}

// FilmStart returns the earliest state from which on the log has all events, and whether there is one:
// the log of a session from before there were keyframes may have none. Every replica can answer it.
func (h *Hub) FilmStart(ctx context.Context, id wire.SessionID) (start FilmStart, known bool, err error) {
	start, known, err = h.env.reader.filmStart(ctx, id)
	return start, known, asError(err)
}

func (sr *storeReader) filmStart(ctx context.Context, id wire.SessionID) (FilmStart, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	first, err := sr.log.Read(ctx, id, wire.Position{}, 1)
	whole := err == nil
	switch {
	case err != nil && !errors.Is(err, store.ErrTrimmed):
		return FilmStart{}, false, fmt.Errorf("read the oldest event: %w", err)
	case whole && len(first) == 0:
		return FilmStart{}, true, nil
	}
	for i := range maxKeyframes {
		page, err := sr.log.ReadList(ctx, id, keyframeList, i, 1)
		if err != nil {
			return FilmStart{}, false, fmt.Errorf("read keyframes: %w", err)
		}
		if len(page.Items) == 0 {
			break
		}
		at, data, err := keyframePosition(page.Items[0])
		if err != nil {
			return FilmStart{}, false, &store.CorruptError{Where: keyframeList, Reason: err.Error()}
		}
		if whole && at != first[0].At {
			break // only an imported session has a keyframe with its first event
		}
		if _, err := sr.log.Read(ctx, id, at, 1); errors.Is(err, store.ErrTrimmed) {
			continue // the events after it are gone
		} else if err != nil {
			return FilmStart{}, false, fmt.Errorf("read the event after a keyframe: %w", err)
		}
		state, err := decodeKeyframe(data)
		if err != nil {
			return FilmStart{}, false, &store.CorruptError{Where: keyframeList, Reason: err.Error()}
		}
		return FilmStart{After: at, State: &state}, true, nil
	}
	return FilmStart{}, whole, nil
}
