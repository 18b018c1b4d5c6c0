package tools

import (
	"cmp"
	"context"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

func noticeTools() []tool {
	return []tool{
		{
			name: "window:show_notification", in: everyone, use: with(showNotification),
			about: "Show a notification, which stays in the notification centre until it is dismissed.",
		},
		{name: "window:dismiss_notification", in: everyone, stays: true, use: with(dismissNotification), about: "Remove a notification."},
		{
			name: "window:show_toast", in: everyone, use: with(showToast),
			about: "Show a short message over the desktop for a few seconds.",
		},
		{name: "window:dismiss_toast", in: everyone, stays: true, use: with(dismissToast), about: "Remove a toast before its time."},
	}
}

type notificationInput struct {
	ID       wire.NoticeID `json:"id,omitempty" jsonschema:"The same id again replaces it; chosen for you when absent."`
	Title    string        `json:"title" wire:"max=500"`
	Body     string        `json:"body" wire:"max=10000"`
	Icon     string        `json:"icon,omitempty" jsonschema:"An emoji." wire:"max=500"`
	Duration int           `json:"duration,omitempty" jsonschema:"How long it pops up, in milliseconds; 8000 by default." wire:"min=0,max=3600000"`
}

// do executes one action that needs no existing window.
func (u *use) do(ctx context.Context, a wire.Action, format string, args ...any) providers.ToolResult {
	return u.act(ctx, func(*desktop.State) Plan {
		return Plan{Actions: []wire.Action{a}, Result: textf(format, args...)}
	})
}

func showNotification(ctx context.Context, u *use, in notificationInput) providers.ToolResult {
	n := wire.Notification{
		ID: cmp.Or(in.ID, wire.NoticeID(u.id("note"))), Title: in.Title, Body: in.Body, Icon: in.Icon, Duration: in.Duration,
	}
	return u.do(ctx, wire.NotificationShow{Notification: n, ActionMeta: u.meta()}, "Showed notification %q.", n.ID)
}

type noticeInput struct {
	ID wire.NoticeID `json:"id"`
}

func dismissNotification(ctx context.Context, u *use, in noticeInput) providers.ToolResult {
	return u.do(ctx, wire.NotificationDismiss{ID: in.ID, ActionMeta: u.meta()}, "Dismissed notification %q.", in.ID)
}

type toastInput struct {
	ID       wire.NoticeID      `json:"id,omitempty" jsonschema:"Chosen for you when absent."`
	Message  string             `json:"message" wire:"max=2000"`
	Variant  wire.NoticeVariant `json:"variant,omitempty"`
	Duration int                `json:"duration,omitempty" jsonschema:"In milliseconds; 5000 by default." wire:"min=0,max=3600000"`
}

func showToast(ctx context.Context, u *use, in toastInput) providers.ToolResult {
	t := wire.Toast{ID: cmp.Or(in.ID, wire.NoticeID(u.id("toast"))), Message: in.Message, Variant: in.Variant, Duration: in.Duration}
	return u.do(ctx, wire.ToastShow{Toast: t, ActionMeta: u.meta()}, "Showed toast %q.", t.ID)
}

func dismissToast(ctx context.Context, u *use, in noticeInput) providers.ToolResult {
	return u.do(ctx, wire.ToastDismiss{ID: in.ID, ActionMeta: u.meta()}, "Dismissed toast %q.", in.ID)
}
