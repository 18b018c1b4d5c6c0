package contextpool

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/profiles"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// turnStarter begins turns and starts their runs.
type turnStarter struct {
	*services
	budget     *monitorBudget
	turns      *turnSet
	threads    *threadSet
	turnRows   *turnRows
	transcript *transcript
	reloads    *reloads
	groups     *windowGroups
	outside    *outsideData
	tasks      *taskList
	queues     *queues
	calls      *toolCalls
}

// restart runs a turn once more, from the end of its thread.
func (s *turnStarter) restart(t *turn) {
	s.turnRows.dropUnkeptText(t)
	t.Attempt++
	if !s.providers.HasProvider(t.Provider) {
		t.Provider = s.turns.providerFor(t.modelRole())
	}
	t.apply(runRestarted)
	s.turns.store(t)
	s.startRun(t, nil)
}

// maxTruncatedRetries bounds how often a turn is retried with a truncated thread.
const maxTruncatedRetries = 3

// retryTruncated hides the older half of the thread and retries a turn whose input was too long
// for its model. It reports whether it did.
func (s *turnStarter) retryTruncated(t *turn, r agentpool.Ended) bool {
	tooLong := r.Outcome == providers.Failed && r.Failure != nil && r.Failure.Class == providers.ContextLength
	h := s.threads.byAgent[t.Agent]
	if !tooLong || !t.Lasting || t.stopping() || t.Truncations >= maxTruncatedRetries || h == nil || !s.threads.truncate(h) {
		return false
	}
	s.queues.withdrawOffers(t)
	s.turnRows.dropUnkeptText(t)
	t.Truncations++
	t.Attempt++
	t.apply(runRestarted)
	s.turns.store(t)
	s.startRun(t, nil)
	return true
}

// beginEphemeral begins a turn of an ephemeral agent for a message, if a slot and the budget
// allow it now.
func (s *turnStarter) beginEphemeral(w *queuedMessage) bool {
	if !s.budget.allowsTurn(w.Monitor) || len(s.turns.byKey) >= maxTurns {
		return false
	}
	slot := s.runner.TryReserve()
	if slot == nil {
		return false
	}
	s.beginMainTurn(w, wire.TakenEphemeral, slot)
	return true
}

// beginMainTurn starts a turn for a message to a main agent. With TakenEphemeral an ephemeral
// agent answers the message and uses the slot; otherwise slot is nil and the turn waits for one.
func (s *turnStarter) beginMainTurn(w *queuedMessage, how wire.Taken, slot *agentpool.Slot) {
	t := &turn{
		Kind: wire.AgentMain, ID: w.ID, Monitor: w.Monitor, Agent: mainAgent(w.Monitor), Lasting: true,
		Profile: tools.ProfileMain, User: w.User, Guest: w.Guest, Taken: []wire.MessageID{w.ID}, Row: w.Row, QueuedSince: w.Since,
	}
	role := "main-"
	if how == wire.TakenEphemeral {
		t.Kind, t.Lasting, t.Profile, role = wire.AgentEphemeral, false, tools.ProfileAll, "ephemeral-"
	}
	s.register(t, role+string(w.Monitor)+"-"+string(w.ID))
	s.fillPrompt(t, w)
	options := s.reloads.options(t)
	if how == wire.TakenEphemeral {
		t.prompt.setText(policies.Ephemeral(policies.EphemeralPrompt{
			Draw: len(w.Images) > 0, Windows: s.openWindows(t.Monitor), Reload: options, Content: w.Text,
		}))
	} else {
		happened, ops := s.transcript.timeline(w.Monitor).Drain()
		s.step.AddOps(ops...)
		t.prompt.setText(s.transcript.previousConversation(t) + policies.Main(policies.MainPrompt{
			Timeline: happened, Views: s.viewContexts(w.Monitor), Draw: len(w.Images) > 0, Windows: s.openWindows(t.Monitor), Reload: options, Content: w.Text,
		}))
	}
	s.queues.accept(&w.Message, t.Role, how)
	s.transcript.record(t, policies.SpeakerUser, w.Text, w.Row)
	s.launch(t, slot)
}

// register adds a turn to those under way, with a unique number and role, and counts turns of
// main and ephemeral agents against the budget of the monitor.
func (s *turnStarter) register(t *turn, role string) {
	s.turns.about.Turns++
	s.turns.storeState()
	t.Number, t.Attempt, t.State = s.turns.about.Turns, 1, turnAccepted
	if t.prompt.Mode == nil {
		t.prompt.Mode = s.turns.modeOf(t)
	}
	t.prompt.Instructions = s.instructionsOf(t)
	t.Started, t.Provider = wire.Millis(s.step.Now().UnixMilli()), s.turns.providerOf(t)
	s.publishProvider()
	t.Role = wire.AgentID(role)
	for n := 2; slices.ContainsFunc(s.turns.sorted(), func(o *turn) bool { return o.Role == t.Role }); n++ {
		t.Role = wire.AgentID(role + "/" + strconv.Itoa(n))
	}
	if !t.Lasting {
		t.Agent = "once:" + string(t.Role) // differs from the name of every lasting agent
	}
	s.turns.byKey[t.key()] = t
	s.budget.acquire(t)
}

// instructionsOf returns the custom instructions of the session with which a turn begins.
func (s *turnStarter) instructionsOf(t *turn) string {
	if t.Condensing != nil || t.Client != nil {
		return ""
	}
	if parent := s.turns.byKey[t.Parent]; parent != nil {
		return parent.prompt.Instructions
	}
	return s.state.Desktop().Instructions()
}

// publishProvider publishes the provider of main agents if the user's default of it or that of the mode has
// changed.
func (s *turnStarter) publishProvider() {
	if s.providers.DefaultProvider(profiles.RoleMain) == "" && (s.turns.mode == nil || s.turns.mode.Model == "") {
		return
	}
	if p := s.turns.provider(); p != s.state.Desktop().Provider() {
		s.step.Emit(wire.ProviderChanged{Provider: p})
	}
}

// fillPrompt sets the message's content and the open windows in the prompt of a turn.
func (s *turnStarter) fillPrompt(t *turn, w *queuedMessage) {
	t.prompt.Images, t.prompt.Content, t.prompt.Tools, t.Viewer = w.Images, w.Text, w.Tools, w.Viewer
	for _, open := range s.state.Desktop().Windows(t.Monitor) {
		t.prompt.Windows = append(t.prompt.Windows, policies.WindowInfo{
			ID: open.WindowID, Renderer: wire.RendererOf(open.Content),
		})
	}
}

// viewContexts returns the texts of views for the agent of a turn that begins. They are outside data.
func (s *turnStarter) viewContexts(monitor wire.MonitorID) []policies.ViewContext {
	if s.cfg.ViewContexts == nil {
		return nil
	}
	all := s.cfg.ViewContexts(monitor)
	for _, v := range all {
		s.outside.add(monitor, v.Source())
	}
	return all
}

// openWindows describes the open windows of a monitor.
func (s *turnStarter) openWindows(monitor wire.MonitorID) (out []policies.OpenWindow) {
	for _, w := range s.state.Desktop().Windows(monitor) {
		out = append(out, openWindow(w))
	}
	return out
}

// launch stores a prepared turn and starts its run.
func (s *turnStarter) launch(t *turn, slot *agentpool.Slot) {
	if h := s.threads.byAgent[t.Agent]; t.Lasting && h != nil && h.Tried {
		h.Tried = false
		s.threads.store(h)
	}
	s.tasks.turnCreated(t)
	s.turns.store(t)
	s.turns.storePrompt(t)
	s.startRun(t, slot)
}

// startRun starts a run of the turn after the step is committed.
func (s *turnStarter) startRun(t *turn, slot *agentpool.Slot) {
	r := agentpool.Run{
		ID: t.runID(), Agent: t.Agent, Role: t.Role, Kind: t.Kind, Turn: t.ID, Monitor: t.Monitor, Window: t.Window,
		Profile: t.Profile, Mode: t.prompt.Mode, Instructions: t.prompt.Instructions, Provider: t.Provider, Prompt: t.prompt.text(), Images: t.prompt.Images,
		ContextWindow: cmp.Or(s.cfg.Window, s.providers.Caps(t.Provider).Window), Guest: t.Guest, Viewer: t.Viewer, ClientTools: t.prompt.Tools, Lasting: t.Lasting, Slot: slot, Attempt: t.Attempt,
		Waited: time.Duration(int64(t.Started)-int64(cmp.Or(t.QueuedSince, t.Started))) * time.Millisecond,
	}
	continues := t.Attempt > 1 && t.InThread
	switch {
	case t.Condensing != nil:
		s.fillCondenseRun(t, &r)
	case t.isTitling():
		r.System, r.Fork = titleSystem, true
	case t.Client != nil:
		r.Call = &providers.ToolCall{ID: string(t.Client.ID), Name: t.Client.Tool, Input: t.clientInput}
		r.ViewOf = t.Client.Server
	case t.Job != nil:
		s.fillJobRun(t, &r)
	case t.Lasting:
		r.From = s.threads.byAgent[t.Agent].providerThread(continues)
	case t.Kind == wire.AgentTask:
		if parent := s.turns.byKey[t.Parent]; parent != nil {
			r.From, r.Fork = s.threads.byAgent[parent.Agent].forkThread(), true
		}
	case t.Kind == wire.AgentWindow:
		r.From, r.Fork = s.threads.byAgent[t.Beside].forkThread(), true
	}
	if continues {
		r.Continue, r.Prompt, r.Images, r.Done = true, "", nil, t.endedResults()
	}
	s.step.AfterCommit(func() { s.runner.Start(r) })
}

// beginWindowTurn starts a turn for a message to a window.
func (s *turnStarter) beginWindowTurn(w *queuedMessage) {
	t := &turn{
		Kind: wire.AgentWindow, ID: w.ID, Monitor: w.Monitor, Window: w.Window, Agent: w.Agent, Lasting: w.Action == "",
		Profile: tools.ProfileAll, User: w.User, Guest: w.Guest, Taken: []wire.MessageID{w.ID}, Row: w.Row, QueuedSince: w.Since,
	}
	role := "window-" + string(w.Window)
	if !t.Lasting {
		role += "/" + w.Action
	}
	s.register(t, role)
	if !t.Lasting {
		t.Beside = w.Agent
	}
	s.fillPrompt(t, w)
	prompt := policies.WindowPrompt{
		Windows: s.openWindows(t.Monitor), Reload: s.reloads.options(t), This: s.thisWindow(w), Content: w.Text,
	}
	if h := s.threads.byAgent[w.Agent]; !h.hasMessages() && !h.heldBy(t.Provider) {
		prompt.Recent = s.transcript.recentMessages(w.Monitor)
	}
	t.prompt.setText(policies.Window(prompt))
	s.groups.emitAgent(t, wire.AgentAssigned)
	s.queues.accept(&w.Message, t.Role, wire.TakenDirect)
	s.transcript.record(t, policies.SpeakerUser, w.Text, w.Row)
	s.launch(t, nil)
}
