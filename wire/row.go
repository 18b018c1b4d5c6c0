package wire

import (
	"encoding/json"
	"slices"
)

// RowID identifies a row. It increases with every row of a session and is never reused, not
// even after a rewind.
type RowID uint64

// UIRow is one row of a conversation as users see it. Clients identify it by its ts;
// neither that nor the id ever changes.
type UIRow struct {
	TS Millis `json:"ts"`
	// ID is absent in rows written before ids existed.
	ID   RowID   `json:"id,omitempty"`
	Type RowType `json:"type"`
	// Ask is set in rows of type ask, Say in rows of type say.
	Ask    Ask      `json:"ask,omitempty"`
	Say    Say      `json:"say,omitempty"`
	Text   string   `json:"text,omitempty"`
	Images []string `json:"images,omitempty"`
	// Partial is true while the row is streaming, false in the final version of a streamed
	// row, and absent in a row written in one piece.
	Partial   *bool  `json:"partial,omitempty"`
	Reasoning string `json:"reasoning,omitempty"`
	// ReasonCode is set in a row that says why something failed, if the reason is one of the
	// [Reasons].
	ReasonCode ReasonCode `json:"reasonCode,omitempty"`
	// Thread is the model history that the row belongs to, if that is persistent;
	// ConversationHistoryIndex is its newest message when the row was created.
	Thread                   string             `json:"thread,omitempty"`
	ConversationHistoryIndex *int               `json:"conversationHistoryIndex,omitempty"`
	Checkpoint               json.RawMessage    `json:"checkpoint,omitempty"`
	ProgressStatus           *ProgressStatus    `json:"progressStatus,omitempty"`
	ContextCondense          *ContextCondense   `json:"contextCondense,omitempty"`
	ContextTruncation        *ContextTruncation `json:"contextTruncation,omitempty"`
	IsProtected              bool               `json:"isProtected,omitempty"`
	APIProtocol              APIProtocol        `json:"apiProtocol,omitempty"`
	IsAnswered               bool               `json:"isAnswered,omitempty"`
	MonitorID                MonitorID          `json:"monitorId,omitempty"`
	AgentID                  AgentID            `json:"agentId,omitempty"`
	MessageID                MessageID          `json:"messageId,omitempty"`
	// WindowID is the window that the user wrote to.
	WindowID WindowID `json:"windowId,omitempty"`
}

// ProgressStatus is a short note on a row in progress.
type ProgressStatus struct {
	Icon string `json:"icon,omitempty"`
	Text string `json:"text,omitempty"`
}

// ContextCondense describes how the model's history was condensed.
type ContextCondense struct {
	Cost              float64 `json:"cost"`
	PrevContextTokens int     `json:"prevContextTokens"`
	NewContextTokens  int     `json:"newContextTokens"`
	Summary           string  `json:"summary"`
	CondenseID        string  `json:"condenseId,omitempty"`
}

// ContextTruncation describes how the model's history was truncated.
type ContextTruncation struct {
	TruncationID      string `json:"truncationId"`
	MessagesRemoved   int    `json:"messagesRemoved"`
	PrevContextTokens int    `json:"prevContextTokens"`
	NewContextTokens  int    `json:"newContextTokens"`
}

// RowType says whether a row asks or says something.
type RowType string

// The types of rows.
const (
	RowAsk RowType = "ask"
	RowSay RowType = "say"
)

func (RowType) values() []string { return list(RowAsk, RowSay) }

// APIProtocol is the kind of model API a row came from.
type APIProtocol string

// The kinds of model APIs.
const (
	ProtocolOpenAI    APIProtocol = "openai"
	ProtocolAnthropic APIProtocol = "anthropic"
)

func (APIProtocol) values() []string { return list(ProtocolOpenAI, ProtocolAnthropic) }

// Ask is the kind of an ask row.
type Ask string

// The kinds of ask rows.
const (
	AskFollowup                  Ask = "followup"
	AskCommand                   Ask = "command"
	AskCommandOutput             Ask = "command_output"
	AskCompletionResult          Ask = "completion_result"
	AskTool                      Ask = "tool"
	AskAPIReqFailed              Ask = "api_req_failed"
	AskResumeTask                Ask = "resume_task"
	AskResumeCompletedTask       Ask = "resume_completed_task"
	AskMistakeLimitReached       Ask = "mistake_limit_reached"
	AskUseMCPServer              Ask = "use_mcp_server"
	AskAutoApprovalMaxReqReached Ask = "auto_approval_max_req_reached"
	AskBrowserActionLaunch       Ask = "browser_action_launch" // retired: read, never written
)

func (Ask) values() []string {
	return list(AskFollowup, AskCommand, AskCommandOutput, AskCompletionResult, AskTool, AskAPIReqFailed,
		AskResumeTask, AskResumeCompletedTask, AskMistakeLimitReached, AskUseMCPServer,
		AskAutoApprovalMaxReqReached, AskBrowserActionLaunch)
}

// Retired reports whether the value is only found in old data.
func (a Ask) Retired() bool { return a == AskBrowserActionLaunch }

// AskClass is the effect of an open ask on its task.
type AskClass string

// The classes of asks. Every ask is in exactly one.
const (
	AskIdle        AskClass = "idle"         // the task is idle
	AskResumable   AskClass = "resumable"    // the task can continue where it stopped
	AskInteractive AskClass = "interactive"  // the task waits for an answer
	AskNonBlocking AskClass = "non_blocking" // the task continues meanwhile
)

// Class returns the class of the ask.
func (a Ask) Class() AskClass {
	switch a {
	case AskCompletionResult, AskAPIReqFailed, AskResumeCompletedTask, AskMistakeLimitReached,
		AskAutoApprovalMaxReqReached:
		return AskIdle
	case AskResumeTask:
		return AskResumable
	case AskCommandOutput:
		return AskNonBlocking
	default:
		return AskInteractive
	}
}

// Asks returns all asks of a class, retired ones included.
func (c AskClass) Asks() []Ask {
	var asks []Ask
	for _, name := range Ask("").values() {
		if a := Ask(name); a.Class() == c {
			asks = append(asks, a)
		}
	}
	return asks
}

// Say is the kind of a say row.
type Say string

// The kinds of say rows.
const (
	SayError                   Say = "error"
	SayAPIReqStarted           Say = "api_req_started"
	SayAPIReqFinished          Say = "api_req_finished"
	SayAPIReqRetried           Say = "api_req_retried"
	SayAPIReqRetryDelayed      Say = "api_req_retry_delayed"
	SayAPIReqRateLimitWait     Say = "api_req_rate_limit_wait"
	SayAPIReqDeleted           Say = "api_req_deleted"
	SayText                    Say = "text"
	SayImage                   Say = "image"
	SayReasoning               Say = "reasoning"
	SayCompletionResult        Say = "completion_result"
	SayUserFeedback            Say = "user_feedback"
	SayUserFeedbackDiff        Say = "user_feedback_diff"
	SayCommandOutput           Say = "command_output"
	SayShellIntegrationWarning Say = "shell_integration_warning"
	SayMCPServerRequestStarted Say = "mcp_server_request_started"
	SayMCPServerResponse       Say = "mcp_server_response"
	SaySubtaskResult           Say = "subtask_result"
	SayCheckpointSaved         Say = "checkpoint_saved"
	SayRooignoreError          Say = "rooignore_error"
	SayDiffError               Say = "diff_error"
	SayCondenseContext         Say = "condense_context"
	SayCondenseContextError    Say = "condense_context_error"
	SaySlidingWindowTruncation Say = "sliding_window_truncation"
	SayCodebaseSearchResult    Say = "codebase_search_result"
	SayUserEditTodos           Say = "user_edit_todos"
	SayTooManyToolsWarning     Say = "too_many_tools_warning"
	SayTool                    Say = "tool"
	SayBrowserAction           Say = "browser_action"         // retired: read, never written
	SayBrowserActionResult     Say = "browser_action_result"  // retired: read, never written
	SayBrowserSessionStatus    Say = "browser_session_status" // retired: read, never written
)

func (Say) values() []string {
	return list(SayError, SayAPIReqStarted, SayAPIReqFinished, SayAPIReqRetried, SayAPIReqRetryDelayed,
		SayAPIReqRateLimitWait, SayAPIReqDeleted, SayText, SayImage, SayReasoning, SayCompletionResult,
		SayUserFeedback, SayUserFeedbackDiff, SayCommandOutput, SayShellIntegrationWarning,
		SayMCPServerRequestStarted, SayMCPServerResponse, SaySubtaskResult, SayCheckpointSaved,
		SayRooignoreError, SayDiffError, SayCondenseContext, SayCondenseContextError,
		SaySlidingWindowTruncation, SayCodebaseSearchResult, SayUserEditTodos, SayTooManyToolsWarning,
		SayTool, SayBrowserAction, SayBrowserActionResult, SayBrowserSessionStatus)
}

// Retired reports whether the value is only found in old data.
func (s Say) Retired() bool {
	return slices.Contains([]Say{SayBrowserAction, SayBrowserActionResult, SayBrowserSessionStatus}, s)
}
