package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// Shortcuts are icons on the desktop. They belong to the session, like its windows: the actions of a
// shortcut name windows and files of that session.

// pinners are the profiles with tools for shortcuts.
var pinners = []string{ProfileMain, ProfileAll, ProfileDefault, ProfileApp}

func shortcutTools() []tool {
	return []tool{
		{
			name: "system:create_shortcut", in: pinners, use: with(createShortcut),
			about: "Put an icon on the desktop. A click runs osActions, if there are any, such as a window.create that opens a page or an app; " +
				"otherwise it opens the address of a url, or sends the target of a file or an action to you as a message.",
		},
		{name: "system:update_shortcut", in: pinners, use: with(updateShortcut), about: "Change the given fields of an icon on the desktop."},
		{name: "system:remove_shortcut", in: pinners, use: with(removeShortcut), about: "Remove an icon from the desktop."},
		{
			name: "system:list_shortcuts", in: pinners, parallel: true, repeatable: true, use: with(listShortcuts),
			about: "List the icons on the desktop, with their ids.",
		},
	}
}

// Bounds of a shortcut.
const (
	maxShortcutActions = 20
	maxShortcutPayload = 64 << 10
)

type createShortcutInput struct {
	Label     string            `json:"label" wire:"min=1,max=100"`
	Icon      string            `json:"icon" jsonschema:"An emoji, or for iconType image a file of this desktop's storage, such as /files/logo.png." wire:"max=2000"`
	IconType  wire.IconType     `json:"iconType,omitempty" jsonschema:"emoji when absent."`
	Type      wire.ShortcutType `json:"type"`
	Target    string            `json:"target" jsonschema:"A path in storage, an address, or what a click asks you to do." wire:"max=4096"`
	OSActions json.RawMessage   `json:"osActions,omitempty" jsonschema:"Desktop actions that a click runs without you, such as [{type:window.create,windowId,title,bounds:{x,y,w,h},content:{renderer,data}}]."`
}

type updateShortcutInput struct {
	ShortcutID wire.ShortcutID   `json:"shortcutId"`
	Label      *string           `json:"label,omitempty" wire:"min=1,max=100"`
	Icon       *string           `json:"icon,omitempty" wire:"max=2000"`
	IconType   wire.IconType     `json:"iconType,omitempty"`
	Type       wire.ShortcutType `json:"type,omitempty"`
	Target     *string           `json:"target,omitempty" wire:"max=4096"`
	OSActions  json.RawMessage   `json:"osActions,omitempty" jsonschema:"Replaces the actions; an empty list removes them."`
}

type shortcutIDInput struct {
	ShortcutID wire.ShortcutID `json:"shortcutId"`
}

// shortcutLine is an entry in the result of system:list_shortcuts.
type shortcutLine struct {
	ShortcutID wire.ShortcutID   `json:"shortcutId"`
	Label      string            `json:"label"`
	Icon       string            `json:"icon"`
	IconType   wire.IconType     `json:"iconType,omitempty"`
	Type       wire.ShortcutType `json:"type"`
	Target     string            `json:"target"`
	OSActions  int               `json:"osActions,omitempty" jsonschema:"How many actions a click runs."`
}

func createShortcut(ctx context.Context, u *use, in createShortcutInput) providers.ToolResult {
	actions, err := u.shortcutActions(in.OSActions)
	if err != nil {
		return u.refuse(ctx, "%s", sentence(err.Error()))
	}
	s := wire.Shortcut{
		ID: wire.ShortcutID(u.id("shortcut")), Label: in.Label, Icon: in.Icon, IconType: in.IconType, Type: in.Type, Target: in.Target,
		OSActions: actions, CreatedAt: wire.Millis(time.Now().UnixMilli()),
	}
	if err := checkShortcut(s); err != nil {
		return u.refuse(ctx, "%s", sentence(err.Error()))
	}
	return u.do(ctx, wire.CreateShortcut{Shortcut: s, ActionMeta: u.meta()}, "Put the shortcut %q on the desktop.", s.ID)
}

func updateShortcut(ctx context.Context, u *use, in updateShortcutInput) providers.ToolResult {
	patch := wire.ShortcutPatch{Label: in.Label, Icon: in.Icon, IconType: in.IconType, Type: in.Type, Target: in.Target}
	if isPresent(in.OSActions) {
		actions, err := u.shortcutActions(in.OSActions)
		if err != nil {
			return u.refuse(ctx, "%s", sentence(err.Error()))
		}
		patch.OSActions = &actions
	}
	return u.act(ctx, func(s *desktop.State) Plan {
		old, ok := findShortcut(s, in.ShortcutID)
		if !ok {
			return Plan{Result: noShortcut(in.ShortcutID)}
		}
		if err := checkShortcut(desktop.PatchShortcut(old, patch)); err != nil {
			return Plan{Result: fail(sentence(err.Error()))}
		}
		return Plan{
			Actions: []wire.Action{wire.UpdateShortcut{ShortcutID: in.ShortcutID, Updates: patch, ActionMeta: u.meta()}},
			Result:  textf("Changed the shortcut %q.", in.ShortcutID),
		}
	})
}

func removeShortcut(ctx context.Context, u *use, in shortcutIDInput) providers.ToolResult {
	return u.act(ctx, func(s *desktop.State) Plan {
		if _, ok := findShortcut(s, in.ShortcutID); !ok {
			return Plan{Result: noShortcut(in.ShortcutID)}
		}
		return Plan{
			Actions: []wire.Action{wire.RemoveShortcut{ShortcutID: in.ShortcutID, ActionMeta: u.meta()}},
			Result:  textf("Removed the shortcut %q.", in.ShortcutID),
		}
	})
}

func listShortcuts(ctx context.Context, u *use, _ none) providers.ToolResult {
	return u.act(ctx, func(s *desktop.State) Plan {
		lines := []shortcutLine{}
		for _, c := range s.Shortcuts() {
			lines = append(lines, shortcutLine{c.ID, c.Label, c.Icon, c.IconType, c.Type, c.Target, len(c.OSActions)})
		}
		return Plan{Result: asJSON(lines)}
	})
}

func findShortcut(s *desktop.State, id wire.ShortcutID) (wire.Shortcut, bool) {
	all := s.Shortcuts()
	i := slices.IndexFunc(all, func(c wire.Shortcut) bool { return c.ID == id })
	if i < 0 {
		return wire.Shortcut{}, false
	}
	return all[i], true
}

func noShortcut(id wire.ShortcutID) providers.ToolResult {
	return failf("There is no shortcut %q. See system_list_shortcuts.", truncate(string(id), 200))
}

// checkShortcut validates a shortcut of an agent.
func checkShortcut(s wire.Shortcut) error {
	if strings.TrimSpace(s.Label) == "" {
		return errors.New("label: the icon needs a text that is not empty")
	}
	if len(s.OSActions) > 0 {
		return nil // a click runs them and does not look at the target
	}
	if strings.TrimSpace(s.Target) == "" {
		return errors.New("target: without osActions a click needs a target")
	}
	if s.Type != wire.ShortcutURL {
		return nil
	}
	if at, err := url.Parse(s.Target); err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return fmt.Errorf("target: %q is no address of http or https", truncate(s.Target, 200))
	}
	return nil
}

// shortcutActions decodes the actions that a click on a shortcut runs.
func (u *use) shortcutActions(data json.RawMessage) ([]wire.Action, error) {
	if !isPresent(data) {
		return nil, nil
	}
	if len(data) > maxShortcutPayload {
		return nil, fmt.Errorf("osActions: they have %d bytes, at most %d are allowed", len(data), maxShortcutPayload)
	}
	actions, err := u.forms.actions.Decode(structured(data))
	if err != nil {
		return nil, within("osActions", "it is a list of desktop actions", err)
	}
	if len(actions) > maxShortcutActions {
		return nil, fmt.Errorf("osActions: %d actions, at most %d are allowed", len(actions), maxShortcutActions)
	}
	if err := checkClickActions(actions); err != nil {
		return nil, fmt.Errorf("osActions: %w", err)
	}
	return actions, nil
}

// checkClickActions refuses actions that a click on a shortcut must not run in the name of the user:
// questions, whose answers would go to an agent that did not ask, locks, and other shortcuts.
func checkClickActions(actions []wire.Action) error {
	for _, action := range actions {
		switch action.(type) {
		case wire.DialogConfirm, wire.PromptShow, wire.PromptDismiss, wire.WindowLock, wire.WindowUnlock, wire.WindowCapture,
			wire.CreateShortcut, wire.UpdateShortcut, wire.RemoveShortcut:
			return errors.New("a click can open and change windows, notifications, toasts and badges; it cannot ask, lock, or change shortcuts")
		}
	}
	return checkActions(actions)
}

// isPresent reports whether a field has a value other than null, which counts as absent.
func isPresent(data json.RawMessage) bool { return len(data) > 0 && string(data) != "null" }
