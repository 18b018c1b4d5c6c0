package session

import (
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/pictures"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// conversation executes the messages to agents and the commands about their conversations.
type conversation struct {
	w         *stepWriter
	agents    *agents
	questions *questions
	replies   *replies
	plans     *plans
	desktop   *desktopCommands
}

// doUserMessage gives the user's text to the main agent of a monitor, or to the question that it
// answers.
func (cv *conversation) doUserMessage(c *Command, m wire.UserMessage) reply {
	monitor := cmp.Or(m.MonitorID, c.From.Monitor, firstMonitor)
	if r := cv.desktop.ensureMonitor(monitor); r.Verdict == verdictRejected {
		r.Public, r.Monitor = true, firstMonitor
		return r
	}
	if m.Mode == wire.ModePlan {
		return cv.plans.doPlan(c, m, monitor)
	}
	if isBlank(m.Content) && len(m.Interactions) == 0 {
		return blankReply("content", monitor)
	}
	message, refused := cv.messageOf(c, m)
	if refused.Verdict == verdictRejected {
		return refused
	}
	if p, given, ok := cv.questions.promptAnsweredBy(message); ok {
		return cv.replies.submitToAgent(message, func() {
			cv.agents.poolForUpdate().Messages.AnswerByMessage(message, cmp.Or(p.Title, p.Message))
			cv.questions.closePrompt(p, ending{Reason: wire.ClosedAnswered, By: c.From.Connection, Answer: digest(given)}, c.Message.ID, &given)
		})
	}
	return cv.replies.submitToAgent(message, func() { cv.agents.poolForUpdate().Messages.HandleUserMessage(message) })
}

func isBlank(text string) bool { return strings.TrimSpace(text) == "" }

// blankReply is the reply to a message whose text, in the named field, is blank.
func blankReply(field string, monitor wire.MonitorID) reply {
	return reply{
		Verdict: verdictRejected, Code: wire.CodeInvalidMessage, Reason: field + " has no text", Field: field, Monitor: monitor, Public: true,
	}
}

// messageOf converts a message of a user for the pool. The reply is a rejection if an image cannot
// be read.
func (cv *conversation) messageOf(c *Command, m wire.UserMessage) (contextpool.Message, reply) {
	message := contextpool.Message{
		ID: messageIDOf(c), By: c.From.Connection, User: c.From.User, Guest: c.isGuestOf(cv.w.user),
		Monitor: cmp.Or(m.MonitorID, c.From.Monitor, firstMonitor), Text: m.Content, Viewer: m.Viewer, Tools: m.Tools,
	}
	if err := wire.CheckClientTools(m.Tools); err != nil {
		return message, reply{
			Verdict: verdictRejected, Code: wire.CodeInvalidMessage, Reason: err.Error(), Field: "tools", Monitor: message.Monitor, Public: true,
		}
	}
	for _, i := range m.Interactions {
		if i.ImageData == "" {
			continue
		}
		image, err := readImage(i.ImageData)
		if err != nil {
			return message, reply{
				Verdict: verdictRejected, Code: wire.CodeInvalidMessage, Reason: err.Error(), Monitor: message.Monitor, Public: true,
			}
		}
		message.Images = append(message.Images, image)
	}
	return message, reply{}
}

// readImage decodes an image from a data: URL. The media type is that of the data, because model servers
// refuse another one.
func readImage(url string) (providers.Image, error) {
	head, data, ok := strings.Cut(url, ",")
	kind, encoded := strings.CutSuffix(strings.TrimPrefix(head, "data:"), ";base64")
	if !ok || !encoded || !strings.HasPrefix(kind, "image/") {
		return providers.Image{}, errors.New("an image must be a data: URL with base64 data")
	}
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return providers.Image{}, fmt.Errorf("decode the base64 data of an image: %w", err)
	}
	if kind, err = pictures.Check(raw); err != nil {
		return providers.Image{}, err //nolint:wrapcheck // it is for users
	}
	return providers.Image{MediaType: kind, Data: raw}, nil
}

// doWindowMessage gives a text to the agent of a window.
func (cv *conversation) doWindowMessage(c *Command, m wire.WindowMessage) reply {
	message, refused := cv.windowMessage(c, m.MonitorID, m.WindowID)
	if refused.Verdict == verdictRejected {
		return refused
	}
	if message.Text, message.Viewer = m.Content, m.Viewer; isBlank(m.Content) {
		return blankReply("content", message.Monitor)
	}
	return cv.replies.submitToAgent(message, func() { cv.agents.poolForUpdate().Messages.HandleWindowMessage(message) })
}

// doComponentAction gives a click on a component to the agent of its window.
func (cv *conversation) doComponentAction(c *Command, m wire.ComponentAction) reply {
	message, refused := cv.windowMessage(c, m.MonitorID, m.WindowID)
	if refused.Verdict == verdictRejected {
		return refused
	}
	message.Text, message.Viewer = fmt.Sprintf("%s (%s)", m.Action, cmp.Or(m.WindowTitle, string(m.WindowID))), m.Viewer
	return cv.replies.submitToAgent(message, func() { cv.agents.poolForUpdate().Messages.HandleComponentAction(message, m) })
}

// windowMessage returns a message, without text, to the agent of a window, on the monitor of the
// window. The reply is a rejection if there is neither the window nor the monitor: such a message has
// no row, because a monitor that does not exist has no archive for it.
func (cv *conversation) windowMessage(c *Command, named wire.MonitorID, window wire.WindowID) (contextpool.Message, reply) {
	monitor := cmp.Or(named, c.From.Monitor, firstMonitor)
	find := cv.w.state.Window
	if named == "" {
		find = func(prefer wire.MonitorID, id wire.WindowID) (wire.WindowState, bool) {
			return cv.w.state.FindWindow(id, prefer)
		}
	}
	if w, ok := find(monitor, window); ok {
		monitor = w.MonitorID
	} else if !cv.w.state.HasMonitor(monitor) {
		r := refused(wire.CodeSessionInvalidState, "there is no window %q", window)
		r.Public, r.Monitor = true, firstMonitor
		return contextpool.Message{}, r
	}
	return contextpool.Message{
		ID: messageIDOf(c), By: c.From.Connection, User: c.From.User, Guest: c.isGuestOf(cv.w.user), Monitor: monitor, Window: window,
	}, reply{}
}

// messageIDOf returns the id of a message to an agent. A message without an id gets a random one,
// because its turn is named after it.
func messageIDOf(c *Command) wire.MessageID {
	if c.Message.ID != "" {
		return c.Message.ID
	}
	return unnamedMessage + wire.MessageID("-"+strings.ToLower(rand.Text()))
}

// isGuestOf reports whether a command comes from another user than the session's. Guests have no
// access to what the user shares between desktops, such as memory.
func (c *Command) isGuestOf(user string) bool { return c.From.User != user }

// doInterrupt stops agents.
func (cv *conversation) doInterrupt(c *Command, m wire.Interrupt) reply {
	scope := cmp.Or(m.Scope, wire.ScopeSession)
	monitor := cmp.Or(m.MonitorID, c.From.Monitor, firstMonitor)
	switch {
	case scope == wire.ScopeAgent && m.AgentID == "":
		return refused(wire.CodeInvalidMessage, "agentId is required to interrupt an agent")
	case (scope == wire.ScopeMonitor || scope == wire.ScopeSender) && !cv.w.state.HasMonitor(monitor):
		return refused(wire.CodeSessionInvalidState, "there is no monitor %s", monitor)
	}
	what := contextpool.Scope{Kind: scope, Monitor: monitor, Agent: m.AgentID, User: c.From.User}
	if m.Queues == wire.QueuesFirst && cv.agents != nil && cv.agents.poolForUpdate().Messages.WithdrawAll(what) {
		return reply{}
	}
	if now, planned := cv.agents.activePlan(); planned {
		switch {
		case scope == wire.ScopeAgent && m.AgentID == now.Role:
			return cv.plans.cancelPlan(c)
		case scope == wire.ScopeSession, scope == wire.ScopeMonitor && monitor == now.Monitor,
			scope == wire.ScopeSender && monitor == now.Monitor && c.From.User == now.User:
			cv.agents.plan.Interrupted(c.From.Connection)
		}
	}
	found := cv.agents != nil && cv.agents.poolForUpdate().Interrupt(what, m.Queues == wire.QueuesDrop)
	if !found && scope == wire.ScopeAgent {
		return refused(wire.CodeSessionInvalidState, "no such agent in this session: %s", m.AgentID)
	}
	return reply{}
}

// doCondense has a conversation condensed.
func (cv *conversation) doCondense(c *Command, m wire.Condense) reply {
	monitor := cmp.Or(m.MonitorID, c.From.Monitor, firstMonitor)
	if cv.agents == nil {
		return refused(wire.CodeSessionInvalidState, "there is no conversation to condense")
	}
	at := cv.w.nextPosition()
	if err := cv.agents.poolForUpdate().Condense(monitor); err != nil {
		return refusedBy(&desktop.Refusal{Code: wire.CodeSessionInvalidState, Reason: err.Error(), ReasonCode: history.ReasonCode(err)})
	}
	r := reply{Verdict: verdictEmitted, Monitor: monitor, At: at}
	cv.replies.emitReply(c, r, c.Message.ID != "") // no other event names the message
	return r
}

// doToastAction executes the button of a toast: it dismisses the toast and records that the cached
// reload of its event failed.
func (dc *desktopCommands) doToastAction(c *Command, m wire.ToastAction) {
	if t, ok := dc.w.state.Notices().Toast(m.ToastID); ok {
		dc.emitActions(c, t.MonitorID, wire.ToastDismiss{ID: m.ToastID})
	}
	if dc.agents != nil {
		dc.agents.poolForUpdate().Tools.ReloadFailed(m.EventID)
	}
}

// windowClosed removes the app of a window that a user or a program closed, and ends the window's
// agent.
func (dc *desktopCommands) windowClosed(at windowKey) {
	dc.agents.removeApp(at)
	if dc.agents != nil {
		dc.agents.poolForUpdate().WindowClosed(at.monitor, at.window)
	}
}
