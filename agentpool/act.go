package agentpool

import (
	"context"
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
	// answerWithin is how long people have to answer an approval.
	answerWithin = time.Minute
	// shownInput is how much of a call's input they are shown. Nobody can approve
	// what they cannot see, so it is all of it but for what no person would read.
	shownInput = 64 << 10
)

// call uses a tool, after everything that was said before is reported. The
// backend calls it, perhaps several times at once.
func (l *activeRun) call(turn context.Context, call providers.ToolCall) (r providers.ToolResult) {
	if !l.enter() {
		return over()
	}
	defer l.exit()
	defer l.hold(turn)
	ctx, cancel := context.WithCancel(turn)
	defer cancel()
	defer context.AfterFunc(l.work, cancel)()
	said := make(chan struct{})
	select {
	case l.flushes <- said:
	case <-l.over:
		return over()
	case <-ctx.Done():
		return over()
	}
	select {
	case <-said:
	case <-l.over:
		return over()
	}
	err := guarded(func() error {
		r = l.use(call, func() providers.ToolResult { return l.runner.pool.cfg.Tools.Call(ctx, l.caller, call) })
		return nil
	})
	if err != nil {
		l.stop(&stopped{l.failed(err)})
		return providers.ToolResult{Text: "The tool broke.", IsError: true}
	}
	return r
}

// hold keeps the result of a tool back while the run is being stopped, until the
// backend knows. Else it would go on as if just the tool had gone wrong.
func (l *activeRun) hold(turn context.Context) {
	if l.work.Err() == nil {
		return
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-turn.Done():
	case <-l.over:
	case <-late.C:
	}
}

// enter notes that something begins that the end of the run waits for, unless it
// is over.
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

// end says that nothing may begin any more, and returns the messages that no turn
// has taken.
func (l *activeRun) end() []*steer {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	close(l.over)
	if l.busy == 0 {
		close(l.quiet)
	}
	return l.steers
}

// asking is an approval that people are asked for.
type asking struct{ gone context.CancelFunc }

// ask lets the people at the desktop decide whether the backend may do something.
// Nobody's answer is a no. Asking again for what is asked for changes nothing.
func (l *activeRun) ask(e providers.Event) {
	if l.talk == nil {
		if len(l.early) < maxEarly {
			l.early = append(l.early, e)
		}
		return
	}
	if !l.enter() {
		return
	}
	session := l.talk.session
	ctx, gone := context.WithCancel(l.work)
	a := &asking{gone}
	l.mu.Lock()
	known := l.asked[e.Approval] != nil
	tooMany := l.askings[e.Approval] == 0 && len(l.askings) >= maxAskings
	if !known {
		l.asked[e.Approval] = a
		if !tooMany {
			l.askings[e.Approval]++
		}
	}
	id := l.question(e, l.askings[e.Approval])
	l.mu.Unlock()
	if known {
		gone()
		l.exit()
		return
	}
	l.runner.wg.Go(func() {
		defer l.exit()
		defer l.withdraw(e.Approval, a)
		var d providers.Decision
		err := guarded(func() error {
			if tooMany {
				d.Reason = "Too much was asked for in this turn."
				return nil
			}
			v, err := l.caller.Desktop.Confirm(ctx, l.caller, wire.DialogConfirm{
				ID: id, Title: "May the agent do this?", Message: e.Tool.Name + "\n" + clip(string(e.Tool.Input), shownInput),
				PermissionOptions: &wire.PermissionOptions{ToolName: e.Tool.Name},
			}, e.Tool, answerWithin)
			d.Allow = v.Confirmed
			switch {
			case err != nil:
				d.Reason = "Nobody could be asked."
			case !v.Answered:
				d.Reason = "Nobody answered."
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
			l.log.WarnContext(ctx, "nobody could be asked for an approval", "tool", e.Tool.Name, "error", err)
		}
		if err := guarded(func() error { return session.Answer(ctx, e.Approval, d) }); err != nil {
			l.log.WarnContext(ctx, "backend does not take an answer", "tool", e.Tool.Name, "error", err)
		}
	})
}

// question names the nth asking for an approval: the same when a turn that was cut
// off asks again, so that there is one dialog, and an answer that came meanwhile
// is not lost.
func (l *activeRun) question(e providers.Event, n int) wire.DialogID {
	call := providers.ToolCall{ID: e.Approval, Input: e.Tool.Input}
	return wire.DialogID(tools.QuestionID(l.caller, call, e.Tool.Name, strconv.Itoa(n)))
}

// unask ends waiting for the answer to an approval.
func (l *activeRun) unask(approval string) {
	l.early = slices.DeleteFunc(l.early, func(e providers.Event) bool { return e.Approval == approval })
	l.mu.Lock()
	a := l.asked[approval]
	l.mu.Unlock()
	if a != nil {
		l.withdraw(approval, a)
	}
}

// withdraw ends one asking; the same approval may be asked for anew meanwhile.
func (l *activeRun) withdraw(approval string, a *asking) {
	a.gone()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asked[approval] == a {
		delete(l.asked, approval)
	}
}

// clip shortens a text that is shown to people.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return fmt.Sprintf("%s… (%d bytes more)", strings.ToValidUTF8(s[:n], ""), len(s)-n)
}
