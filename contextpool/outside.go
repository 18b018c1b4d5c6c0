package contextpool

import (
	"fmt"
	"slices"

	"github.com/everdesk/everdesk/approval"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// outsideTable holds, by monitor, the sources of outside data that its agents have read.
const outsideTable = "outside"

const (
	// maxSources bounds the sources of a monitor. Further ones count as moreSources.
	maxSources  = 16
	moreSources = "other sources"
	// importedSource is the source of an imported session: its file may have any author.
	importedSource = "an imported session"
	// maxScopes bounds the scopes that users have confirmed in one turn.
	maxScopes = 64
)

// outsideData records which data from outside the hub the agents of each monitor have read. All agents of a
// monitor share it: they read each other's windows, answers and timeline, and later turns read the
// conversation again. Only a reset deletes it, because windows stay when a conversation is rewound or
// condensed.
type outsideData struct {
	*services

	byMonitor map[wire.MonitorID][]string
}

// add records a source. It is part of the step that stores the data, so that no model has read the data
// before the record is committed.
func (o *outsideData) add(monitor wire.MonitorID, sources ...string) {
	known := o.byMonitor[monitor]
	for _, s := range sources {
		s = truncate(s, nameBytes)
		if len(known) >= maxSources-1 {
			s = moreSources
		}
		if s != "" && !slices.Contains(known, s) {
			known = append(slices.Clip(known), s)
		}
	}
	if len(known) > len(o.byMonitor[monitor]) {
		o.byMonitor[monitor] = known
		o.step.AddOps(store.Set(outsideTable, string(monitor), encode(known)))
	}
}

// addCalls records the sources of calls of an agent's own tools. The agent has the results before the hub
// has.
func (o *outsideData) addCalls(monitor wire.MonitorID, entries []providers.Entry) {
	for _, e := range entries {
		for _, b := range e.Blocks {
			if b.Kind == providers.BlockToolCall {
				o.add(monitor, approval.OutsideSource(b.Tool, b.Input))
			}
		}
	}
}

// clear deletes the sources of the selected monitors.
func (o *outsideData) clear(on func(wire.MonitorID) bool) {
	for _, monitor := range sortedKeys(o.byMonitor) {
		if on(monitor) {
			delete(o.byMonitor, monitor)
			o.step.AddOps(store.Unset(outsideTable, string(monitor)))
		}
	}
}

func (o *outsideData) restore(tables map[string]map[string][]byte) error {
	for monitor, data := range tables[outsideTable] {
		var sources []string
		if err := decode(data, &sources); err != nil {
			return fmt.Errorf("outside data of %s: %w", monitor, err)
		}
		o.byMonitor[wire.MonitorID(monitor)] = sources
	}
	return nil
}

func (o *outsideData) allOps() (ops []store.Op) {
	for _, monitor := range sortedKeys(o.byMonitor) {
		ops = append(ops, store.Set(outsideTable, string(monitor), encode(o.byMonitor[monitor])))
	}
	return ops
}

// OutsideSources returns the sources of outside data that the agents of the caller's monitor have read. It
// returns none if the rules let agents act without asking nevertheless, or if a user has confirmed calls of
// the scope in the caller's turn.
func (qs *Questions) OutsideSources(c tools.Caller, scope string) []string {
	t := qs.turns.ofCaller(c)
	if qs.rulesOf(t).AlwaysAllowAfterOutsideData || t != nil && scope != "" && slices.Contains(t.Cleared, scope) {
		return nil
	}
	return slices.Clone(qs.outside.byMonitor[c.Monitor])
}

// AllowScope records that a user has confirmed calls of the scope for the rest of the caller's turn.
func (qs *Questions) AllowScope(c tools.Caller, scope string) {
	t := qs.turns.ofCaller(c)
	if t == nil || slices.Contains(t.Cleared, scope) || len(t.Cleared) >= maxScopes {
		return
	}
	t.Cleared = append(t.Cleared, truncate(scope, nameBytes))
	qs.turns.store(t)
}
