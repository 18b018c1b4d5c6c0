package policies

import (
	"cmp"
	"maps"
	"slices"

	"github.com/everdesk/everdesk/wire"
)

// Key names a window in a session.
type Key struct {
	Monitor wire.MonitorID `json:"monitor"`
	Window  wire.WindowID  `json:"window"`
}

func compareKeys(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Monitor, b.Monitor), cmp.Compare(a.Window, b.Window))
}

// WindowConnection knows which windows share an agent: those that an agent of a
// window opened, and that window. A window is in one group at most, a group is on
// one monitor, and its name is that of the window that opened the first one, for
// ever. So the agent of a window stays the same until the last window of the
// group is closed.
type WindowConnection struct {
	of     map[Key]*group
	groups map[Key]*group // by monitor and name; each has a member
}

type group struct {
	name    Key
	root    Key
	members map[Key]bool
}

// NewWindowConnection makes one without groups.
func NewWindowConnection() *WindowConnection {
	c := &WindowConnection{}
	c.Clear()
	return c
}

// Connect notes that the agent of parent opened child, and reports whether they
// are in one group now. They are not when the child is in another group already,
// or on another monitor.
func (c *WindowConnection) Connect(parent, child Key) bool {
	if parent == child || parent.Monitor != child.Monitor {
		return false
	}
	g := c.of[parent]
	if other := c.of[child]; other != nil {
		return other == g
	}
	if g == nil {
		g = c.join(parent, parent)
	}
	c.add(g, child)
	return true
}

// Open notes that a window was opened by somebody else than a window's agent. It
// matters when the window has the name of a group that outlived the window it is
// named after: then the two have the same agent, so the window joins.
func (c *WindowConnection) Open(k Key) {
	if c.of[k] == nil && c.groups[k] != nil {
		c.join(k, k)
	}
}

// join adds k to the group of that name, which may be a new one.
func (c *WindowConnection) join(name, k Key) *group {
	g := c.groups[name]
	if g == nil {
		g = &group{name: name, root: k, members: make(map[Key]bool)}
		c.groups[name] = g
	}
	c.add(g, k)
	return g
}

func (c *WindowConnection) add(g *group, k Key) {
	g.members[k] = true
	c.of[k] = g
}

// CloseResult is what it means that a window was closed.
type CloseResult struct {
	// Group is the agent key the window had.
	Group string
	// Last says that nobody is left who needs the agent.
	Last bool
	// Root is the window that stands for the group now, unless it was the last.
	Root Key
}

// Close takes a window out of its group. When the root closes, the first of the
// others by name takes its place.
func (c *WindowConnection) Close(k Key) CloseResult {
	g := c.of[k]
	if g == nil {
		// A group may have the same agent; see Open.
		if g = c.groups[k]; g == nil {
			return CloseResult{Group: string(k.Window), Last: true}
		}
	}
	delete(c.of, k)
	delete(g.members, k)
	result := CloseResult{Group: string(g.name.Window)}
	if len(g.members) == 0 {
		delete(c.groups, g.name)
		result.Last = true
		return result
	}
	if g.root == k {
		g.root = slices.MinFunc(slices.Collect(maps.Keys(g.members)), compareKeys)
	}
	result.Root = g.root
	return result
}

// AgentKey names the agent of a window within its monitor: the name of its group,
// or its own.
func (c *WindowConnection) AgentKey(k Key) string {
	if g := c.of[k]; g != nil {
		return string(g.name.Window)
	}
	return string(k.Window)
}

// Grouped reports whether a window is in a group.
func (c *WindowConnection) Grouped(k Key) bool { return c.of[k] != nil }

// Members are all windows of a window's group, sorted; nil when it has none.
func (c *WindowConnection) Members(k Key) []Key {
	g := c.of[k]
	if g == nil {
		return nil
	}
	return slices.SortedFunc(maps.Keys(g.members), compareKeys)
}

// Root is the window that stands for a window's group; false when it has none.
func (c *WindowConnection) Root(k Key) (Key, bool) {
	g := c.of[k]
	if g == nil {
		return Key{}, false
	}
	return g.root, true
}

// Clear forgets all groups.
func (c *WindowConnection) Clear() {
	c.of = make(map[Key]*group)
	c.groups = make(map[Key]*group)
}

// RemoveMonitor forgets the groups of a monitor.
func (c *WindowConnection) RemoveMonitor(m wire.MonitorID) {
	onIt := func(k Key, _ *group) bool { return k.Monitor == m }
	maps.DeleteFunc(c.of, onIt)
	maps.DeleteFunc(c.groups, onIt)
}

// Pair says that a window is in a group.
type Pair struct {
	Key
	// Group is the agent key of the group.
	Group string `json:"group"`
	// Root says that the window stands for the group.
	Root bool `json:"root,omitempty"`
}

// Pairs are all windows that are in groups, sorted.
func (c *WindowConnection) Pairs() []Pair {
	pairs := make([]Pair, 0, len(c.of))
	for k, g := range c.of {
		pairs = append(pairs, Pair{Key: k, Group: string(g.name.Window), Root: g.root == k})
	}
	slices.SortFunc(pairs, func(a, b Pair) int { return compareKeys(a.Key, b.Key) })
	return pairs
}

// Restore replaces everything by what Pairs returned. A window that is there
// twice is taken once; a group without a root gets the first of its windows.
func (c *WindowConnection) Restore(pairs []Pair) {
	c.Clear()
	pairs = slices.SortedStableFunc(slices.Values(pairs), func(a, b Pair) int { return compareKeys(a.Key, b.Key) })
	for _, p := range pairs {
		if c.of[p.Key] != nil {
			continue
		}
		g := c.join(Key{p.Monitor, wire.WindowID(p.Group)}, p.Key)
		if p.Root {
			g.root = p.Key
		}
	}
}
