package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// momentPage is the number of events that are read at once to fold a state.
const momentPage = 500

// Moment is the state of a session after one event of its log.
type Moment struct {
	State wire.SessionState
	// Time is that of the last event that was decoded; zero if the state is stored as a whole.
	Time time.Time
}

// StateAt returns the state after the event at a position. It is folded from the keyframe before it. The error
// says why there is none: [store.ErrTrimmed], [store.ErrUnknownPosition] or [store.ErrAhead]. Every replica can
// answer it.
func (h *Hub) StateAt(ctx context.Context, id wire.SessionID, at wire.Position) (Moment, error) {
	m, err := h.env.reader.stateAt(ctx, id, at)
	for _, is := range []error{store.ErrTrimmed, store.ErrUnknownPosition, store.ErrAhead} {
		if errors.Is(err, is) {
			return Moment{}, err
		}
	}
	return m, asError(err)
}

func (sr *storeReader) stateAt(ctx context.Context, id wire.SessionID, at wire.Position) (Moment, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	state, err := sr.keyframeBefore(ctx, id, at)
	if err != nil {
		return Moment{}, err
	}
	var last time.Time
	for after := state.At(); after != at; {
		events, err := sr.log.Read(ctx, id, after, momentPage)
		if err != nil {
			return Moment{}, fmt.Errorf("read the events of a moment: %w", err)
		}
		if len(events) == 0 {
			return Moment{}, fmt.Errorf("event %v: %w", at, store.ErrAhead)
		}
		for _, stored := range events {
			if stored.At.Compare(at) > 0 {
				if after == at {
					break
				}
				return Moment{}, fmt.Errorf("event %v: %w", at, store.ErrUnknownPosition)
			}
			after = stored.At
			// The page leaves out what it does not understand, too.
			if e, err := (wire.Native{}).DecodeEvent(stored.Frame); err == nil {
				state.Apply(e)
				last = e.Time
			}
		}
	}
	snapshot := state.Snapshot()
	snapshot.LastMessageID, snapshot.HeartbeatMS = at, 1 // no state is valid without a heartbeat
	return Moment{State: snapshot, Time: last}, nil
}

// keyframeBefore returns the newest stored state that is not after a position; the empty state, if there is none. If the
// log has lost its beginning then, reading on fails with [store.ErrTrimmed].
func (sr *storeReader) keyframeBefore(ctx context.Context, id wire.SessionID, at wire.Position) (*desktop.State, error) {
	var newest []byte
	for i := range maxKeyframes {
		page, err := sr.log.ReadList(ctx, id, keyframeList, i, 1)
		if err != nil {
			return nil, fmt.Errorf("read keyframes: %w", err)
		}
		if len(page.Items) == 0 {
			break
		}
		position, data, err := keyframePosition(page.Items[0])
		if err != nil {
			return nil, &store.CorruptError{Where: keyframeList, Reason: err.Error()}
		}
		if position.Compare(at) > 0 {
			break // they are in the order of the log
		}
		newest = data
	}
	state := desktop.New(id)
	if newest == nil {
		return state, nil
	}
	stored, err := decodeKeyframe(newest)
	if err != nil {
		return nil, &store.CorruptError{Where: keyframeList, Reason: err.Error()}
	}
	state.Apply(wire.Event{Session: id, Data: stored})
	return state, nil
}
