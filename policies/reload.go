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
	// ReloadThreshold is how similar triggers must be.
	ReloadThreshold = 0.85
	// MaxReloadOptions is how many options there are for a trigger.
	MaxReloadOptions = 3
	// MaxReloadEntries is how many entries are kept, and ReloadAge how long after
	// their last use.
	MaxReloadEntries = 100
	ReloadAge        = 7 * 24 * time.Hour
	// MaxReloadEntryBytes is how much one entry may be, MaxReloadBytes all of
	// them, as JSON.
	MaxReloadEntryBytes = 256 << 10
	MaxReloadBytes      = 4 << 20
)

// ReloadOption is something that was done before and could be done again.
type ReloadOption struct {
	CacheID    string  `json:"cacheId"`
	Label      string  `json:"label"`
	Similarity float64 `json:"similarity"`
	Actions    int     `json:"actions"`
	Exact      bool    `json:"exact"`
}

// ReloadEntry is what was done once.
type ReloadEntry struct {
	ID    string `json:"id"`
	Label string `json:"label"`
	// Print is what triggered it.
	Print Fingerprint `json:"print"`
	// Actions are what was done, as it was done: who does it again replaces the
	// agent and the requests they name.
	Actions []wire.Action `json:"actions"`
	// Required are the windows that must be open.
	Required []wire.WindowID `json:"required,omitempty"`
	Created  wire.Millis     `json:"created"`
	LastUsed wire.Millis     `json:"lastUsed"`
	// Attempts counts how often it was done again, Failures how often that did
	// not work.
	Attempts int `json:"attempts,omitempty" wire:"min=0"`
	Failures int `json:"failures,omitempty" wire:"min=0"`
}

// keptEntry has no methods, so its form is that of its fields.
type keptEntry ReloadEntry

var entryFormat = sync.OnceValue(wire.FormatOf[keptEntry])

// MarshalJSON writes an entry by the rules of the wire.
func (e ReloadEntry) MarshalJSON() ([]byte, error) {
	return entryFormat().Append(nil, new(keptEntry(e))), nil
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (e *ReloadEntry) UnmarshalJSON(data []byte) error {
	kept, err := entryFormat().DecodeOwn(data)
	if err != nil {
		return fmt.Errorf("read a reload entry: %w", err)
	}
	*e = ReloadEntry(kept)
	return nil
}

// ReloadCache remembers what agents did, for when something similar is asked
// again.
type ReloadCache struct {
	entries map[string]*cached
	next    int
}

// cached is an entry and its size as JSON.
type cached struct {
	ReloadEntry
	size int
}

// NewReloadCache makes an empty one.
func NewReloadCache() *ReloadCache {
	return &ReloadCache{entries: make(map[string]*cached), next: 1}
}

// Record remembers what was done for a trigger. If the same was asked before, the
// entry keeps its id and has the new actions. Windows that the actions need and
// do not open themselves are required, and those of the caller.
//
// Questions and captures are left out, since nobody would wait for their answers.
// If nothing is left, or it is too much to keep, the entry has no ID. Evicted are
// the ids of entries that had to go.
func (c *ReloadCache) Record(now time.Time, t Trigger, actions []wire.Action, required []wire.WindowID) (entry ReloadEntry, evicted []string) {
	evicted = c.Expire(now)
	actions = repeatable(actions)
	if len(actions) == 0 {
		return ReloadEntry{}, evicted
	}
	at := wire.Millis(now.UnixMilli())
	entry = ReloadEntry{
		Label: label(t.Text), Print: t.Fingerprint(),
		Actions: actions, Required: needed(actions, required),
		Created: at, LastUsed: at,
	}
	if old := c.same(entry.Print); old != nil {
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

func (c *ReloadCache) same(f Fingerprint) *cached {
	for _, e := range c.entries {
		if e.Print.Same(f) {
			return e
		}
	}
	return nil
}

// evict drops what was not used for the longest time until the rest is not too
// much, and never keep.
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

// ordinal is the number in an id.
func ordinal(id string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(id, "reload-"))
	if err != nil {
		return 0
	}
	return n
}

// Options are the entries that fit a trigger, the best first.
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
		if s := asked.Similarity(e.Print); s >= ReloadThreshold {
			m := match{cached: e, similarity: s, rank: s, exact: asked.Same(e.Print)}
			if m.exact {
				m.rank++ // before others with the same words
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

// Get is the entry with an id.
func (c *ReloadCache) Get(now time.Time, id string) (ReloadEntry, bool) {
	e := c.entries[id]
	if e == nil || e.expired(now) {
		return ReloadEntry{}, false
	}
	return e.clone(), true
}

// Used notes that an entry was done again, and whether that worked. An entry that
// fails more often than not is removed after three attempts.
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
	return c.judge(e)
}

// Failed notes that an attempt that Used took for good was none: the user said
// so, later.
func (c *ReloadCache) Failed(id string) (removed bool) {
	e := c.entries[id]
	if e == nil {
		return false
	}
	e.Failures++
	e.Attempts = max(e.Attempts, e.Failures)
	return c.judge(e)
}

func (c *ReloadCache) judge(e *cached) (removed bool) {
	if e.Attempts < 3 || 2*e.Failures <= e.Attempts {
		return false
	}
	delete(c.entries, e.ID)
	return true
}

// CloseWindow removes the entries that need a window and returns their ids.
func (c *ReloadCache) CloseWindow(id wire.WindowID) []string {
	return c.remove(func(e *cached) bool { return slices.Contains(e.Required, id) })
}

// Expire removes the entries that nobody used for too long and returns their ids.
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

// Entries are all entries, the oldest first.
func (c *ReloadCache) Entries() []ReloadEntry {
	entries := make([]ReloadEntry, 0, len(c.entries))
	for e := range maps.Values(c.entries) {
		entries = append(entries, e.clone())
	}
	slices.SortFunc(entries, func(a, b ReloadEntry) int { return cmp.Compare(ordinal(a.ID), ordinal(b.ID)) })
	return entries
}

// Next is the number of the next new entry. It is to be kept: ids are never used
// again, even when their entries are gone.
func (c *ReloadCache) Next() int { return c.next }

// Restore replaces everything by what Entries and Next returned.
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
	return len(entryFormat().Append(nil, new(keptEntry(e))))
}

// clone shares no list with e. Actions are never changed.
func (e ReloadEntry) clone() ReloadEntry {
	e.Actions = slices.Clone(e.Actions)
	e.Required = slices.Clone(e.Required)
	return e
}

// repeatable are the actions that can be done again without anybody who waits
// for an answer.
func repeatable(actions []wire.Action) []wire.Action {
	return slices.DeleteFunc(slices.Clone(actions), func(a wire.Action) bool {
		switch a.(type) {
		case nil, wire.DialogConfirm, wire.PromptShow, wire.PromptDismiss, wire.WindowCapture:
			return true
		}
		return false
	})
}

// needed are the windows that must be there before: those in required, and those
// that the actions touch and have not opened.
func needed(actions []wire.Action, required []wire.WindowID) []wire.WindowID {
	out := slices.Clone(required)
	opened := make(map[wire.WindowID]bool)
	for _, a := range actions {
		if create, ok := a.(wire.WindowCreate); ok {
			opened[create.WindowID] = true
		} else if id, ok := touched(a); ok && !opened[id] {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// touched is the window that an action changes.
func touched(a wire.Action) (wire.WindowID, bool) {
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
