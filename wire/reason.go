package wire

import "slices"

// ReasonCode names a reason that the hub also gives as English text, so that clients can
// translate it. The set is open: a client shows the text of a reason whose code it does not
// know, or that has none.
type ReasonCode string

// The codes of reasons; [Reasons] explains them.
const (
	ReasonHistoryChanged    ReasonCode = "history_changed"
	ReasonRowNotFound       ReasonCode = "row_not_found"
	ReasonRowTooOld         ReasonCode = "row_too_old"
	ReasonAgentBusy         ReasonCode = "agent_busy"
	ReasonTooShort          ReasonCode = "too_short"
	ReasonCondensedRecently ReasonCode = "condensed_recently"
	ReasonNoSummary         ReasonCode = "no_summary"
	ReasonNoProvider        ReasonCode = "no_provider"
	ReasonOverBudget        ReasonCode = "over_budget"
	ReasonTooManyAgents     ReasonCode = "too_many_agents"
	ReasonContentChanged    ReasonCode = "content_changed"
)

// ReasonInfo describes the code of a reason.
type ReasonInfo struct {
	Code    ReasonCode
	Meaning string
}

// reasons is the only table of reasons: the TypeScript constants and the reference page are
// generated from it.
var reasons = [...]ReasonInfo{
	{ReasonHistoryChanged, "the conversation was rewound since the client read it"},
	{ReasonRowNotFound, "the conversation does not have the row, or no longer"},
	{ReasonRowTooOld, "the row was written before rows had ids, so the conversation cannot be rewound to it"},
	{ReasonAgentBusy, "the agent has a running turn"},
	{ReasonTooShort, "the conversation is too short to be summarised"},
	{ReasonCondensedRecently, "fewer than two messages follow the last summary"},
	{ReasonNoSummary, "the model returned an empty summary"},
	{ReasonNoProvider, "the session's provider is not available"},
	{ReasonOverBudget, "the monitor has used up its budget"},
	{ReasonTooManyAgents, "the session has as many running turns as it may have"},
	{ReasonContentChanged, "the content of the window changed before the edit arrived"},
}

// Reasons returns the table of the codes of reasons.
func Reasons() []ReasonInfo { return slices.Clone(reasons[:]) }
