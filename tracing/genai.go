package tracing

// Names of spans and attributes. The names of gen_ai are those of the semantic conventions for
// generative AI, which are still in development: when they change, change them here. None of the
// attributes holds content.
const (
	spanAccept  = "accept"
	spanQueue   = "queue"
	spanAppend  = "append"
	spanDeliver = "deliver"

	genOperation   = "gen_ai.operation.name"
	genProvider    = "gen_ai.provider.name"
	genModel       = "gen_ai.request.model"
	genInput       = "gen_ai.usage.input_tokens"
	genOutput      = "gen_ai.usage.output_tokens"
	genCacheRead   = "gen_ai.usage.cache_read.input_tokens"
	genCacheWrite  = "gen_ai.usage.cache_creation.input_tokens"
	genAgentID     = "gen_ai.agent.id"
	genAgentName   = "gen_ai.agent.name"
	genToolName    = "gen_ai.tool.name"
	genToolCall    = "gen_ai.tool.call.id"
	genFirstChunk  = "gen_ai.response.time_to_first_chunk"
	operationAgent = "invoke_agent"
	operationChat  = "chat"
	operationTool  = "execute_tool"

	errorType = "error.type"

	deskMessage   = "everdesk.message_id"
	deskSession   = "everdesk.session_id"
	deskReplica   = "everdesk.replica"
	deskEpoch     = "everdesk.epoch"
	deskAttempt   = "everdesk.attempt"
	deskAnswer    = "everdesk.answer"
	deskDuplicate = "everdesk.duplicate"
	deskHow       = "everdesk.taken"
	deskOutcome   = "everdesk.outcome"
	deskEvents    = "everdesk.events"
	deskPosition  = "everdesk.position"
	deskTabs      = "everdesk.tabs"
)
