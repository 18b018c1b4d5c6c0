package tools

import (
	"context"
	"encoding/json"
	"time"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// Caller is who uses a tool, and where.
type Caller struct {
	Session wire.SessionID
	User    string
	Monitor wire.MonitorID
	// Agent is the role in this turn, Turn the message that began it.
	Agent wire.AgentID
	Turn  wire.MessageID
	Kind  wire.AgentKind
	// Window is the one a window agent is for.
	Window  wire.WindowID
	Profile string
	// Guest says that somebody else than User has the turn: what belongs to User
	// on all desktops is not for it.
	Guest bool
	// Job is the work for a plan that the turn is, if it is that, and Todo what of
	// the plan it is for.
	Job  string
	Todo wire.TodoID
	// Provider is who thinks.
	Provider string
	// Desktop is the session.
	Desktop Desktop
}

// Call is one use of a tool, as the session is told of it.
type Call struct {
	providers.ToolCall
	// Tool is the registry name, such as window:create.
	Tool string
	// Repeatable says that running it twice is as good as once, so that no
	// intent has to be kept.
	Repeatable bool
}

// Plan is what a tool wants to do to the desktop.
type Plan struct {
	// Actions are done together, or not at all.
	Actions []wire.Action
	Result  providers.ToolResult
}

// Desktop is the session as tools see it. Every method returns after the commit,
// with an error when the turn is over, the session is lost or ctx ends.
type Desktop interface {
	// View looks at the desktop between two steps. look must not keep it.
	View(ctx context.Context, look func(*desktop.State)) error
	// Act runs plan inside a step and does what it says: TOOL_PROGRESS, ACTIONS
	// and the result are one commit. Actions the desktop or the monitor's budget
	// refuse become an error result. A plan must be a pure function.
	Act(ctx context.Context, c Caller, call Call, plan func(*desktop.State) Plan) (providers.ToolResult, error)
	// Begin says that a tool starts, and End what came of it.
	Begin(ctx context.Context, c Caller, call Call) error
	End(ctx context.Context, c Caller, call Call, r providers.ToolResult) error

	// Confirm asks a yes or no question about a call and waits for the first answer,
	// unless the rules of the session answer it.
	Confirm(ctx context.Context, c Caller, q wire.DialogConfirm, about providers.ToolCall, wait time.Duration) (Verdict, error)
	// Ask shows a prompt and waits for the first valid answer.
	Ask(ctx context.Context, c Caller, p wire.Prompt, wait time.Duration) (wire.UserPromptResponse, error)
	// Show does an action that a tab answers with RENDERING_FEEDBACK; it sets the
	// request's id. ok is false when no tab answered in time.
	Show(ctx context.Context, c Caller, action func(wire.RequestID) wire.Action, wait time.Duration) (f wire.RenderingFeedback, ok bool, err error)
	// App asks the app in a window.
	App(ctx context.Context, c Caller, window wire.WindowID, r wire.AppRequest) (wire.AppResponse, error)

	// Delegate runs a task agent and waits for its result. Whoever owns the
	// session then sees to it that the call has one.
	Delegate(ctx context.Context, c Caller, t Task) (providers.ToolResult, error)
	// Progress says how far the todo of a caller is, and Input asks people for a
	// value that it needs, until they have answered or it is known that they do not.
	Progress(ctx context.Context, c Caller, p wire.TodoProgress) error
	Input(ctx context.Context, c Caller, q wire.HITLInputRequest) (json.RawMessage, error)
	// ReloadOptions are what could be done again for this turn, and Reload does
	// one of them again.
	ReloadOptions(ctx context.Context, c Caller) ([]policies.ReloadOption, error)
	Reload(ctx context.Context, c Caller, call Call, id string) (providers.ToolResult, error)
	// Submit brings a message into the session as if a user had sent it; hooks
	// do.
	Submit(ctx context.Context, user string, m wire.Message) error
}

// Verdict is the answer to a yes or no question.
type Verdict struct {
	Confirmed bool
	Remember  wire.RememberChoice
	// Answered is false when nobody did in time.
	Answered bool
	// Rules says that the rules of the session decided.
	Rules bool
	// Text is what somebody said who said no.
	Text string
}

// Task is work for a task agent.
type Task struct {
	Profile   string
	Objective string
	Hint      string
	// Call is the tool call that wants it.
	Call Call
}

// TaskResult is what came of a task.
type TaskResult struct {
	Status  providers.Outcome `json:"status"`
	Summary string            `json:"summary"`
	Actions []TaskAction      `json:"actions"`
	Error   string            `json:"error,omitempty"`
}

// TaskAction is something a task agent did to the desktop.
type TaskAction struct {
	Type     string        `json:"type"`
	WindowID wire.WindowID `json:"windowId,omitempty"`
	Title    string        `json:"title,omitempty"`
}
