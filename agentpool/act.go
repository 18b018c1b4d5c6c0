package agentpool

import (
	"context"
	"strings"
	"time"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

const (
	// answerWithin is how long people have to answer an approval.
	answerWithin = time.Minute
	// shownInput is how much of a call's input they are shown.
	shownInput = 500
)

// call uses a tool, after everything that was said before is reported. The
// backend calls it, perhaps several times at once.
func (l *life) call(ctx context.Context, call providers.ToolCall) (r providers.ToolResult) {
	if !l.enter() {
		return over()
	}
	defer l.exit()
	ctx, cancel := context.WithCancel(ctx)
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
		r = l.crew.staff.cfg.Hands.Call(ctx, l.caller, call)
		return nil
	})
	if err != nil {
		l.stop(&stopped{l.failed(err)})
		return providers.ToolResult{Text: "The tool broke.", IsError: true}
	}
	return r
}

// enter notes that something begins that the end of the run waits for, unless it
// is over.
func (l *life) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return false
	}
	l.busy++
	return true
}

func (l *life) exit() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy--; l.ended && l.busy == 0 {
		close(l.quiet)
	}
}

// end says that nothing may begin any more, and returns the messages that no turn
// has taken.
func (l *life) end() []*steer {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	close(l.over)
	if l.busy == 0 {
		close(l.quiet)
	}
	return l.steers
}

// ask lets the people at the desktop decide whether the backend may do something.
// Nobody's answer is a no.
func (l *life) ask(e providers.Event) {
	if l.talk == nil || !l.enter() {
		return
	}
	session := l.talk.session
	ctx, gone := context.WithCancel(l.work)
	l.mu.Lock()
	l.asked[e.Approval] = gone
	l.mu.Unlock()
	l.crew.wg.Go(func() {
		defer l.exit()
		defer l.withdraw(e.Approval)
		var d providers.Decision
		err := guarded(func() error {
			v, err := l.caller.Desktop.Confirm(ctx, l.caller, wire.DialogConfirm{
				Title: "May the agent do this?", Message: e.Tool.Name + "\n" + clip(string(e.Tool.Input), shownInput),
			}, answerWithin)
			d.Allow = v.Confirmed
			switch {
			case err != nil:
				d.Reason = "Nobody could be asked."
			case !v.Answered:
				d.Reason = "Nobody answered."
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

// withdraw ends waiting for the answer to an approval.
func (l *life) withdraw(approval string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if gone := l.asked[approval]; gone != nil {
		gone()
		delete(l.asked, approval)
	}
}

// clip shortens a text that is shown to people.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
