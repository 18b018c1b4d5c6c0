package desktop

import (
	"slices"

	"github.com/everdesk/everdesk/wire"
)

// sessionInfo holds the properties of the session itself: title, owner and provider, the
// connections, the auto-approval rules, the mode of agents and the custom instructions.
type sessionInfo struct {
	about    table[only, about]
	presence table[only, wire.Presence]
	approval table[only, wire.AutoApproval]
	mode     table[only, wire.AgentMode]

	instructions table[only, instructions]
}

// instructions holds the custom instructions of the session. They are not in about, which changes with
// every row.
type instructions struct {
	Text string `json:"text"`
}

// setApproval sets the auto-approval rules of the session, or removes them.
func (i *sessionInfo) setApproval(p wire.AutoApprovalChanged) {
	if p.UseDefault {
		i.approval.drop(only{})
		return
	}
	i.approval.put(only{}, p.Rules)
}

// setMode sets the mode of agents; one without an id removes it.
func (i *sessionInfo) setMode(m wire.AgentMode) {
	if m.ID == "" {
		i.mode.drop(only{})
		return
	}
	i.mode.put(only{}, m)
}

// setInstructions sets the custom instructions; an empty text removes them.
func (i *sessionInfo) setInstructions(text string) {
	if text == "" {
		i.instructions.drop(only{})
		return
	}
	i.instructions.put(only{}, instructions{Text: text})
}

// about holds the properties that are stored together.
type about struct {
	Title string         `json:"title,omitempty"`
	Owner wire.ReplicaID `json:"owner,omitempty"`
	// Provider is the provider that the session uses.
	Provider string `json:"provider,omitempty"`
	// LastRow and LastTS are the highest of any row ever: they are never reused, even if
	// the row is dropped.
	LastRow wire.RowID  `json:"lastRow,omitempty"`
	LastTS  wire.Millis `json:"lastTs,omitempty"`
}

// get returns the properties that are stored together.
func (i *sessionInfo) get() about {
	a, _ := i.about.value(only{})
	return a
}

// edit returns the same properties for modification.
func (i *sessionInfo) edit() *about {
	r := i.about.get(only{})
	if r == nil {
		r = i.about.put(only{}, about{})
	}
	return i.about.touch(r)
}

// countRow raises the highest id and TS of rows.
func (i *sessionInfo) countRow(row *wire.UIRow) {
	if a := i.get(); row.ID > a.LastRow || row.TS > a.LastTS {
		a.LastRow, a.LastTS = max(a.LastRow, row.ID), max(a.LastTS, row.TS)
		*i.edit() = a
	}
}

// addTo adds the properties to a snapshot.
func (i *sessionInfo) addTo(state *wire.SessionState) {
	a := i.get()
	state.Title, state.Owner, state.Provider = a.Title, a.Owner, a.Provider
	if rules, ok := i.approval.value(only{}); ok {
		state.AutoApproval = &rules
	}
	if mode, ok := i.mode.value(only{}); ok {
		state.AgentMode = &mode
	}
	orders, _ := i.instructions.value(only{})
	state.Instructions = orders.Text
	presence, _ := i.presence.value(only{})
	state.Connections = max(presence.Total, len(presence.Connections))
	state.Presence = slices.Clone(presence.Connections)
}

// load fills the empty tables from a snapshot. The highest row is not part of a snapshot.
func (i *sessionInfo) load(p *wire.SessionState, lastRow wire.RowID, lastTS wire.Millis) {
	i.about.put(only{}, about{Title: p.Title, Owner: p.Owner, Provider: p.Provider, LastRow: lastRow, LastTS: lastTS})
	i.presence.put(only{}, wire.Presence{Connections: p.Presence, Total: p.Connections})
	if p.AutoApproval != nil {
		i.approval.put(only{}, *p.AutoApproval)
	}
	if p.AgentMode != nil {
		i.setMode(*p.AgentMode)
	}
	i.setInstructions(p.Instructions)
}
