package policies

import (
	"cmp"
	"maps"
	"slices"

	"github.com/everdesk/everdesk/wire"
)

// Key identifies a window in a session.
type Key struct {
	Monitor wire.MonitorID `json:"monitor"`
	Window  wire.WindowID  `json:"window"`
}

func compareKeys(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Monitor, b.Monitor), cmp.Compare(a.Window, b.Window))
}

// WindowConnection records which windows share an agent: a window and the windows that its
// agent opened. A window is in at most one group and a group is on one monitor. The name of a
// group is that of the window that opened the first other window, and does not change, so the
// agent of a window stays the same until the last window of the group is closed.
type WindowConnection struct {
	groupOf map[Key]*group
	groups  map[Key]*group // by monitor and name; a group has at least one member
}

type group struct {
	name    Key
	root    Key
	members map[Key]bool
}

// NewWindowConnection returns a WindowConnection without groups.
func NewWindowConnection() *WindowConnection {
	c := &WindowConnection{}
	c.Clear()
	return c
}

// Connect records that the agent of parent opened child, and reports whether they are in one
// group now. They are not if the child already is in another group or on another monitor.
func (c *WindowConnection) Connect(parent, child Key) bool {
	if parent == child || parent.Monitor != child.Monitor {
		return false
	}
	g := c.groupOf[parent]
	if other := c.groupOf[child]; other != nil {
		return other == g
	}
	if g == nil {
		g = c.join(parent, parent)
	}
	c.add(g, child)
	return true
}

// Open records a window that no window agent opened. If a group is named after that window and
// outlived it, both have the same agent, so the window joins the group.
func (c *WindowConnection) Open(k Key) {
	if c.groupOf[k] == nil && c.groups[k] != nil {
		c.join(k, k)
	}
}

// join adds k to the group of that name and creates the group if necessary.
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
	c.groupOf[k] = g
}

// CloseResult describes the effect of closing a window.
type CloseResult struct {
	// Group is the agent key of the closed window.
	Group string
	// Last says that no other window shares the agent.
	Last bool
	// Root is the root window of the group now, unless Last is set.
	Root Key
}

// Close removes a window from its group. If it was the root, the first of the others by name
// becomes the root.
func (c *WindowConnection) Close(k Key) CloseResult {
	g := c.groupOf[k]
	if g == nil {
		// A group may have the same agent key; see Open.
		if g = c.groups[k]; g == nil {
			return CloseResult{Group: string(k.Window), Last: true}
		}
	}
	delete(c.groupOf, k)
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

// AgentKey returns the key of the window's agent within its monitor: the name of its group, or
// its own.
func (c *WindowConnection) AgentKey(k Key) string {
	if g := c.groupOf[k]; g != nil {
		return string(g.name.Window)
	}
	return string(k.Window)
}

// Grouped reports whether a window is in a group.
func (c *WindowConnection) Grouped(k Key) bool { return c.groupOf[k] != nil }

// Members returns all windows of the window's group, sorted; nil if it is in no group.
func (c *WindowConnection) Members(k Key) []Key {
	g := c.groupOf[k]
	if g == nil {
		return nil
	}
	return slices.SortedFunc(maps.Keys(g.members), compareKeys)
}

// Root returns the root window of the window's group; false if it is in no group.
func (c *WindowConnection) Root(k Key) (Key, bool) {
	g := c.groupOf[k]
	if g == nil {
		return Key{}, false
	}
	return g.root, true
}

// Clear deletes all groups.
func (c *WindowConnection) Clear() {
	c.groupOf = make(map[Key]*group)
	c.groups = make(map[Key]*group)
}

// RemoveMonitor deletes the groups of a monitor.
func (c *WindowConnection) RemoveMonitor(m wire.MonitorID) {
	onIt := func(k Key, _ *group) bool { return k.Monitor == m }
	maps.DeleteFunc(c.groupOf, onIt)
	maps.DeleteFunc(c.groups, onIt)
}

// Pair is the membership of a window in a group.
type Pair struct {
	Key
	// Group is the agent key of the group.
	Group string `json:"group"`
	// Root says that the window is the root of the group.
	Root bool `json:"root,omitempty"`
}

// Pairs returns the memberships of all windows in groups, sorted.
func (c *WindowConnection) Pairs() []Pair {
	pairs := make([]Pair, 0, len(c.groupOf))
	for k, g := range c.groupOf {
		pairs = append(pairs, Pair{Key: k, Group: string(g.name.Window), Root: g.root == k})
	}
	slices.SortFunc(pairs, func(a, b Pair) int { return compareKeys(a.Key, b.Key) })
	return pairs
}

// Restore replaces all groups by what Pairs returned. A repeated window counts once; a group
// without a root gets its first window as root.
func (c *WindowConnection) Restore(pairs []Pair) {
	c.Clear()
	pairs = slices.SortedStableFunc(slices.Values(pairs), func(a, b Pair) int { return compareKeys(a.Key, b.Key) })
	for _, p := range pairs {
		if c.groupOf[p.Key] != nil {
			continue
		}
		g := c.join(Key{p.Monitor, wire.WindowID(p.Group)}, p.Key)
		if p.Root {
			g.root = p.Key
		}
	}
}
