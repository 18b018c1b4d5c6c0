package tools

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// question is what the user is asked before a tool runs.
type question struct {
	title, message, yes string
	// topic is what the answer is remembered for, context what it is narrowed
	// to. Without a topic it is not remembered.
	topic, context string
}

// keys are where an answer may be kept, the narrower first.
func (q question) keys() []string {
	if q.context == "" {
		return []string{q.topic}
	}
	return []string{q.topic + ":" + q.context, q.topic}
}

// decision is what a user decided for good.
type decision struct {
	Decision string      `json:"decision"`
	Time     wire.Millis `json:"timestamp"`
	Context  string      `json:"context,omitempty"`
}

// What users decide.
const (
	allowed = "allow"
	denied  = "deny"
)

// permissions are the decisions of a user, by topic or topic:context.
type permissions map[string]decision

// maxPermissions bounds what is remembered of one user.
const maxPermissions = 500

// permissionWait is how long a user has for an answer.
const permissionWait = 60 * time.Second

// Why a tool may not run.
var (
	errDenied     = errors.New("the user said no")
	errUnanswered = errors.New("nobody answered in time, which means no")
)

// permitted asks the user, unless the answer is known.
func (u *use) permitted(ctx context.Context, q question) error {
	if q.topic != "" {
		known, _, err := load[permissions](ctx, u.Executor, permissionCollection, u.User)
		if err != nil {
			return err
		}
		for _, key := range q.keys() {
			switch known[key].Decision {
			case allowed:
				return nil
			case denied:
				return fmt.Errorf("%w, for good", errDenied)
			}
		}
	}
	dialog := wire.DialogConfirm{
		ID: wire.DialogID(u.id("dialog")), Title: q.title, Message: q.message,
		ConfirmText: q.yes, CancelText: "Cancel", ActionMeta: u.meta(),
	}
	if q.topic != "" {
		dialog.CancelText = "Deny"
		dialog.PermissionOptions = &wire.PermissionOptions{ShowRememberChoice: true, ToolName: q.topic, Context: q.context}
	}
	v, err := u.Desktop.Confirm(ctx, u.Caller, dialog, permissionWait)
	switch {
	case err != nil:
		return fmt.Errorf("the user could not be asked: %w", err)
	case !v.Answered:
		return errUnanswered
	}
	if q.topic != "" {
		u.remember(ctx, q, v)
	}
	if !v.Confirmed {
		return errDenied
	}
	return nil
}

// remember keeps an answer that was meant for good. That it could not be kept
// makes it no other answer.
func (u *use) remember(ctx context.Context, q question, v Verdict) {
	d := decision{Time: wire.Millis(time.Now().UnixMilli()), Context: q.context}
	switch {
	case v.Confirmed && v.Remember == wire.RememberAlways:
		d.Decision = allowed
	case !v.Confirmed && v.Remember == wire.RememberDenyAlways:
		d.Decision = denied
	default:
		return
	}
	err := edit(ctx, u.Executor, permissionCollection, u.User, func(p *permissions) error {
		if *p == nil {
			*p = permissions{}
		}
		key := q.keys()[0]
		if _, ok := (*p)[key]; !ok && len(*p) >= maxPermissions {
			return fmt.Errorf("%d decisions are remembered already", maxPermissions)
		}
		(*p)[key] = d
		return nil
	})
	if err != nil {
		u.cfg.Logger.Warn("a decision could not be remembered", "user", u.User, "topic", q.topic, "error", err)
	}
}
