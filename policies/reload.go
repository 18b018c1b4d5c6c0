package policies

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// The bounds of a [ReloadCache].
const (
	// ReloadThreshold is the minimum similarity of triggers.
	ReloadThreshold = 0.85
	// MaxReloadOptions bounds the options for a trigger.
	MaxReloadOptions = 3
	// MaxReloadEntries bounds the number of entries. ReloadAge is the time after the last use
	// at which they expire.
	MaxReloadEntries = 100
	ReloadAge        = 7 * 24 * time.Hour
	// MaxReloadEntryBytes bounds one entry and MaxReloadBytes all of them, as JSON.
	MaxReloadEntryBytes = 256 << 10
	MaxReloadBytes      = 4 << 20
)

// ReloadOption is a cache entry that matches a trigger.
type ReloadOption struct {
	CacheID    string  `json:"cacheId"`
	Label      string  `json:"label"`
	Similarity float64 `json:"similarity"`
	Actions    int     `json:"actions"`
	Exact      bool    `json:"exact"`
}

// ReloadEntry is a recorded list of actions.
type ReloadEntry struct {
	ID    string `json:"id"`
	Label string `json:"label"`
	// Fingerprint is the fingerprint of the trigger.
	Fingerprint Fingerprint `json:"print"`
	// Actions are the original actions. A repetition replaces their agent and request ids.
	Actions []wire.Action `json:"actions"`
	// Required are the windows that must be open.
	Required []wire.WindowID `json:"required,omitempty"`
	Created  wire.Millis     `json:"created"`
	LastUsed wire.Millis     `json:"lastUsed"`
	// Attempts counts the repetitions and Failures the failed ones.
	Attempts int `json:"attempts,omitempty" wire:"min=0"`
	Failures int `json:"failures,omitempty" wire:"min=0"`
	// Outside are the sources of outside data that agents had read when they did the actions.
	Outside []string `json:"outside,omitempty"`
}

// storedEntry has no methods, so its encoding is that of its fields.
type storedEntry ReloadEntry

var entryFormat = sync.OnceValue(wire.FormatOf[storedEntry])

// MarshalJSON encodes an entry by the rules of package wire.
func (e ReloadEntry) MarshalJSON() ([]byte, error) {
	return entryFormat().Append(nil, new(storedEntry(e))), nil
}

// UnmarshalJSON decodes the output of MarshalJSON.
func (e *ReloadEntry) UnmarshalJSON(data []byte) error {
	kept, err := entryFormat().DecodeOwn(data)
	if err != nil {
		return fmt.Errorf("read a reload entry: %w", err)
	}
	*e = ReloadEntry(kept)
	return nil
}

// ReloadCache records the actions of agents, to repeat them for a similar request.
type ReloadCache struct {
	entries map[string]*cached
	next    int
}

// cached is an entry with its size as JSON.
type cached struct {
	ReloadEntry
	size int
}

// NewReloadCache returns an empty cache.
func NewReloadCache() *ReloadCache {
	return &ReloadCache{entries: make(map[string]*cached), next: 1}
}

// Record stores the actions for a trigger. If an entry has the same fingerprint, it keeps its
// id and gets the new actions. Windows that the actions need and do not open themselves become
// required, besides those in required.
//
// Questions and captures are left out, because no agent would wait for their answers. If no
// action is left, or the entry is too large, the returned entry has no ID. evicted are the ids
// of removed entries.
func (c *ReloadCache) Record(now time.Time, t Trigger, actions []wire.Action, required []wire.WindowID) (entry ReloadEntry, evicted []string) {
	evicted = c.Expire(now)
	actions = repeatable(actions)
	if len(actions) == 0 {
		return ReloadEntry{}, evicted
	}
	at := wire.Millis(now.UnixMilli())
	entry = ReloadEntry{
		Label: label(t.Text), Fingerprint: t.Fingerprint(),
		Actions: actions, Required: requiredWindows(actions, required),
		Created: at, LastUsed: at,
	}
	if old := c.findSame(entry.Fingerprint); old != nil {
		entry.ID, entry.Created, entry.Attempts, entry.Failures = old.ID, old.Created, old.Attempts, old.Failures
	} else {
		entry.ID = "reload-" + strconv.Itoa(c.next)
	}
	size := entry.size()
	if size > MaxReloadEntryBytes {
		return ReloadEntry{}, evicted
	}
	if c.entries[entry.ID] == nil {
		c.next++
	}
	c.entries[entry.ID] = &cached{entry, size}
	return entry.clone(), append(evicted, c.evict(entry.ID)...)
}

func (c *ReloadCache) findSame(f Fingerprint) *cached {
	for _, e := range c.entries {
		if e.Fingerprint.Same(f) {
			return e
		}
	}
	return nil
}

// evict removes the least recently used entries until the rest is within the bounds, but never
// the entry keep.
func (c *ReloadCache) evict(keep string) (evicted []string) {
	total := 0
	for _, e := range c.entries {
		total += e.size
	}
	byUse := slices.SortedFunc(maps.Values(c.entries), func(a, b *cached) int { return older(a.ReloadEntry, b.ReloadEntry) })
	for _, e := range byUse {
		if len(c.entries) <= MaxReloadEntries && total <= MaxReloadBytes {
			break
		}
		if e.ID != keep {
			total -= e.size
			delete(c.entries, e.ID)
			evicted = append(evicted, e.ID)
		}
	}
	return evicted
}

// older orders by last use, then by age.
func older(a, b ReloadEntry) int {
	return cmp.Or(cmp.Compare(a.LastUsed, b.LastUsed), cmp.Compare(ordinal(a.ID), ordinal(b.ID)))
}

// ordinal returns the number in an id.
func ordinal(id string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(id, "reload-"))
	if err != nil {
		return 0
	}
	return n
}

// Options returns the entries that match a trigger, the best first.
func (c *ReloadCache) Options(now time.Time, t Trigger) []ReloadOption {
	asked := t.Fingerprint()
	type match struct {
		*cached
		similarity, rank float64
		exact            bool
	}
	var found []match
	for _, e := range c.entries {
		if e.expired(now) || slices.ContainsFunc(e.Required, func(id wire.WindowID) bool { return !t.has(id) }) {
			continue
		}
		if s := asked.Similarity(e.Fingerprint); s >= ReloadThreshold {
			m := match{cached: e, similarity: s, rank: s, exact: asked.Same(e.Fingerprint)}
			if m.exact {
				m.rank++ // before others with the same similarity
			}
			found = append(found, m)
		}
	}
	slices.SortFunc(found, func(a, b match) int {
		return cmp.Or(cmp.Compare(b.rank, a.rank), older(b.ReloadEntry, a.ReloadEntry))
	})
	found = found[:min(len(found), MaxReloadOptions)]
	options := make([]ReloadOption, len(found))
	for i, m := range found {
		options[i] = ReloadOption{
			CacheID: m.ID, Label: m.Label, Actions: len(m.Actions), Exact: m.exact,
			Similarity: math.Round(m.similarity*1000) / 1000,
		}
	}
	return options
}

// Get returns the entry with an id.
func (c *ReloadCache) Get(now time.Time, id string) (ReloadEntry, bool) {
	e := c.entries[id]
	if e == nil || e.expired(now) {
		return ReloadEntry{}, false
	}
	return e.clone(), true
}

// Used counts a repetition of an entry and whether it succeeded. An entry that fails in most of
// at least three attempts is removed.
func (c *ReloadCache) Used(now time.Time, id string, ok bool) (removed bool) {
	e := c.entries[id]
	if e == nil {
		return false
	}
	e.LastUsed = max(e.LastUsed, wire.Millis(now.UnixMilli()))
	e.Attempts++
	if !ok {
		e.Failures++
	}
	return c.removeIfFailing(e)
}

// SetOutside sets the sources of outside data that agents had read when they did the actions of an entry.
func (c *ReloadCache) SetOutside(id string, sources []string) {
	if e := c.entries[id]; e != nil {
		e.Outside = slices.Clone(sources)
	}
}

// Failed counts a repetition as failed that Used had counted as success, because the user
// reported it later.
func (c *ReloadCache) Failed(id string) (removed bool) {
	e := c.entries[id]
	if e == nil {
		return false
	}
	e.Failures++
	e.Attempts = max(e.Attempts, e.Failures)
	return c.removeIfFailing(e)
}

func (c *ReloadCache) removeIfFailing(e *cached) (removed bool) {
	if e.Attempts < 3 || 2*e.Failures <= e.Attempts {
		return false
	}
	delete(c.entries, e.ID)
	return true
}

// CloseWindow removes the entries that need the window and returns their ids.
func (c *ReloadCache) CloseWindow(id wire.WindowID) []string {
	return c.remove(func(e *cached) bool { return slices.Contains(e.Required, id) })
}

// Expire removes the entries unused for ReloadAge and returns their ids.
func (c *ReloadCache) Expire(now time.Time) []string {
	return c.remove(func(e *cached) bool { return e.expired(now) })
}

func (c *ReloadCache) remove(match func(*cached) bool) []string {
	var removed []string
	for id, e := range c.entries {
		if match(e) {
			delete(c.entries, id)
			removed = append(removed, id)
		}
	}
	slices.SortFunc(removed, func(a, b string) int { return cmp.Compare(ordinal(a), ordinal(b)) })
	return removed
}

// Entries returns all entries, the oldest first.
func (c *ReloadCache) Entries() []ReloadEntry {
	entries := make([]ReloadEntry, 0, len(c.entries))
	for e := range maps.Values(c.entries) {
		entries = append(entries, e.clone())
	}
	slices.SortFunc(entries, func(a, b ReloadEntry) int { return cmp.Compare(ordinal(a.ID), ordinal(b.ID)) })
	return entries
}

// Next returns the number of the next new entry. It must be stored, because ids are never
// reused, even after their entries are removed.
func (c *ReloadCache) Next() int { return c.next }

// Restore replaces the state by what Entries and Next returned.
func (c *ReloadCache) Restore(entries []ReloadEntry, next int) {
	c.entries = make(map[string]*cached, len(entries))
	c.next = max(1, next)
	for _, e := range entries {
		c.next = max(c.next, ordinal(e.ID)+1)
		c.entries[e.ID] = &cached{e.clone(), e.size()}
	}
	c.evict("")
}

func (e ReloadEntry) expired(now time.Time) bool {
	return now.Sub(time.UnixMilli(int64(e.LastUsed))) >= ReloadAge
}

func (e ReloadEntry) size() int {
	return len(entryFormat().Append(nil, new(storedEntry(e))))
}

// clone copies the slices of e. Actions themselves are never changed.
func (e ReloadEntry) clone() ReloadEntry {
	e.Actions = slices.Clone(e.Actions)
	e.Required = slices.Clone(e.Required)
	e.Outside = slices.Clone(e.Outside)
	return e
}

// repeatable returns the actions that can be repeated without an agent waiting for an answer.
func repeatable(actions []wire.Action) []wire.Action {
	return slices.DeleteFunc(slices.Clone(actions), func(a wire.Action) bool {
		switch a.(type) {
		case nil, wire.DialogConfirm, wire.PromptShow, wire.PromptDismiss, wire.WindowCapture:
			return true
		}
		return false
	})
}

// requiredWindows returns the windows that must be open before: those in required, and those
// that the actions change without having opened them.
func requiredWindows(actions []wire.Action, required []wire.WindowID) []wire.WindowID {
	out := slices.Clone(required)
	opened := make(map[wire.WindowID]bool)
	for _, a := range actions {
		if create, ok := a.(wire.WindowCreate); ok {
			opened[create.WindowID] = true
		} else if id, ok := changedWindow(a); ok && !opened[id] {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// changedWindow returns the window that an action changes.
func changedWindow(a wire.Action) (wire.WindowID, bool) {
	switch a := a.(type) {
	case wire.WindowClose:
		return a.WindowID, true
	case wire.WindowFocus:
		return a.WindowID, true
	case wire.WindowMinimize:
		return a.WindowID, true
	case wire.WindowMaximize:
		return a.WindowID, true
	case wire.WindowRestore:
		return a.WindowID, true
	case wire.WindowMove:
		return a.WindowID, true
	case wire.WindowResize:
		return a.WindowID, true
	case wire.WindowSetTitle:
		return a.WindowID, true
	case wire.WindowSetContent:
		return a.WindowID, true
	case wire.WindowUpdateContent:
		return a.WindowID, true
	case wire.WindowLock:
		return a.WindowID, true
	case wire.WindowUnlock:
		return a.WindowID, true
	}
	return "", false
}
