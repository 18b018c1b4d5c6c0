package session

import (
	"cmp"
	"context"
	"crypto/rand"
	"strings"

	"github.com/everdesk/everdesk/kernels"
	"github.com/everdesk/everdesk/wire"
)

// notebookOf returns the notebook that a command names, or a rejection.
func (cv *conversation) notebookOf(c *Command, monitor wire.MonitorID, id wire.WindowID) (windowKey, wire.Notebook, reply) {
	if cv.agents == nil {
		return windowKey{}, wire.Notebook{}, refused(wire.CodeSessionInvalidState, "there are no notebooks on this hub")
	}
	at, content, ok := cv.agents.notebooks.find(cmp.Or(monitor, c.From.Monitor, firstMonitor), id)
	if !ok {
		return at, content, refused(wire.CodeSessionInvalidState, "there is no notebook %q", id)
	}
	return at, content, reply{Monitor: at.monitor}
}

// editNotebook changes a cell for a user.
func (cv *conversation) editNotebook(c *Command, m wire.NotebookEditMessage) reply {
	at, _, r := cv.notebookOf(c, m.MonitorID, m.WindowID)
	if r.Verdict == verdictRejected {
		return r
	}
	p := wire.NotebookChanged{
		WindowID: at.window, MonitorID: at.monitor, Op: m.Op, CellID: m.CellID, Kind: m.Kind, Source: m.Source, After: m.After, By: c.From.Connection,
	}
	if no := cv.w.state.CheckNotebook(p); no != nil {
		return refusedBy(no)
	}
	cv.w.Emit(p)
	return r
}

// runCells executes cells for the session's user.
func (cv *conversation) runCells(c *Command, m wire.RunCells) reply {
	if r := cv.refuseGuest(c); r.Verdict == verdictRejected {
		return r
	}
	if m.Code != "" {
		id, r := cv.addCode(c, m)
		if r.Verdict == verdictRejected {
			return r
		}
		m.CellIDs = []wire.CellID{id}
	}
	at, content, r := cv.notebookOf(c, m.MonitorID, m.WindowID)
	if r.Verdict == verdictRejected {
		return r
	}
	cells, err := runnable(content, m.CellIDs)
	if err != nil {
		return refused(wire.CodeSessionInvalidState, "%v", err)
	}
	if err := cv.agents.notebooks.mayRun(at, len(cells)); err != nil {
		return refused(wire.CodeSessionInvalidState, "%v", err)
	}
	if len(cells) > 0 {
		cv.agents.notebooks.enqueue(at, cells, string(messageIDOf(c)))
	}
	return r
}

// addCode adds a cell with code to a notebook, which it opens if there is none.
func (cv *conversation) addCode(c *Command, m wire.RunCells) (wire.CellID, reply) {
	if cv.agents == nil {
		return "", refused(wire.CodeSessionInvalidState, "there are no notebooks on this hub")
	}
	monitor := cmp.Or(m.MonitorID, c.From.Monitor, firstMonitor)
	if err := cv.agents.notebooks.mayRun(windowKey{monitor, m.WindowID}, 1); err != nil { // before a window opens for nothing
		return "", refused(wire.CodeSessionInvalidState, "%v", err)
	}
	at, content, ok := cv.agents.notebooks.find(monitor, m.WindowID)
	if !ok {
		if _, exists := cv.w.state.FindWindow(m.WindowID, monitor); exists {
			return "", refused(wire.CodeSessionInvalidState, "the window %q is no notebook", m.WindowID)
		}
		create := wire.WindowCreate{
			WindowID: m.WindowID, Title: string(m.WindowID), Bounds: wire.Bounds{X: 120, Y: 80, W: 760, H: 560},
			Content: wire.NotebookContent{Data: wire.Notebook{Cells: []wire.Cell{}}},
		}
		if no := cv.w.state.CheckUser(monitor, create); no != nil {
			return "", refusedBy(no)
		}
		cv.desktop.emitActions(c, monitor, create)
		at = windowKey{monitor, m.WindowID}
	}
	p := wire.NotebookChanged{
		WindowID: at.window, MonitorID: at.monitor, Op: wire.NotebookInsert, CellID: wire.CellID("cell-" + strings.ToLower(rand.Text()[:12])),
		Kind: wire.CellCode, Source: m.Code, By: c.From.Connection,
	}
	if last := len(content.Cells) - 1; last >= 0 {
		p.After = content.Cells[last].ID
	}
	if no := cv.w.state.CheckNotebook(p); no != nil {
		return "", refusedBy(no)
	}
	cv.w.Emit(p)
	return p.CellID, reply{}
}

// controlKernel interrupts, restarts or stops a kernel for the session's user.
func (cv *conversation) controlKernel(c *Command, m wire.ControlKernel) reply {
	if r := cv.refuseGuest(c); r.Verdict == verdictRejected {
		return r
	}
	at, _, r := cv.notebookOf(c, m.MonitorID, m.WindowID)
	if r.Verdict != verdictRejected {
		cv.agents.notebooks.control(at, m.Op)
	}
	return r
}

// inputPrefix begins the ids of prompts of code in notebooks.
const inputPrefix = "notebook-input-"

// isCellInput reports whether a prompt is one of code in a notebook. A debugger executes the answer.
func isCellInput(id wire.PromptID) bool { return strings.HasPrefix(string(id), inputPrefix) }

func inputPrompt(in kernels.InputRequest) wire.PromptID {
	return wire.PromptID(inputPrefix + hashText(in.Parent.ID)[:16])
}

// withdrawInput closes the prompt of a run that has ended.
func (nb *notebooks) withdrawInput(run cellRun) {
	if run.Input == nil {
		return
	}
	if open, ok := nb.w.state.Notices().Prompt(inputPrompt(*run.Input)); ok {
		nb.port.owner.commands.questions.closePrompt(open, ending{Reason: wire.ClosedCancelled}, "", nil)
	}
}

// askInput asks the user what code wants to know, and sends the answer to the kernel while the run continues.
func (r *notebookRunner) askInput(ctx context.Context, run cellRun, in kernels.InputRequest) error {
	id, w := inputPrompt(in), newWait(ctx)
	waits := &r.nb.port.owner.agents.answerWaits
	if err := r.step(ctx, run.ID, func(cr *cellRun) {
		cr.Input = &in
		r.nb.store(r.n)
		if _, open := r.nb.w.state.Notices().Prompt(id); !open {
			show := wire.PromptShow{Prompt: wire.Prompt{
				ID: id, Title: "Input for a notebook", Message: cmp.Or(in.Prompt, "The code waits for a text."), InputField: &wire.PromptInput{Type: wire.PromptText},
			}}
			if in.Password {
				show.InputField.Type = wire.PromptPassword
			}
			if r.nb.w.state.Check(r.at.monitor, show) != nil {
				return // there are too many questions; the user can interrupt
			}
			r.nb.w.Emit(wire.Actions{Actions: []wire.Action{show}, MonitorID: r.at.monitor})
		}
		waits.add(promptName(id), w)
	}); err != nil {
		return err
	}
	conn := r.conn
	r.nb.stopped.Go(func() { r.answerInput(ctx, run, in, conn, w) })
	return nil
}

// answerInput waits for the answer to a question of code and sends it to the kernel. A dismissed question
// interrupts the code.
func (r *notebookRunner) answerInput(ctx context.Context, run cellRun, in kernels.InputRequest, conn *kernels.Conn, w *answerWait) {
	var given wire.UserPromptResponse
	select {
	case v := <-w.answer:
		given, _ = v.(wire.UserPromptResponse)
	case <-conn.Done(): // resume asks again
		r.nb.cleanUp(func() { r.nb.port.owner.agents.answerWaits.remove(promptName(inputPrompt(in)), w) })
		return
	case <-ctx.Done():
		r.nb.cleanUp(func() { r.nb.port.owner.agents.answerWaits.remove(promptName(inputPrompt(in)), w) })
		return
	}
	var kernel string
	if r.step(ctx, run.ID, func(*cellRun) { kernel = r.n.Kernel }) != nil {
		return // the run has ended
	}
	var err error
	if given.Dismissed {
		err = r.nb.kernels.Interrupt(ctx, kernel)
	} else {
		err = conn.Input(ctx, in, given.Text)
	}
	if err != nil {
		r.nb.log.WarnContext(ctx, "the answer did not reach the kernel", "window", r.at.window, "err", err)
		return
	}
	// A hub that is killed before this asks again, because it cannot know whether the kernel has the answer.
	_ = r.step(ctx, run.ID, func(cr *cellRun) { // an error means that the run has ended
		if cr.Input != nil && cr.Input.Parent.ID == in.Parent.ID {
			cr.Input = nil
			r.nb.store(r.n)
		}
	})
}
