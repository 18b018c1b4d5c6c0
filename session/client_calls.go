package session

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// ClientCall is a tool call of a program outside the hub.
type ClientCall = contextpool.ClientCall

// Documents holds the results of tool calls that programs have made through another replica than the
// owner of the session.
type Documents interface {
	// Get returns a document with its version, or [store.ErrNotFound].
	Get(ctx context.Context, collection, name string) (store.Document, error)
	// Put writes a document if the stored version is d.Version (0: none), else the error is
	// [store.ErrConflict]. It returns the new version.
	Put(ctx context.Context, d store.Document) (version uint64, err error)
	// Remove deletes a document if the stored version is the given one; else, and if there is no such
	// document, the error is [store.ErrConflict].
	Remove(ctx context.Context, collection, name string, version uint64) error
}

const (
	// callCollection holds the results, for callTTL.
	callCollection = "client-calls"
	callTTL        = 2 * time.Minute
	// startTimeout is how long a call may take to reach the owner of the session. An owner does not
	// start it later: the program may have made the call again meanwhile.
	startTimeout = 30 * time.Second
	// callTimeout bounds the wait for a result. It is longer than any question to a user is open.
	callTimeout = 30 * time.Minute
	// stopTimeout bounds sending the order that interrupts a call.
	stopTimeout = 5 * time.Second
	// storedResult bounds a result in the store.
	storedResult = 768 << 10
)

// clientCalls delivers the results of programs' tool calls to the callers that wait for them, here or
// on another replica. Any goroutine may use it.
type clientCalls struct {
	documents Documents // may be nil
	replica   wire.ReplicaID
	log       *slog.Logger
	writes    sync.WaitGroup

	mu      sync.Mutex // guards the following
	waiting map[wire.MessageID]chan<- providers.ToolResult
}

// add registers a caller that waits for the result of a call.
func (w *clientCalls) add(id wire.MessageID) <-chan providers.ToolResult {
	result := make(chan providers.ToolResult, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting == nil {
		w.waiting = map[wire.MessageID]chan<- providers.ToolResult{}
	}
	w.waiting[id] = result
	return result
}

func (w *clientCalls) remove(id wire.MessageID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.waiting, id)
}

// deliver passes a result to the caller if it waits here; otherwise it stores the result in the
// background for the replica where the caller waits. It does not block.
func (w *clientCalls) deliver(c ClientCall, r providers.ToolResult) {
	w.mu.Lock()
	waiting := w.waiting[c.ID]
	delete(w.waiting, c.ID)
	w.mu.Unlock()
	switch {
	case waiting != nil:
		waiting <- r
	case w.documents != nil && c.Replica != w.replica:
		w.writes.Go(func() { w.store(c.ID, r) })
	}
}

// store stores a result for the caller on another replica.
func (w *clientCalls) store(id wire.MessageID, r providers.ToolResult) {
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	data, err := json.Marshal(r)
	if err == nil && len(data) > storedResult {
		r.Images, r.Text = nil, r.Text+"\n[pictures are left out, because another hub owns the session]"
		data, err = json.Marshal(r)
	}
	if err == nil && len(data) > storedResult {
		data, err = json.Marshal(providers.ToolResult{Text: "The result is too large for another hub than that of the session.", IsError: true})
	}
	if err == nil {
		_, err = w.documents.Put(ctx, store.Document{Collection: callCollection, Name: string(id), Data: data, TTL: callTTL})
	}
	if err != nil && !errors.Is(err, store.ErrConflict) {
		w.log.WarnContext(ctx, "result of a program's tool call not stored", "call", id, "err", err)
	}
}

// load returns a result that another replica has stored, and deletes it.
func (w *clientCalls) load(ctx context.Context, id wire.MessageID) (r providers.ToolResult, found bool, err error) {
	if w.documents == nil {
		return r, false, nil
	}
	d, err := w.documents.Get(ctx, callCollection, string(id))
	if err != nil {
		if errors.Is(err, store.ErrNotFound) || isStoreUnavailable(err) {
			err = nil // it is not there yet
		}
		return r, false, err
	}
	if err := json.Unmarshal(d.Data, &r); err != nil {
		return r, false, &store.CorruptError{Where: "result of a tool call", Reason: err.Error()}
	}
	_ = w.documents.Remove(ctx, callCollection, string(id), d.Version) // otherwise it expires
	return r, true, nil
}

// CallTool has the owner of a session execute a tool call of a program, and returns its result. When
// ctx ends first, it interrupts the call. It executes a call at most once: if the owner is lost
// meanwhile, the result says that it is not known whether the tool has run.
func (h *Hub) CallTool(ctx context.Context, id wire.SessionID, c ClientCall) (providers.ToolResult, error) {
	r, err := h.Open(ctx, id)
	if err != nil {
		return providers.ToolResult{}, err
	}
	defer r.Close()
	limited, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	calls := &h.env.clientCalls
	c.Replica = h.env.cfg.Replica
	result, done := calls.add(c.ID), make(chan error, 1)
	defer calls.remove(c.ID)
	o := &order{Kind: orderCall, Call: &c, Until: wire.Millis(time.Now().Add(startTimeout).UnixMilli())}
	if err := r.live.deliver(limited, item{order: o, done: done}); err != nil {
		return providers.ToolResult{}, asError(err)
	}
	for wait := pollFirst; ; wait = min(2*wait, pollLast) {
		select {
		case got := <-result:
			return got, nil
		case err := <-done:
			if err != nil {
				return providers.ToolResult{}, asError(err)
			}
			done = nil // it is committed here
		case <-r.live.done:
			return providers.ToolResult{}, asError(errUnloaded)
		case <-time.After(wait):
			got, found, err := calls.load(limited, c.ID)
			if found || err != nil && limited.Err() == nil { // the end of limited is the next case
				return got, err
			}
		case <-limited.Done():
			h.stopCall(context.WithoutCancel(ctx), r, c, context.Cause(limited))
			return providers.ToolResult{}, context.Cause(limited)
		}
	}
}

// stopCall orders the owner to interrupt a call whose caller does not wait any more.
func (h *Hub) stopCall(ctx context.Context, r *Handle, c ClientCall, why error) {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	reason := why.Error()
	if errors.Is(why, context.Canceled) {
		reason = "the program does not wait for it any more"
	}
	o := &order{Kind: orderStopCalls, Call: &ClientCall{ID: c.ID, Token: c.Token}, Reason: reason}
	if err := r.live.deliver(ctx, item{order: o}); err != nil {
		h.env.log.WarnContext(ctx, "tool call of a program not interrupted", "session", r.live.id, "call", c.ID, "err", err)
	}
}

// StopCalls interrupts all tool calls that a session executes for an MCP token.
func (h *Hub) StopCalls(ctx context.Context, id wire.SessionID, token, reason string) error {
	o := &order{Kind: orderStopCalls, Call: &ClientCall{Token: token}, Reason: reason}
	if k := h.registry.lookup(id); k != nil {
		return asError(k.deliver(ctx, item{order: o}))
	}
	i, err := h.env.store.Session(ctx, id)
	if err != nil || i.Owner == "" {
		return asError(err) // a session without an owner executes nothing
	}
	return asError(h.env.sendOrder(ctx, id, o))
}

// handleCallOrder starts or stops tool calls of programs.
func (ow *owner) handleCallOrder(o *order) {
	switch {
	case o.Call == nil:
	case ow.agents == nil:
		ow.live.env.clientCalls.deliver(*o.Call, providers.ToolResult{Text: "This hub runs no agents and no tools.", IsError: true})
	case o.Kind == orderStopCalls:
		ow.agents.viewCalls.stop(o.Call.ID)
		ow.agents.poolForUpdate().StopClientCalls(o.Call.Token, o.Call.ID, o.Reason)
	case wire.Millis(ow.w.now.UnixMilli()) > o.Until:
		ow.live.env.clientCalls.deliver(*o.Call, providers.ToolResult{Text: "The call reached the desktop too late and was not executed; call again.", IsError: true})
	case o.Call.User != "" && o.Call.User != ow.w.user:
		// It was admitted on behalf of the user before, and would use what belongs to the new one.
		ow.live.env.clientCalls.deliver(*o.Call, providers.ToolResult{Text: "The desktop belongs to another user meanwhile; the call was not executed.", IsError: true})
	case o.Call.Server != "" && ow.agents.runner.Views == nil:
		ow.live.env.clientCalls.deliver(*o.Call, viewFailure("This hub has no MCP servers."))
	case o.Call.Server != "":
		ow.startViewCall(*o.Call)
	default:
		ow.agents.poolForUpdate().StartClientCall(*o.Call)
	}
}
