package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/modes"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// Caller identifies the agent that calls a tool, and its context.
type Caller struct {
	Session wire.SessionID
	User    string
	Monitor wire.MonitorID
	// Agent is the agent's role in this turn, and Turn the id of the message that began the
	// turn.
	Agent wire.AgentID
	Turn  wire.MessageID
	Kind  wire.AgentKind
	// Window is the window of a window agent.
	Window  wire.WindowID
	Profile string
	// ViewOf is the MCP server whose view asks whether it may make the call; empty for agents.
	ViewOf string
	// Mode is the mode in which the turn works, which limits its tools; nil for none. Instructions are
	// those of the session.
	Mode         *modes.Mode
	Instructions string
	// Guest says that someone other than User began the turn: data of User beyond this desktop
	// is not accessible.
	Guest bool
	// Job is the name of the plan's job that the turn executes, if any, and Todo the todo that
	// the job works on.
	Job  string
	Todo wire.TodoID
	// Provider is the backend of the turn.
	Provider string
	// WorksInFiles says that the agent is a program which works in the folder of the session's files.
	WorksInFiles bool
	// ContextWindow is the size of the model's context window in tokens; 0 means unknown.
	ContextWindow int
	// Viewer describes the screen of the person who began the turn; nil if unknown.
	Viewer *wire.Viewer
	// ClientTools are those that the program which sent the turn's message executes.
	ClientTools []wire.ClientTool
	Desktop     Desktop
}

// Call is one tool call as reported to the session.
type Call struct {
	providers.ToolCall
	// Tool is the registry name, such as window:create.
	Tool string
	// Title is the title that an MCP server gives its tool; empty for other tools.
	Title string
	// Repeatable says that the call may run twice, so that its begin need not be stored.
	Repeatable bool
	// Writes says that the call may change files of the session, or files of other programs.
	Writes bool
}

// Plan is the effect of a tool on the desktop.
type Plan struct {
	// Actions are applied together, or not at all.
	Actions []wire.Action
	Result  providers.ToolResult
}

// Desktop is the session as tools use it, by role. One type may fill several roles. Unless its
// comment says otherwise, a method returns after its step is committed, with an error if the turn
// is over, the owner has lost the session or ctx ends.
type Desktop struct {
	Steps   Steps
	Users   Users
	Tabs    Tabs
	Tasks   Tasks
	Reloads Reloads
	Mailbox Mailbox
	// Notebooks, unless nil, changes notebooks and executes their cells.
	Notebooks Notebooks
	// Trust, unless nil, knows what agents have read; nil means that they have read nothing from outside.
	Trust Trust
}

// Steps reads and changes the desktop within steps of the session.
type Steps interface {
	// View calls look with the desktop state within a step. look must not retain the state.
	View(ctx context.Context, look func(*desktop.State)) error
	// Act runs plan inside a step and applies it: TOOL_PROGRESS, ACTIONS and the result are one
	// commit. If the desktop or the monitor's budget refuses the actions, none is applied and
	// the result is an error. plan must be a pure function.
	Act(ctx context.Context, c Caller, call Call, plan func(*desktop.State) Plan) (providers.ToolResult, error)
	// Begin publishes the start of a tool call, and stores it unless the call is repeatable.
	Begin(ctx context.Context, c Caller, call Call) error
	// ReportProgress publishes how far a tool call that has begun is. It does not wait for the commit.
	ReportProgress(ctx context.Context, c Caller, call Call, text string) error
	// End publishes and stores the result of a tool call that has begun.
	End(ctx context.Context, c Caller, call Call, r providers.ToolResult) error
}

// MaxQuestion bounds the message of a question to users in bytes. It is large, because users cannot
// approve what they cannot see.
const MaxQuestion = 64 << 10

// ErrQuestionTooLong is returned for a question that is longer than [MaxQuestion].
var ErrQuestionTooLong = fmt.Errorf("the call has more than %d KiB, which users cannot check; split it into smaller calls", MaxQuestion>>10)

// Users asks users and waits for their answers.
type Users interface {
	// Confirm asks a yes-or-no question about a call and waits for the first answer, unless the
	// auto-approval rules answer it. If a limit of the rules is exceeded, it asks about that
	// instead, with its own deadline. Users are not asked a question that is too long for them: the error
	// is [ErrQuestionTooLong].
	Confirm(ctx context.Context, c Caller, q wire.DialogConfirm, about providers.ToolCall, wait time.Duration) (Verdict, error)
	// Proceed asks whether agents may go on if a limit of the auto-approval rules is exceeded, and
	// waits for the answer. Otherwise the verdict is confirmed at once.
	Proceed(ctx context.Context, c Caller, call providers.ToolCall) (Verdict, error)
	// Ask shows a prompt and waits for the first valid answer or for the deadline of the
	// prompt. The session sets the deadline and ignores wait.
	Ask(ctx context.Context, c Caller, p wire.Prompt, wait time.Duration) (wire.UserPromptResponse, error)
	// Input asks for a value that the caller's todo needs and waits for it. It returns an error
	// if the question expires or is withdrawn.
	Input(ctx context.Context, c Caller, q wire.HITLInputRequest) (json.RawMessage, error)
}

// Tabs asks open tabs, not users, and waits for their answers.
type Tabs interface {
	// Show applies an action that a tab answers with RENDERING_FEEDBACK, and generates the
	// request id for it. ok is false if no tab answered in time.
	Show(ctx context.Context, c Caller, action func(wire.RequestID) wire.Action, wait time.Duration) (f wire.RenderingFeedback, ok bool, err error)
	// App sends a request to the app in a window and waits for its response.
	App(ctx context.Context, c Caller, window wire.WindowID, r wire.AppRequest) (wire.AppResponse, error)
}

// Tasks delegates work and reports about it.
type Tasks interface {
	// Delegate starts a task agent and waits for its result. The call gets a result even if the
	// session changes its owner.
	Delegate(ctx context.Context, c Caller, t Task) (providers.ToolResult, error)
	// Progress reports the progress of the caller's todo.
	Progress(ctx context.Context, c Caller, p wire.TodoProgress) error
}

// Reloads is the reload cache of the session.
type Reloads interface {
	// ReloadOptions returns the entries that match the caller's turn.
	ReloadOptions(ctx context.Context, c Caller) ([]policies.ReloadOption, error)
	// Reload repeats the actions of an entry, all or none.
	Reload(ctx context.Context, c Caller, call Call, id string) (providers.ToolResult, error)
}

// Trust knows which data from outside the hub agents have read, as reported in [providers.ToolResult].
type Trust interface {
	// OutsideSources returns the sources of outside data in the caller's conversation. It returns none if
	// the owner of the session lets agents act without asking after they have read such data, or if a user
	// has confirmed calls of the scope in this turn.
	OutsideSources(ctx context.Context, c Caller, scope string) ([]string, error)
	// AllowScope records that a user has confirmed calls of the scope for the rest of the turn.
	AllowScope(ctx context.Context, c Caller, scope string) error
}

// Mailbox accepts messages to the session.
type Mailbox interface {
	// Submit puts a message into the session's mailbox as if the user had sent it, and does not
	// wait for its commit. Hooks and toasts of tools use it.
	Submit(ctx context.Context, user string, m wire.Message) error
}

// Verdict is the answer to a yes-or-no question.
type Verdict struct {
	Confirmed bool
	Remember  wire.RememberChoice
	// Answered is false if there was no answer in time.
	Answered bool
	// Rules says that the auto-approval rules decided.
	Rules bool
	// Text is the user's reason for a denial.
	Text string
}

// Task is the work of a task agent.
type Task struct {
	Profile   string
	Objective string
	Hint      string
	// Call is the tool call that delegates the task.
	Call Call
}

// TaskResult is the result of a task.
type TaskResult struct {
	Status  providers.Outcome `json:"status"`
	Summary string            `json:"summary"`
	Actions []TaskAction      `json:"actions"`
	Error   string            `json:"error,omitempty"`
}

// TaskAction is an action of a task agent.
type TaskAction struct {
	Type     string        `json:"type"`
	WindowID wire.WindowID `json:"windowId,omitempty"`
	Title    string        `json:"title,omitempty"`
}
