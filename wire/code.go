package wire

import (
	"net/http"
	"slices"
	"strconv"
)

// Code is the number of an error. The first digit is the area: 1 connection,
// 2 authentication, 3 session, 4 execution, 5 human in the loop.
type Code int

// The error codes; [Codes] explains them.
const (
	CodeConnectionFailed    Code = 1001
	CodeConnectionTimeout   Code = 1002
	CodeInvalidMessage      Code = 1003
	CodeRateLimited         Code = 1004
	CodeMessageTooLarge     Code = 1005
	CodeAuthRequired        Code = 2001
	CodeAuthFailed          Code = 2002
	CodeTokenExpired        Code = 2003
	CodeForbidden           Code = 2004
	CodeIssuerUnavailable   Code = 2005
	CodeSessionNotFound     Code = 3001
	CodeSessionExpired      Code = 3002
	CodeSessionInvalidState Code = 3003
	CodeQueueFull           Code = 3004
	CodeMonitorLimit        Code = 3005
	CodeAgentLimit          Code = 3006
	CodeStoreUnavailable    Code = 3007
	CodeHistoryChanged      Code = 3008
	CodeExecutionFailed     Code = 4001
	CodeTodoFailed          Code = 4002
	CodeToolTimeout         Code = 4003
	CodeBudgetExceeded      Code = 4004
	CodeProviderUnavailable Code = 4005
	CodeHITLTimeout         Code = 5001
	CodeHITLInvalidResponse Code = 5002
	CodeHITLRequestExpired  Code = 5003
)

// SuggestedAction is what a client can do about an error.
type SuggestedAction string

// The suggested actions.
const (
	ActionRetry         SuggestedAction = "retry"          // the same thing again
	ActionWait          SuggestedAction = "wait"           // the same thing again, later
	ActionReconnect     SuggestedAction = "reconnect"      // a new connection
	ActionFixMessage    SuggestedAction = "fix_message"    // never again as it was
	ActionAuthenticate  SuggestedAction = "authenticate"   // other credentials
	ActionRefreshToken  SuggestedAction = "refresh_token"  // the same user, a new token
	ActionCreateSession SuggestedAction = "create_session" // this session will not come back
	ActionFreeSomething SuggestedAction = "free_something" // close a monitor or an agent first
	ActionRetryOrSkip   SuggestedAction = "retry_or_skip"  // the user decides
)

func (SuggestedAction) values() []string {
	return list(ActionRetry, ActionWait, ActionReconnect, ActionFixMessage, ActionAuthenticate,
		ActionRefreshToken, ActionCreateSession, ActionFreeSomething, ActionRetryOrSkip)
}

// CodeInfo describes an error code.
type CodeInfo struct {
	Code Code
	Name string
	// Message is the default text for users.
	Message string
	// Status is the HTTP status of the problem document.
	Status int
	// Recoverable means that the client can continue in the same session.
	Recoverable bool
	// Action is what the client can do, or empty.
	Action SuggestedAction
	// Close is the code a connection is closed with when the error ends it, or 0 when it
	// never does.
	Close CloseCode
}

// codes is the only table of errors: error events, problem documents, the TypeScript
// constants and the reference page are generated from it.
var codes = [...]CodeInfo{
	{CodeConnectionFailed, "WS_CONNECTION_FAILED", "The connection could not be kept up.", http.StatusServiceUnavailable, true, ActionReconnect, CloseInternal},
	{CodeConnectionTimeout, "WS_CONNECTION_TIMEOUT", "The other side did not answer in time.", http.StatusRequestTimeout, true, ActionReconnect, CloseTooSlow},
	{CodeInvalidMessage, "WS_INVALID_MESSAGE", "The message could not be understood.", http.StatusBadRequest, true, ActionFixMessage, CloseBadMessages},
	{CodeRateLimited, "WS_RATE_LIMITED", "Too many messages.", http.StatusTooManyRequests, true, ActionWait, CloseRateLimited},
	{CodeMessageTooLarge, "WS_MESSAGE_TOO_LARGE", "The message is too large.", http.StatusRequestEntityTooLarge, true, ActionFixMessage, CloseTooBig},
	{CodeAuthRequired, "WS_AUTH_REQUIRED", "Sign in first.", http.StatusUnauthorized, true, ActionAuthenticate, CloseUnauthorized},
	{CodeAuthFailed, "WS_AUTH_FAILED", "The credentials were not accepted.", http.StatusUnauthorized, false, ActionAuthenticate, CloseUnauthorized},
	{CodeTokenExpired, "WS_TOKEN_EXPIRED", "The token has expired.", http.StatusUnauthorized, true, ActionRefreshToken, CloseUnauthorized},
	{CodeForbidden, "WS_FORBIDDEN", "That is not allowed.", http.StatusForbidden, false, "", CloseForbidden},
	{CodeIssuerUnavailable, "WS_ISSUER_UNAVAILABLE", "The issuer of tokens cannot be asked now.", http.StatusServiceUnavailable, true, ActionWait, 0},
	{CodeSessionNotFound, "WS_SESSION_NOT_FOUND", "There is no such session.", http.StatusNotFound, false, ActionCreateSession, CloseNotFound},
	{CodeSessionExpired, "WS_SESSION_EXPIRED", "The session has expired.", http.StatusGone, false, ActionCreateSession, CloseExpired},
	{CodeSessionInvalidState, "WS_SESSION_INVALID_STATE", "The session cannot do that now.", http.StatusConflict, true, "", 0},
	{CodeQueueFull, "WS_QUEUE_FULL", "Too many messages are waiting.", http.StatusTooManyRequests, true, ActionWait, 0},
	{CodeMonitorLimit, "WS_MONITOR_LIMIT", "The session has as many monitors as it may have.", http.StatusConflict, true, ActionFreeSomething, 0},
	{CodeAgentLimit, "WS_AGENT_LIMIT", "All agents are busy.", http.StatusServiceUnavailable, true, ActionWait, 0},
	{CodeStoreUnavailable, "WS_STORE_UNAVAILABLE", "The hub cannot reach its store.", http.StatusServiceUnavailable, true, ActionWait, 0},
	{CodeHistoryChanged, "WS_HISTORY_CHANGED", "The conversation has changed.", http.StatusConflict, true, "", 0},
	{CodeExecutionFailed, "WS_EXECUTION_FAILED", "Something went wrong on our side.", http.StatusInternalServerError, true, ActionRetry, 0},
	{CodeTodoFailed, "WS_TODO_FAILED", "A step of the plan failed.", http.StatusInternalServerError, true, ActionRetryOrSkip, 0},
	{CodeToolTimeout, "WS_TOOL_TIMEOUT", "A tool did not answer in time.", http.StatusGatewayTimeout, true, ActionRetry, 0},
	{CodeBudgetExceeded, "WS_BUDGET_EXCEEDED", "The monitor has used up its budget.", http.StatusTooManyRequests, true, ActionWait, 0},
	{CodeProviderUnavailable, "WS_PROVIDER_UNAVAILABLE", "No AI provider is available.", http.StatusServiceUnavailable, true, ActionWait, 0},
	{CodeHITLTimeout, "WS_HITL_TIMEOUT", "There was no answer in time.", http.StatusRequestTimeout, true, ActionRetryOrSkip, 0},
	{CodeHITLInvalidResponse, "WS_HITL_INVALID_RESPONSE", "The answer does not fit the question.", http.StatusUnprocessableEntity, true, ActionFixMessage, 0},
	{CodeHITLRequestExpired, "WS_HITL_REQUEST_EXPIRED", "The question is no longer open.", http.StatusGone, true, "", 0},
}

// Codes returns the table of error codes.
func Codes() []CodeInfo { return slices.Clone(codes[:]) }

// Info describes the code. For an unknown code it returns the description of
// [CodeExecutionFailed] with the number of the code.
func (c Code) Info() CodeInfo {
	fallback := CodeInfo{}
	for _, info := range codes {
		switch info.Code {
		case c:
			return info
		case CodeExecutionFailed:
			fallback = info
		}
	}
	fallback.Code = c
	return fallback
}

// String returns the name of the code, or WS_ERROR_ and its number if it is unknown.
func (c Code) String() string {
	for _, info := range codes {
		if info.Code == c {
			return info.Name
		}
	}
	return "WS_ERROR_" + strconv.Itoa(int(c))
}

// Notice returns the error event for the code. An empty message means the default of the
// table.
func (c Code) Notice(message string) ErrorNotice {
	info := c.Info()
	if message == "" {
		message = info.Message
	}
	return ErrorNotice{
		Code: c, Name: c.String(), Message: message,
		Recoverable: info.Recoverable, SuggestedAction: info.Action,
	}
}

// Problem returns the problem document for the code. An empty detail means the default
// message of the table.
func (c Code) Problem(detail string) Problem {
	info := c.Info()
	if detail == "" {
		detail = info.Message
	}
	return Problem{
		Type: "about:blank", Title: http.StatusText(info.Status), Status: info.Status, Detail: detail,
		Code: c, Name: c.String(), Recoverable: info.Recoverable, SuggestedAction: info.Action,
	}
}

// Problem is a problem document (RFC 9457), the form of errors in REST answers.
type Problem struct {
	// Type is always about:blank: Title says what Status means, Code says more.
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	// Detail is for users and is not stable.
	Detail          string          `json:"detail,omitempty"`
	Code            Code            `json:"code"`
	Name            string          `json:"name"`
	Recoverable     bool            `json:"recoverable"`
	SuggestedAction SuggestedAction `json:"suggested_action,omitempty"`
}
