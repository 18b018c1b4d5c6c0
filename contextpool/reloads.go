package contextpool

import (
	"fmt"

	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// reloads is the reload cache: actions of completed turns that can be repeated.
type reloads struct {
	*services

	cache *policies.ReloadCache
}

// store stores an entry of the reload cache, or deletes it if the cache has evicted it.
func (r *reloads) store(id string) {
	e, ok := r.cache.Get(r.step.Now(), id)
	if !ok {
		r.step.AddOps(store.Unset(reloadTable, id))
		return
	}
	r.step.AddOps(store.Set(reloadTable, id, encode(e)), store.Set(reloadTable, reloadNext, encode(r.cache.Next())))
}

// allOps returns the operations that store the reload cache.
func (r *reloads) allOps() (ops []store.Op) {
	for _, e := range r.cache.Entries() {
		ops = append(ops, store.Set(reloadTable, e.ID, encode(e)))
	}
	if next := r.cache.Next(); next > 1 {
		ops = append(ops, store.Set(reloadTable, reloadNext, encode(next)))
	}
	return ops
}

// restore loads the reload cache.
func (r *reloads) restore(tables map[string]map[string][]byte) error {
	var entries []policies.ReloadEntry
	next := 1
	for id, data := range tables[reloadTable] {
		if id == reloadNext {
			if err := decode(data, &next); err != nil {
				return fmt.Errorf("reload cache: %w", err)
			}
			continue
		}
		var e policies.ReloadEntry
		if err := decode(data, &e); err != nil {
			return fmt.Errorf("reload entry %s: %w", id, err)
		}
		if e.ID != id {
			return fmt.Errorf("reload entry %s: %w", id, errMisplaced)
		}
		entries = append(entries, e)
	}
	r.cache.Restore(entries, next)
	return nil
}

// recordTurn adds the actions of a completed turn to the reload cache, if all of them are
// stored. Actions of tasks are not repeated. outside are the sources of outside data that the agent has read.
func (r *reloads) recordTurn(t *turn, outside []string) {
	if len(t.actions) == 0 || len(t.actions) < t.ActionCount || t.Kind == wire.AgentTask {
		return
	}
	var required []wire.WindowID
	if t.Kind == wire.AgentWindow {
		required = append(required, t.Window)
	}
	entry, evicted := r.cache.Record(r.step.Now(), t.trigger(), t.actions, required)
	for _, id := range evicted {
		r.step.AddOps(store.Unset(reloadTable, id))
	}
	if entry.ID != "" {
		r.cache.SetOutside(entry.ID, outside)
		r.store(entry.ID)
	}
}

// dropWindow removes the entries of the reload cache that need a window.
func (r *reloads) dropWindow(window wire.WindowID) {
	for _, id := range r.cache.CloseWindow(window) {
		r.step.AddOps(store.Unset(reloadTable, id))
	}
}

// options returns the entries of the reload cache that match a turn.
func (r *reloads) options(t *turn) []policies.ReloadOption {
	return r.cache.Options(r.step.Now(), t.trigger())
}

// failed counts a failure of an entry.
func (r *reloads) failed(id string) {
	if _, ok := r.cache.Get(r.step.Now(), id); ok {
		r.cache.Failed(id)
		r.store(id)
	}
}
