package agentpool

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// answerTimeout is the time that users have to answer an approval.
const answerTimeout = time.Minute

// handleToolCall executes a tool after all earlier text is reported. The backend calls it, possibly
// several times concurrently.
func (ar *activeRun) handleToolCall(turn context.Context, call providers.ToolCall) (r providers.ToolResult) {
	if !ar.enter() {
		return turnOver()
	}
	defer ar.exit()
	defer ar.holdResult(turn)
	ctx, cancel := context.WithCancel(turn)
	defer cancel()
	defer context.AfterFunc(ar.workCtx, cancel)()
	said := make(chan struct{})
	select {
	case ar.flushes <- said:
	case <-ar.over:
		return turnOver()
	case <-ctx.Done():
		return turnOver()
	}
	select {
	case <-said:
	case <-ar.over:
		return turnOver()
	}
	err := guarded(func() error {
		r = ar.tracedCall(call, func() providers.ToolResult { return ar.runner.parent.cfg.Tools.Call(ctx, ar.caller, call) })
		return nil
	})
	if err != nil {
		ar.stopWork(&stopped{ar.failedEnd(err)})
		return providers.ToolResult{Text: "The tool broke.", IsError: true}
	}
	return r
}

// executeCall executes the tool call of a run that has no backend.
func (ar *activeRun) executeCall() (Ended, error) {
	if err := ar.reportBegan(); err != nil {
		return Ended{}, err
	}
	r := ar.tracedCall(*ar.Call, func() providers.ToolResult { return ar.runner.parent.cfg.Tools.Call(ar.workCtx, ar.caller, *ar.Call) })
	end := Ended{Outcome: providers.Completed, Result: &r}
	if s, ok := errors.AsType[*stopped](context.Cause(ar.workCtx)); ok {
		end.Outcome, end.Reason = s.end.Outcome, s.end.Reason
	}
	return end, nil
}

// holdResult delays the result of a tool while the run is being stopped, until the backend has
// been interrupted. Otherwise the backend would continue as if only the tool had failed.
func (ar *activeRun) holdResult(turn context.Context) {
	if ar.workCtx.Err() == nil {
		return
	}
	late := time.NewTimer(backendTimeout)
	defer late.Stop()
	select {
	case <-turn.Done():
	case <-ar.over:
	case <-late.C:
	}
}

// enter begins a call that the end of the run waits for. It returns false if the run is over.
func (ar *activeRun) enter() bool {
	ar.mu.Lock()
	defer ar.mu.Unlock()
	if ar.ended {
		return false
	}
	ar.busy++
	return true
}

func (ar *activeRun) exit() {
	ar.mu.Lock()
	defer ar.mu.Unlock()
	if ar.busy--; ar.ended && ar.busy == 0 {
		close(ar.quiet)
	}
}

// markEnded prevents further calls and returns the messages that the turn has not accepted.
func (ar *activeRun) markEnded() []*steer {
	ar.mu.Lock()
	defer ar.mu.Unlock()
	ar.ended = true
	close(ar.over)
	if ar.busy == 0 {
		close(ar.quiet)
	}
	return ar.steers
}

// pendingApproval is an approval that users are asked for.
type pendingApproval struct{ gone context.CancelFunc }

// askApproval asks the users whether the backend may do something and sends it the answer;
// without an answer it is denied. A repeated request for a pending approval is ignored.
func (ar *activeRun) askApproval(e providers.Event) {
	if ar.providerSession == nil {
		if len(ar.earlyApprovals) < maxEarly {
			ar.earlyApprovals = append(ar.earlyApprovals, e)
		}
		return
	}
	if !ar.enter() {
		return
	}
	session := ar.providerSession.session
	ctx, gone := context.WithCancel(ar.workCtx)
	a := &pendingApproval{gone}
	ar.mu.Lock()
	known := ar.approvals[e.Approval] != nil
	tooMany := ar.approvalCounts[e.Approval] == 0 && len(ar.approvalCounts) >= maxApprovals
	if !known {
		ar.approvals[e.Approval] = a
		if !tooMany {
			ar.approvalCounts[e.Approval]++
		}
	}
	id := ar.dialogID(e, ar.approvalCounts[e.Approval])
	ar.mu.Unlock()
	if known {
		gone()
		ar.exit()
		return
	}
	ar.runner.wg.Go(func() {
		defer ar.exit()
		defer ar.removeApproval(e.Approval, a)
		var d providers.Decision
		err := guarded(func() error {
			if tooMany {
				d.Reason = "Too much was asked for in this turn."
				return nil
			}
			v, err := ar.caller.Desktop.Users.Confirm(ctx, ar.caller, wire.DialogConfirm{
				ID: id, Title: "May the agent do this?", Message: e.Tool.Name + "\n" + string(e.Tool.Input),
				PermissionOptions: &wire.PermissionOptions{ToolName: e.Tool.Name},
			}, e.Tool, answerTimeout)
			d.Allow = v.Confirmed
			switch {
			case errors.Is(err, tools.ErrQuestionTooLong):
				d.Reason = "The user was not asked: " + err.Error() + "."
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
			ar.log.WarnContext(ctx, "asking for an approval failed", "tool", e.Tool.Name, "error", err)
		}
		if err := guarded(func() error { return session.Answer(ctx, e.Approval, d) }); err != nil {
			ar.log.WarnContext(ctx, "backend refused the answer to an approval", "tool", e.Tool.Name, "error", err)
		}
	})
}

// dialogID returns the id of the nth request for an approval. It is the same when a restarted
// turn asks again, so that there is one dialog and an answer given meanwhile is not lost.
func (ar *activeRun) dialogID(e providers.Event, n int) wire.DialogID {
	call := providers.ToolCall{ID: e.Approval, Input: e.Tool.Input}
	return wire.DialogID(tools.QuestionID(ar.caller, call, e.Tool.Name, strconv.Itoa(n)))
}

// cancelApproval cancels a pending approval.
func (ar *activeRun) cancelApproval(approval string) {
	ar.earlyApprovals = slices.DeleteFunc(ar.earlyApprovals, func(e providers.Event) bool { return e.Approval == approval })
	ar.mu.Lock()
	a := ar.approvals[approval]
	ar.mu.Unlock()
	if a != nil {
		ar.removeApproval(approval, a)
	}
}

// removeApproval removes one pending approval; the same approval may have been requested again
// meanwhile.
func (ar *activeRun) removeApproval(approval string, a *pendingApproval) {
	a.gone()
	ar.mu.Lock()
	defer ar.mu.Unlock()
	if ar.approvals[approval] == a {
		delete(ar.approvals, approval)
	}
}
