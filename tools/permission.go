package tools

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// question is a permission question that is asked before a tool runs.
type question struct {
	title, message, yes string
	// topic names the subject, and context narrows it. The answer can be remembered only if
	// context is set.
	topic, context string
}

// key returns the key of the remembered answer. It includes a hash of the displayed text, so
// that "always" applies to nothing else.
func (q question) key() string {
	return q.topic + ":" + q.context + ":" + digest(q.title, q.message)
}

// decision is a remembered decision of a user.
type decision struct {
	Decision string      `json:"decision"`
	Time     wire.Millis `json:"timestamp"`
	Context  string      `json:"context,omitempty"`
}

// Values of decision.Decision.
const (
	allowed = "allow"
	denied  = "deny"
)

// permissions holds the decisions of a user by [question.key]. Denials under the wider keys
// topic:context and topic are honoured, too.
type permissions map[string]decision

// maxPermissions bounds the remembered decisions of a user.
const maxPermissions = 500

// permissionTimeout bounds the wait for the user's answer.
const permissionTimeout = 60 * time.Second

// Reasons why a tool may not run.
var (
	errDenied     = errors.New("the user said no")
	errRules      = errors.New("the rules of this session deny it")
	errUnanswered = errors.New("there was no answer in time, which means no")
)

// consent decides whether a call may run: the user's permissions, and questions to the user.
type consent struct{ *use }

// proceed asks the user if a limit of requests or cost is exceeded. Every tool call leads to another
// request of the model, so that this is where agents can be stopped.
func (u consent) proceed(ctx context.Context) error {
	v, err := u.Desktop.Users.Proceed(ctx, u.Caller, u.call.ToolCall)
	switch {
	case err != nil:
		return fmt.Errorf("the user could not be asked: %w", err)
	case v.Confirmed:
		return nil
	case !v.Answered:
		return errUnanswered
	case v.Text != "":
		return fmt.Errorf("%w: %s", errDenied, truncate(v.Text, 2000))
	default:
		return errDenied
	}
}

// permitted returns nil if the call may run, else the reason why not. It uses the remembered
// answer if there is one; otherwise the auto-approval rules or the user decide. With outside the agent has
// read outside data: no remembered answer permits the call then.
func (u consent) permitted(ctx context.Context, q question, outside bool) error {
	dialog := wire.DialogConfirm{
		ID: wire.DialogID(u.question(q.title, q.message)), Title: q.title, Message: q.message,
		ConfirmText: q.yes, CancelText: "Cancel", ActionMeta: u.meta(),
		PermissionOptions: &wire.PermissionOptions{ToolName: q.topic, Context: q.context},
	}
	if q.context != "" {
		known, _, err := load[permissions](ctx, u.Executor, permissionCollection, u.User)
		if err != nil {
			return err
		}
		if known[q.key()].Decision == allowed && !outside {
			return nil
		}
		// Denials also apply if they were remembered for a wider scope.
		for _, key := range []string{q.key(), q.topic + ":" + q.context, q.topic} {
			if known[key].Decision == denied {
				return fmt.Errorf("%w, for good", errDenied)
			}
		}
		dialog.CancelText, dialog.PermissionOptions.ShowRememberChoice = "Deny", true
	}
	about := u.call.ToolCall
	about.Name = u.call.Tool
	v, err := u.Desktop.Users.Confirm(ctx, u.Caller, dialog, about, permissionTimeout)
	switch {
	case err != nil:
		return fmt.Errorf("the user could not be asked: %w", err)
	case !v.Answered:
		return errUnanswered
	}
	if q.context != "" {
		u.remember(ctx, q, v)
	}
	switch {
	case v.Confirmed:
		return nil
	case v.Rules:
		return errRules
	case v.Text != "":
		return fmt.Errorf("%w: %s", errDenied, truncate(v.Text, 2000))
	}
	return errDenied
}

// remember stores an answer that the user wants remembered. A failure does not change the
// answer.
func (u consent) remember(ctx context.Context, q question, v Verdict) {
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
		key := q.key()
		if _, ok := (*p)[key]; !ok && len(*p) >= maxPermissions {
			return fmt.Errorf("%d decisions are remembered already", maxPermissions)
		}
		(*p)[key] = d
		return nil
	})
	if err != nil {
		u.cfg.Logger.Warn("permission decision not stored", "user", u.User, "topic", q.topic, "error", err)
	}
}
