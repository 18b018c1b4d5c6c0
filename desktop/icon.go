package desktop

import (
	"cmp"

	"github.com/everdesk/everdesk/wire"
)

// icons holds the shortcuts of the desktop and the badges of the apps' icons.
type icons struct {
	badges    table[wire.AppID, badge]
	shortcuts table[wire.ShortcutID, wire.Shortcut]
}

// badge is the count on an app's icon.
type badge struct {
	AppID wire.AppID `json:"appId"`
	Count uint64     `json:"count"`
}

func (i *icons) setBadge(a wire.AppBadge) {
	switch {
	case a.Count == 0:
		i.badges.drop(a.AppID)
	case i.badges.get(a.AppID) != nil || i.badges.len() < MaxBadges:
		i.badges.put(a.AppID, badge{a.AppID, a.Count})
	}
}

func (i *icons) createShortcut(c wire.Shortcut) {
	if i.shortcuts.get(c.ID) != nil || i.shortcuts.len() < MaxShortcuts {
		i.shortcuts.put(c.ID, c)
	}
}

func (i *icons) updateShortcut(a wire.UpdateShortcut) {
	r := i.shortcuts.get(a.ShortcutID)
	if r == nil {
		return
	}
	c := i.shortcuts.touch(r)
	*c = PatchShortcut(*c, a.Updates)
}

// PatchShortcut returns a shortcut with the given fields changed.
func PatchShortcut(c wire.Shortcut, u wire.ShortcutPatch) wire.Shortcut {
	if u.Label != nil {
		c.Label = *u.Label
	}
	if u.Icon != nil {
		c.Icon = *u.Icon
	}
	if u.Target != nil {
		c.Target = *u.Target
	}
	if u.OSActions != nil {
		c.OSActions = *u.OSActions
	}
	c.IconType = cmp.Or(u.IconType, c.IconType)
	c.Type = cmp.Or(u.Type, c.Type)
	return c
}

// addTo adds the badges and shortcuts to a snapshot.
func (i *icons) addTo(state *wire.SessionState) {
	state.Shortcuts = i.shortcuts.sorted(nil, byCreation)
	for _, b := range i.badges.sorted(nil, byApp) {
		state.Badges = append(state.Badges, wire.Member[wire.AppID, uint64]{Key: b.AppID, Value: b.Count})
	}
}

func byApp(a, b *badge) int { return cmp.Compare(a.AppID, b.AppID) }

func byCreation(a, b *wire.Shortcut) int {
	return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), cmp.Compare(a.ID, b.ID))
}

// load fills the empty tables from a snapshot.
func (i *icons) load(p *wire.SessionState) {
	for _, b := range p.Badges {
		i.badges.put(b.Key, badge{b.Key, b.Value})
	}
	for _, c := range p.Shortcuts {
		i.shortcuts.put(c.ID, c)
	}
}

// clone returns a copy for trial changes.
func (i *icons) clone(sum *unwritten) icons {
	return icons{badges: i.badges.clone(sum), shortcuts: i.shortcuts.clone(sum)}
}
