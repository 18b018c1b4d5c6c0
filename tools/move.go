package tools

import (
	"context"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

type moveInput struct {
	WindowID wire.WindowID `json:"windowId"`
	X        *float64      `json:"x,omitempty" jsonschema:"Pixels from the left."`
	Y        *float64      `json:"y,omitempty" jsonschema:"Pixels from the top."`
	Width    *float64      `json:"width,omitempty" jsonschema:"Pixels." wire:"min=1"`
	Height   *float64      `json:"height,omitempty" jsonschema:"Pixels." wire:"min=1"`
}

// moveWindow moves and resizes a window in one step. A maximized or minimized window becomes a usual one,
// because its bounds would not be visible.
func moveWindow(ctx context.Context, u *use, in moveInput) providers.ToolResult {
	if in.X == nil && in.Y == nil && in.Width == nil && in.Height == nil {
		return u.refuse(ctx, "x, y, width, height: at least one is needed.")
	}
	return u.act(ctx, func(s *desktop.State) Plan {
		w, err := windowCall{u}.find(s, in.WindowID)
		if err != nil {
			return Plan{Result: fail(sentence(err.Error()))}
		}
		var actions []wire.Action
		if w.Maximized || w.Minimized {
			actions = append(actions, wire.WindowRestore{WindowID: w.WindowID, ActionMeta: u.meta()})
		}
		or := func(v *float64, old float64) float64 {
			if v == nil {
				return old
			}
			return *v
		}
		if in.X != nil || in.Y != nil {
			actions = append(actions, wire.WindowMove{WindowID: w.WindowID, X: or(in.X, w.Bounds.X), Y: or(in.Y, w.Bounds.Y), ActionMeta: u.meta()})
		}
		if in.Width != nil || in.Height != nil {
			actions = append(actions, wire.WindowResize{WindowID: w.WindowID, W: or(in.Width, w.Bounds.W), H: or(in.Height, w.Bounds.H), ActionMeta: u.meta()})
		}
		return Plan{Actions: actions, Result: textf("Moved window %q.", w.WindowID)}
	})
}
