package rooipc

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/pictures"
	"github.com/everdesk/everdesk/rooipc"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// firstMonitor is the monitor of all messages.
const firstMonitor wire.MonitorID = "monitor-0"

// execute executes a command.
func (c *client) execute(ctx context.Context, command rooipc.Command) error {
	if command.ClientID != c.id {
		return problem.Query("clientId", "It is not the id in the Ack of this connection.")
	}
	if wait := c.server.Limits.Request(ctx, c.server.User); wait > 0 {
		return problem.New(wire.CodeRateLimited, "Too many commands; try again in "+wait.Round(1e6).String()+".")
	}
	bounded, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	switch command.Name {
	case rooipc.StartNewTask:
		return c.startTask(ctx, command)
	case rooipc.ResumeTask:
		return c.resumeTask(ctx, command)
	case rooipc.CloseTask:
		if c.task == nil {
			return errNoTask()
		}
		c.leaveTask()
		return nil
	case rooipc.GetCommands:
		c.write(rooipc.Commands())
		return nil
	case rooipc.GetModes:
		return c.sendModes(bounded)
	case rooipc.GetModels:
		return c.sendModels(bounded)
	}
	if c.task == nil {
		return errNoTask()
	}
	switch command.Name {
	case rooipc.CancelTask:
		return c.deliver(bounded, wire.Interrupt{Scope: wire.ScopeMonitor, MonitorID: firstMonitor})
	case rooipc.DeleteQueuedMessage:
		return c.deleteQueued(bounded, wire.MessageID(command.Target))
	default:
		return c.sendMessage(bounded, command)
	}
}

func errNoTask() error {
	return problem.New(wire.CodeSessionInvalidState, "There is no task; start or resume one first.")
}

// startTask creates a session and sends it the first message.
func (c *client) startTask(ctx context.Context, command rooipc.Command) error {
	bounded, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	message, err := c.userMessage(bounded, command)
	if err != nil {
		return err
	}
	info, err := c.server.Sessions.Create(bounded, session.NewSession{User: c.server.User})
	if err != nil {
		return err
	}
	err = c.follow(ctx, info.ID, func(t *rooipc.Task, _ *session.Handle, _ wire.Position) error {
		t.EmitCreated()
		return nil
	})
	if err != nil {
		return err
	}
	if command.Approval != nil {
		if err := c.deliver(bounded, wire.SetAutoApproval{Rules: command.Approval}); err != nil {
			return err
		}
	}
	if command.Mode != "" {
		// A task with a mode that the hub does not have starts in the usual mode, and the client gets an error.
		c.report(command.Name, c.setMode(bounded, command.Mode))
	}
	return c.send(bounded, message)
}

func (c *client) setMode(ctx context.Context, mode string) error {
	if c.server.Modes != nil {
		set, err := c.server.Modes.Read(ctx, c.server.User)
		if err != nil {
			return err
		}
		if _, ok := set.Find(mode); !ok {
			return problem.Query("data.configuration.mode", "There is no mode "+mode+"; the task has the default.")
		}
	}
	return c.deliver(ctx, wire.SetMode{Mode: mode})
}

// resumeTask follows a session that exists, from a position on or from its present state.
func (c *client) resumeTask(ctx context.Context, command rooipc.Command) error {
	target, _, _ := strings.Cut(command.Target, "/") // a subtask is part of its session
	granted, info, err := c.server.Sessions.Access(ctx, c.server.who(), wire.SessionID(target))
	if err != nil {
		return err
	}
	if granted < access.Operator {
		return problem.New(wire.CodeForbidden, "")
	}
	return c.resume(ctx, info.ID, command.After)
}

// resumeKept goes on with the task that the process had when it disconnected, if it still exists.
func (c *client) resumeKept(ctx context.Context, t keptTask) error {
	_, info, err := c.server.Sessions.Access(ctx, c.server.who(), t.session)
	if access.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return c.resume(ctx, info.ID, t.at)
}

// resume follows a session.
func (c *client) resume(ctx context.Context, id wire.SessionID, after wire.Position) error {
	return c.follow(ctx, id, func(t *rooipc.Task, h *session.Handle, at wire.Position) error {
		if !after.IsZero() {
			events, err := missed(ctx, h, after, at)
			if err == nil {
				_, err = c.addOlderRows(ctx, id, t, events)
			}
			if err == nil {
				t.Replay(events)
			}
			if !isLost(err) {
				return err
			}
		}
		_, err := c.addOlderRows(ctx, id, t, nil)
		if err == nil {
			t.EmitState()
		}
		return err
	})
}

// rowPage is the number of older rows that are read at once.
const rowPage = 200

// addOlderRows adds the older rows that a task needs, and returns them.
func (c *client) addOlderRows(ctx context.Context, id wire.SessionID, t *rooipc.Task, missed []wire.Event) (all []rooipc.RowPage, err error) {
	for {
		monitor, before, ok := t.NeedsRows(missed)
		if !ok {
			return all, nil
		}
		page, err := c.server.Hub.Rows(ctx, id, session.RowQuery{Monitor: monitor, Limit: rowPage, Before: before})
		if err != nil {
			return nil, err
		}
		p := rooipc.RowPage{Monitor: monitor, Rows: page.Rows, More: page.More}
		t.AddRows(p)
		all = append(all, p)
	}
}

// sendMessage sends a message to the task. If its agent waits for words, the message is the answer; it
// never is a permission.
func (c *client) sendMessage(ctx context.Context, command rooipc.Command) error {
	if strings.TrimSpace(command.Text) == "" && len(command.Images) == 0 {
		return nil // as Roo does
	}
	message, err := c.userMessage(ctx, command)
	if err != nil {
		return err
	}
	state, err := c.task.handle.Snapshot(ctx, nil)
	if err != nil {
		return err
	}
	if len(state.Dialogs) > 0 { // the answer may come when a person has decided, and CancelTask must not wait for that
		return c.deliver(ctx, message)
	}
	return c.send(ctx, message)
}

func (c *client) send(ctx context.Context, m wire.UserMessage) error {
	answer, err := c.task.handle.DeliverAndWait(ctx, c.command(m))
	if err != nil {
		return err
	}
	if refused, ok := answer.Data.(wire.MessageRejected); ok {
		return problem.New(refused.Code, refused.Reason)
	}
	return nil
}

// userMessage returns the message of a command, checked as those of other clients are.
func (c *client) userMessage(ctx context.Context, command rooipc.Command) (wire.UserMessage, error) {
	m := wire.UserMessage{
		MessageID: cmp.Or(command.MessageID, wire.MessageID("roo-"+rand.Text())), MonitorID: firstMonitor, Content: command.Text,
	}
	for _, image := range command.Images {
		m.Interactions = append(m.Interactions, wire.UserInteraction{Type: wire.DidDraw, ImageData: image})
	}
	if int64(len(m.Content)) > c.server.FrameBytes {
		return m, problem.New(wire.CodeMessageTooLarge, "")
	}
	frame, err := json.Marshal(map[string]any{"type": "USER_MESSAGE", "message_id": m.MessageID, "data": m})
	if err != nil {
		return m, err
	}
	if len(m.Interactions) > 0 {
		release, err := c.server.Pictures.Acquire(ctx)
		if err != nil {
			return m, err
		}
		defer release()
		frame, err = c.server.Pictures.Fit(ctx, frame)
		if bad, ok := errors.AsType[*pictures.Error](err); ok {
			return m, problem.Query("data.images", bad.Reason)
		}
		if err != nil {
			return m, err
		}
	}
	checked, err := wire.Native{}.DecodeMessage(frame)
	if err != nil {
		return m, err
	}
	m, ok := checked.Data.(wire.UserMessage)
	if !ok {
		return m, problem.Status(http.StatusBadRequest, "The message cannot be read.")
	}
	return m, nil
}

// deleteQueued removes a message that waits.
func (c *client) deleteQueued(ctx context.Context, target wire.MessageID) error {
	if err := target.Validate(); err != nil {
		return problem.Query("data", err.Error())
	}
	state, err := c.task.handle.Snapshot(ctx, nil)
	if err != nil {
		return err
	}
	for _, queue := range state.Queues {
		if slices.ContainsFunc(queue.Value, func(q wire.QueuedMessage) bool { return q.ID == target }) {
			return c.deliver(ctx, wire.DeleteQueuedMessage{Target: target, MonitorID: queue.Key})
		}
	}
	return problem.Query("data", "No message with this id waits.")
}

func (c *client) deliver(ctx context.Context, data wire.ClientPayload) error {
	return c.task.handle.Deliver(ctx, c.command(data))
}

// command returns a message of the client as a command.
func (c *client) command(data wire.ClientPayload) session.Command {
	id := c.task.handle.Session()
	m := wire.Message{Session: id, ID: wire.MessageOf(data), Data: data}
	c.server.Trace(id, &m, "")
	return session.Command{From: session.Sender{Connection: c.connection, User: c.server.User}, Message: m}
}

func (c *client) sendModes(ctx context.Context) error {
	var all []rooipc.Mode
	if c.server.Modes != nil {
		set, err := c.server.Modes.Read(ctx, c.server.User)
		if err != nil {
			return err
		}
		for _, m := range set.Modes {
			all = append(all, rooipc.Mode{Slug: m.ID, Name: m.Name})
		}
	}
	c.write(rooipc.Modes(all))
	return nil
}

func (c *client) sendModels(ctx context.Context) error {
	all := map[string]rooipc.Model{}
	if c.server.Profiles != nil {
		set, err := c.server.Profiles.Read(ctx, c.server.User)
		if err != nil {
			return err
		}
		for _, p := range set.Profiles {
			all[p.ID] = rooipc.Model{ContextWindow: p.ContextWindow}
		}
	}
	c.write(rooipc.Models(all))
	return nil
}
