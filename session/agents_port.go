package session

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/everdesk/everdesk/approval"
	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// port is the interface of an owner for its own agents. Their goroutines call it, and it turns the
// calls into items of the mailbox.
type port struct{ owner *owner }

// desktop returns the port in the roles that tools use.
func (p port) desktop() tools.Desktop {
	return tools.Desktop{Steps: p, Users: p, Tabs: p, Tasks: p, Reloads: p, Mailbox: p, Notebooks: p, Trust: p}
}

// put adds an item to the mailbox. It blocks while the mailbox is full, until ctx or the owner
// ends.
func (p port) put(ctx context.Context, it item) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.owner.held.ctx, cancel)()
	if p.owner.held.ctx.Err() != nil {
		return context.Cause(p.owner.held.ctx)
	}
	err := p.owner.live.mailbox.put(ctx, it)
	if err != nil && p.owner.held.ctx.Err() != nil {
		return context.Cause(p.owner.held.ctx)
	}
	return err
}

// runInStep runs work within a step and waits until the step is committed.
func (p port) runInStep(ctx context.Context, work func()) error {
	return p.putAndWait(ctx, item{work: work})
}

// putAndWait adds an item to the mailbox and waits until its step is committed.
func (p port) putAndWait(ctx context.Context, it item) error {
	done := make(chan error, 1)
	it.done = done
	if err := p.put(ctx, it); err != nil {
		return err
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-p.owner.held.ctx.Done():
		return context.Cause(p.owner.held.ctx)
	}
}

// View implements [tools.Steps].
func (p port) View(ctx context.Context, look func(*desktop.State)) error {
	return p.runInStep(ctx, func() { look(p.owner.w.state) })
}

// Act implements [tools.Steps].
func (p port) Act(ctx context.Context, c tools.Caller, call tools.Call, plan func(*desktop.State) tools.Plan) (providers.ToolResult, error) {
	var r providers.ToolResult
	var over error
	if err := p.putAndWait(ctx, item{origin: string(c.Agent), startsTool: true, work: func() {
		r, over = p.owner.agents.poolForUpdate().Tools.ExecuteToolPlan(c, call, plan)
	}}); err != nil {
		return providers.ToolResult{}, err // the work may still run and write r
	}
	return r, over
}

// Begin implements [tools.Steps].
func (p port) Begin(ctx context.Context, c tools.Caller, call tools.Call) error {
	if call.Writes && p.owner.agents.checkpoints.repo != nil {
		p.awaitTool(ctx, c)
	}
	var over error
	begun := false
	if err := p.putAndWait(ctx, item{origin: string(c.Agent), startsTool: true, work: func() {
		if over = ctx.Err(); over != nil {
			return
		}
		if over = p.owner.agents.poolForUpdate().Tools.BeginToolCall(c, call); over != nil {
			return
		}
		begun = true
		if !call.Repeatable {
			p.owner.agents.openTools[toolUse{c.Agent, call.ID}] = true
		}
	}}); err != nil {
		// No other code ends the call.
		p.cleanUp(func() {
			delete(p.owner.agents.openTools, toolUse{c.Agent, call.ID})
			if begun {
				_ = p.owner.agents.poolForUpdate().Tools.EndToolCall(c, call, providers.ToolResult{Text: "Interrupted before it began.", IsError: true})
			}
		})
		return err
	}
	return over
}

// ReportProgress implements [tools.Steps].
func (p port) ReportProgress(ctx context.Context, c tools.Caller, call tools.Call, text string) error {
	return p.put(ctx, item{origin: string(c.Agent), work: func() { p.owner.agents.poolForUpdate().Tools.ReportToolProgress(c, call, text) }})
}

// End implements [tools.Steps].
func (p port) End(ctx context.Context, c tools.Caller, call tools.Call, r providers.ToolResult) error {
	var over error
	if err := p.putAndWait(ctx, item{origin: string(c.Agent), work: func() {
		delete(p.owner.agents.openTools, toolUse{c.Agent, call.ID})
		over = p.owner.agents.poolForUpdate().Tools.EndToolCall(c, call, r)
	}}); err != nil {
		return err
	}
	return over
}

// Confirm implements [tools.Users].
func (p port) Confirm(ctx context.Context, c tools.Caller, q wire.DialogConfirm, about providers.ToolCall, wait time.Duration) (tools.Verdict, error) {
	if q.ID == "" {
		q.ID = wire.DialogID(tools.QuestionPrefix + strings.ToLower(rand.Text()))
	}
	verdict, err := p.confirm(ctx, c, q, about, wait, func() ruling {
		v, limit, outside := p.owner.agents.poolForUpdate().Questions.DecideApproval(c, about)
		if v == approval.Approve || v == approval.Deny {
			return ruling{verdict: p.owner.commands.questions.recordVerdict(c, contextpool.Inquiry{Dialog: q.ID, Call: about}, v), decided: true}
		}
		return ruling{limit: limit, outside: outside}
	})
	// An agent that is a program does it itself, in the workspace of the session.
	if repo := p.owner.agents.checkpoints.repo; err == nil && verdict.Confirmed && repo != nil && repo.HasFiles(p.owner.w.id) {
		p.awaitTool(ctx, c)
	}
	return verdict, err
}

// OutsideSources implements [tools.Trust].
func (p port) OutsideSources(ctx context.Context, c tools.Caller, scope string) ([]string, error) {
	var sources []string
	if err := p.runInStep(ctx, func() { sources = p.owner.agents.poolForUpdate().Questions.OutsideSources(c, scope) }); err != nil {
		return nil, err // the step may still run and write sources
	}
	return sources, nil
}

// AllowScope implements [tools.Trust].
func (p port) AllowScope(ctx context.Context, c tools.Caller, scope string) error {
	return p.runInStep(ctx, func() { p.owner.agents.poolForUpdate().Questions.AllowScope(c, scope) })
}

// Proceed implements [tools.Users].
func (p port) Proceed(ctx context.Context, c tools.Caller, call providers.ToolCall) (tools.Verdict, error) {
	decide := func() ruling {
		limit, over := p.owner.agents.poolForUpdate().Questions.ExceedsLimit(c)
		return ruling{verdict: tools.Verdict{Confirmed: true, Answered: true}, limit: &limit, decided: !over}
	}
	var r ruling
	if err := p.runInStep(ctx, func() { r = decide() }); err != nil {
		return tools.Verdict{}, err // the step may still run and write r
	}
	if r.decided {
		return r.verdict, nil
	}
	q := wire.DialogConfirm{ID: wire.DialogID(tools.QuestionID(c, call, "limit"))}
	return p.confirm(ctx, c, q, call, limitQuestionTimeout, decide)
}

// ruling is what the auto-approval rules say about a call.
type ruling struct {
	// decided says that the verdict answers the question, so that users are not asked.
	decided bool
	verdict tools.Verdict
	// limit, unless nil, is the limit that users are asked to exceed, and outside are the sources of outside
	// data because of which they are asked.
	limit   *approval.Limit
	outside []string
}

// confirm asks a question, unless decide has the answer. With a limit the question is whether to exceed that.
// With sources of outside data the question says that it is asked because of them.
func (p port) confirm(ctx context.Context, c tools.Caller, q wire.DialogConfirm, about providers.ToolCall, wait time.Duration,
	decide func() ruling,
) (tools.Verdict, error) {
	w := newWait(ctx)
	withdraw := func() {
		if d, ok := p.owner.w.state.Notices().Dialog(q.ID); ok {
			p.owner.commands.questions.closeDialog(d, ending{Reason: wire.ClosedCancelled}, "", "")
		}
	}
	err := p.openQuestion(c, dialogName(q.ID), w, withdraw, func() error {
		// The turn may have asked already, at the previous owner.
		if e, ok := p.owner.commands.questions.keptAnswer(dialogName(q.ID)); ok {
			w.answer <- e.verdict()
			return nil
		}
		if _, open := p.owner.w.state.Notices().Dialog(q.ID); open {
			return nil
		}
		r := decide()
		if r.decided {
			w.answer <- r.verdict
			return nil
		}
		if r.limit != nil {
			q, wait = limitDialog(q, *r.limit), limitQuestionTimeout
		}
		if len(r.outside) > 0 {
			q = outsideDialog(q, r.outside)
		}
		if len(q.Message) > tools.MaxQuestion {
			return tools.ErrQuestionTooLong
		}
		if r := p.owner.w.state.Check(c.Monitor, q); r != nil {
			return errors.New(r.Reason)
		}
		p.owner.w.Emit(wire.ApprovalRequest{
			DialogID: q.ID, Title: q.Title, Message: q.Message, ConfirmText: q.ConfirmText, CancelText: q.CancelText,
			PermissionOptions: q.PermissionOptions, Deadline: wire.Millis(p.owner.w.now.Add(wait).UnixMilli()),
			ToolUseID: about.ID, AgentID: c.Agent, MonitorID: c.Monitor, MessageID: c.Turn,
		})
		p.owner.agents.poolForUpdate().Questions.AskUser(c, contextpool.Inquiry{Dialog: q.ID, Call: about, Limit: r.limit, Outside: r.outside})
		return nil
	})
	if err != nil {
		return tools.Verdict{}, err
	}
	v, err := p.awaitAnswer(dialogName(q.ID), w, withdraw)
	verdict, _ := v.(tools.Verdict)
	return verdict, err
}

// Ask implements [tools.Users].
func (p port) Ask(ctx context.Context, c tools.Caller, q wire.Prompt, _ time.Duration) (wire.UserPromptResponse, error) {
	if q.ID == "" {
		q.ID = wire.PromptID(tools.QuestionPrefix + strings.ToLower(rand.Text()))
	}
	w := newWait(ctx)
	withdraw := func() {
		if open, ok := p.owner.w.state.Notices().Prompt(q.ID); ok {
			p.owner.commands.questions.closePrompt(open, ending{Reason: wire.ClosedCancelled}, "", nil)
		}
	}
	err := p.openQuestion(c, promptName(q.ID), w, withdraw, func() error {
		if e, ok := p.owner.commands.questions.keptAnswer(promptName(q.ID)); ok {
			w.answer <- e.response(q.ID)
			return nil
		}
		if _, open := p.owner.w.state.Notices().Prompt(q.ID); open {
			return nil
		}
		show := wire.PromptShow{Prompt: q}
		if r := p.owner.w.state.Check(c.Monitor, show); r != nil {
			return errors.New(r.Reason)
		}
		p.owner.w.Emit(wire.Actions{Actions: []wire.Action{show}, AgentID: c.Agent, MonitorID: c.Monitor, MessageID: c.Turn})
		p.owner.agents.poolForUpdate().Questions.AskUser(c, contextpool.Inquiry{Prompt: &q})
		if given, ok := p.owner.commands.questions.answerFromQueue(c, q.ID); ok {
			w.answer <- given
		}
		return nil
	})
	if err != nil {
		return wire.UserPromptResponse{}, err
	}
	v, err := p.awaitAnswer(promptName(q.ID), w, withdraw)
	given, _ := v.(wire.UserPromptResponse)
	return given, err
}

// openQuestion runs open within a step to ask a question for a running turn, and registers w for
// the answer. It refuses a question that another call waits for: there is one answer.
func (p port) openQuestion(c tools.Caller, name string, w *answerWait, withdraw func(), open func() error) error {
	var refused error
	waits := &p.owner.agents.answerWaits
	if err := p.runInStep(w.ctx, func() {
		switch {
		case w.ctx.Err() != nil:
			refused = w.ctx.Err()
		case !p.owner.agents.poolForUpdate().View.TurnActive(c):
			refused = errTurnOver
		case waits.isAwaited(name):
			refused = errAlreadyAsked
		default:
			if refused = open(); refused != nil {
				return
			}
			if len(w.answer) == 0 {
				waits.add(name, w)
			}
		}
	}); err != nil {
		p.withdrawQuestion(name, w, withdraw)
		return err
	}
	return refused
}

// awaitAnswer waits for the answer, and withdraws the question when the caller's context ends
// first.
func (p port) awaitAnswer(name string, w *answerWait, withdraw func()) (any, error) {
	select {
	case v := <-w.answer:
		return v, nil
	case <-p.owner.held.ctx.Done():
		return nil, context.Cause(p.owner.held.ctx)
	case <-w.ctx.Done():
	}
	p.withdrawQuestion(name, w, withdraw)
	return nil, w.ctx.Err()
}

// withdrawQuestion stops waiting for an answer, and calls withdraw unless another call waits for
// the same question meanwhile.
func (p port) withdrawQuestion(name string, w *answerWait, withdraw func()) {
	p.cleanUp(func() {
		if p.owner.agents.answerWaits.remove(name, w) && !p.owner.agents.answerWaits.isAwaited(name) {
			withdraw()
		}
	})
}

// cleanUp runs work in a step for a caller whose own context has ended. An error is ignored: after
// the session is lost there is nothing to clean up.
func (p port) cleanUp(work func()) {
	bounded, cancel := context.WithTimeout(p.owner.held.ctx, storeTimeout)
	defer cancel()
	_ = p.runInStep(bounded, work)
}

var (
	// errTurnOver is returned to a turn that has ended meanwhile.
	errTurnOver     = errors.New("the turn is over")
	errAlreadyAsked = errors.New("the question is already open")
)

// Delegate implements [tools.Tasks].
func (p port) Delegate(ctx context.Context, c tools.Caller, t tools.Task) (providers.ToolResult, error) {
	result := make(chan providers.ToolResult, 1)
	if err := p.putAndWait(ctx, item{origin: string(c.Agent), startsTool: true, work: func() {
		if ctx.Err() != nil {
			return
		}
		p.owner.agents.poolForUpdate().Tools.Delegate(c, t, func(r providers.ToolResult) { result <- r })
	}}); err != nil {
		return providers.ToolResult{}, err
	}
	select {
	case r := <-result:
		return r, nil
	case <-ctx.Done():
		return providers.ToolResult{}, ctx.Err()
	case <-p.owner.held.ctx.Done():
		return providers.ToolResult{}, context.Cause(p.owner.held.ctx)
	}
}

// ReloadOptions implements [tools.Reloads].
func (p port) ReloadOptions(ctx context.Context, c tools.Caller) ([]policies.ReloadOption, error) {
	var options []policies.ReloadOption
	if err := p.runInStep(ctx, func() { options = p.owner.agents.poolForUpdate().Tools.ReloadOptions(c) }); err != nil {
		return nil, err
	}
	return options, nil
}

// Reload implements [tools.Reloads].
func (p port) Reload(ctx context.Context, c tools.Caller, call tools.Call, id string) (providers.ToolResult, error) {
	var r providers.ToolResult
	var over error
	if err := p.putAndWait(ctx, item{origin: string(c.Agent), startsTool: true, work: func() { r, over = p.owner.agents.poolForUpdate().Tools.Reload(c, call, id) }}); err != nil {
		return providers.ToolResult{}, err
	}
	return r, over
}

// Submit implements [tools.Mailbox].
func (p port) Submit(ctx context.Context, user string, m wire.Message) error {
	return p.put(ctx, item{cmd: Command{From: Sender{User: user}, Message: m}})
}
