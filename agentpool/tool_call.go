package agentpool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

const (
	// answerTimeout is the time that users have to answer an approval.
	answerTimeout = time.Minute
	// shownInput bounds the tool input shown to users. They cannot approve what they cannot
	// see, so it is large.
	shownInput = 64 << 10
)

// call executes a tool after all earlier text is reported. The backend calls it, possibly
// several times concurrently.
func (l *activeRun) call(turn context.Context, call providers.ToolCall) (r providers.ToolResult) {
	if !l.enter() {
		return turnOver()
	}
	defer l.exit()
	defer l.holdResult(turn)
	ctx, cancel := context.WithCancel(turn)
	defer cancel()
	defer context.AfterFunc(l.workCtx, cancel)()
	said := make(chan struct{})
	select {
	case l.flushes <- said:
	case <-l.over:
		return turnOver()
	case <-ctx.Done():
		return turnOver()
	}
	select {
	case <-said:
	case <-l.over:
		return turnOver()
	}
	err := guarded(func() error {
		r = l.tracedCall(call, func() providers.ToolResult { return l.runner.parent.cfg.Tools.Call(ctx, l.caller, call) })
		return nil
	})
	if err != nil {
		l.stopWork(&stopped{l.failedEnd(err)})
		return providers.ToolResult{Text: "The tool broke.", IsError: true}
	}
	return r
}

// executeCall executes the tool call of a run that has no backend.
func (l *activeRun) executeCall() (Ended, error) {
	if err := l.begin(); err != nil {
		return Ended{}, err
	}
	r := l.tracedCall(*l.Call, func() providers.ToolResult { return l.runner.parent.cfg.Tools.Call(l.workCtx, l.caller, *l.Call) })
	end := Ended{Outcome: providers.Completed, Result: &r}
	if s, ok := errors.AsType[*stopped](context.Cause(l.workCtx)); ok {
		end.Outcome, end.Reason = s.end.Outcome, s.end.Reason
	}
	return end, nil
}

// holdResult delays the result of a tool while the run is being stopped, until the backend has
// been interrupted. Otherwise the backend would continue as if only the tool had failed.
func (l *activeRun) holdResult(turn context.Context) {
	if l.workCtx.Err() == nil {
		return
	}
	late := time.NewTimer(backendTimeout)
	defer late.Stop()
	select {
	case <-turn.Done():
	case <-l.over:
	case <-late.C:
	}
}

// enter begins a call that the end of the run waits for. It returns false if the run is over.
func (l *activeRun) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return false
	}
	l.busy++
	return true
}

func (l *activeRun) exit() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy--; l.ended && l.busy == 0 {
		close(l.quiet)
	}
}

// markEnded prevents further calls and returns the messages that the turn has not accepted.
func (l *activeRun) markEnded() []*steer {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	close(l.over)
	if l.busy == 0 {
		close(l.quiet)
	}
	return l.steers
}

// pendingApproval is an approval that users are asked for.
type pendingApproval struct{ gone context.CancelFunc }

// askApproval asks the users whether the backend may do something and sends it the answer;
// without an answer it is denied. A repeated request for a pending approval is ignored.
func (l *activeRun) askApproval(e providers.Event) {
	if l.providerSession == nil {
		if len(l.earlyApprovals) < maxEarly {
			l.earlyApprovals = append(l.earlyApprovals, e)
		}
		return
	}
	if !l.enter() {
		return
	}
	session := l.providerSession.session
	ctx, gone := context.WithCancel(l.workCtx)
	a := &pendingApproval{gone}
	l.mu.Lock()
	known := l.approvals[e.Approval] != nil
	tooMany := l.approvalCounts[e.Approval] == 0 && len(l.approvalCounts) >= maxApprovals
	if !known {
		l.approvals[e.Approval] = a
		if !tooMany {
			l.approvalCounts[e.Approval]++
		}
	}
	id := l.dialogID(e, l.approvalCounts[e.Approval])
	l.mu.Unlock()
	if known {
		gone()
		l.exit()
		return
	}
	l.runner.wg.Go(func() {
		defer l.exit()
		defer l.removeApproval(e.Approval, a)
		var d providers.Decision
		err := guarded(func() error {
			if tooMany {
				d.Reason = "Too much was asked for in this turn."
				return nil
			}
			v, err := l.caller.Desktop.Users.Confirm(ctx, l.caller, wire.DialogConfirm{
				ID: id, Title: "May the agent do this?", Message: e.Tool.Name + "\n" + clip(string(e.Tool.Input), shownInput),
				PermissionOptions: &wire.PermissionOptions{ToolName: e.Tool.Name},
			}, e.Tool, answerTimeout)
			d.Allow = v.Confirmed
			switch {
			case err != nil:
				d.Reason = "The question could not be asked."
			case !v.Answered:
				d.Reason = "No answer arrived in time."
			case !v.Confirmed && v.Rules:
				d.Reason = "The rules of this session deny it."
			case !v.Confirmed && v.Text != "":
				d.Reason = "The user said no: " + v.Text
			case !v.Confirmed:
				d.Reason = "The user said no."
			}
			return err
		})
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			l.log.WarnContext(ctx, "asking for an approval failed", "tool", e.Tool.Name, "error", err)
		}
		if err := guarded(func() error { return session.Answer(ctx, e.Approval, d) }); err != nil {
			l.log.WarnContext(ctx, "backend refused the answer to an approval", "tool", e.Tool.Name, "error", err)
		}
	})
}

// dialogID returns the id of the nth request for an approval. It is the same when a restarted
// turn asks again, so that there is one dialog and an answer given meanwhile is not lost.
func (l *activeRun) dialogID(e providers.Event, n int) wire.DialogID {
	call := providers.ToolCall{ID: e.Approval, Input: e.Tool.Input}
	return wire.DialogID(tools.QuestionID(l.caller, call, e.Tool.Name, strconv.Itoa(n)))
}

// cancelApproval cancels a pending approval.
func (l *activeRun) cancelApproval(approval string) {
	l.earlyApprovals = slices.DeleteFunc(l.earlyApprovals, func(e providers.Event) bool { return e.Approval == approval })
	l.mu.Lock()
	a := l.approvals[approval]
	l.mu.Unlock()
	if a != nil {
		l.removeApproval(approval, a)
	}
}

// removeApproval removes one pending approval; the same approval may have been requested again
// meanwhile.
func (l *activeRun) removeApproval(approval string, a *pendingApproval) {
	a.gone()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.approvals[approval] == a {
		delete(l.approvals, approval)
	}
}

// clip truncates a text for display.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return fmt.Sprintf("%s… (%d bytes more)", strings.ToValidUTF8(s[:n], ""), len(s)-n)
}
