package tracing

import "strings"

// Names of spans and attributes. The names of gen_ai are those of the semantic conventions for
// generative AI, which are still in development: when they change, change them here. They are used
// through [Tracer.genAI]. None of the attributes holds content.
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

	hubMessage   = "everdesk.message_id"
	hubSession   = "everdesk.session_id"
	hubReplica   = "everdesk.replica"
	hubEpoch     = "everdesk.epoch"
	hubAttempt   = "everdesk.attempt"
	hubAnswer    = "everdesk.answer"
	hubDuplicate = "everdesk.duplicate"
	hubTaken     = "everdesk.taken"
	hubOutcome   = "everdesk.outcome"
	hubEvents    = "everdesk.events"
	hubPosition  = "everdesk.position"
	hubTabs      = "everdesk.tabs"
)

// Prefixes of the names of attributes.
const (
	genPrefix = "gen_ai."
	hubPrefix = "everdesk."
)

// genAI returns the name of an attribute of the semantic conventions for generative AI, or the hub's own
// name for it if the conventions are not wanted.
func (t *Tracer) genAI(name string) string {
	if t.cfg.GenAI {
		return name
	}
	return hubPrefix + strings.TrimPrefix(name, genPrefix)
}
