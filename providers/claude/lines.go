package claude

import (
	"encoding/json"
	"strings"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/agent"
)

// line is a line of the program, of any type.
type line struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
	// Parent is set for the work of a sub-agent.
	Parent *string `json:"parent_tool_use_id"`

	// Control requests and responses in both directions.
	RequestID string          `json:"request_id"`
	Request   *controlRequest `json:"request"`
	Response  *controlReply   `json:"response"`

	// Messages.
	Message *message     `json:"message"`
	Event   *streamEvent `json:"event"`

	// command_lifecycle.
	Command string `json:"command_uuid"`
	State   string `json:"state"`

	// system/api_retry.
	RetryDelay  float64 `json:"retry_delay_ms"`
	ErrorStatus int     `json:"error_status"`
	Error       any     `json:"error"`

	// result.
	IsError   bool     `json:"is_error"`
	Result    string   `json:"result"`
	Reason    string   `json:"terminal_reason"`
	StopWhy   string   `json:"stop_reason"`
	APIStatus int      `json:"api_error_status"`
	Errors    []string `json:"errors"`
	Usage     *usage   `json:"usage"`
	TotalUSD  float64  `json:"total_cost_usd"`
	Messages  []string `json:"user_message_uuids"`
}

// controlRequest is a request of the program.
type controlRequest struct {
	Subtype   string          `json:"subtype"`
	ToolName  string          `json:"tool_name"`
	ToolUseID string          `json:"tool_use_id"`
	Input     json.RawMessage `json:"input"`
	Server    string          `json:"server_name"`
	Message   json.RawMessage `json:"message"`
}

// controlReply is the answer to a request of the hub.
type controlReply struct {
	Subtype   string          `json:"subtype"`
	RequestID string          `json:"request_id"`
	Error     string          `json:"error"`
	Response  json.RawMessage `json:"response"`
}

type message struct {
	Model   string  `json:"model"`
	Content content `json:"content"`
}

// content is a list of blocks, or a text.
type content []contentBlock

type contentBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   content         `json:"content"`
	IsError   bool            `json:"is_error"`
}

// UnmarshalJSON accepts both forms of content.
func (c *content) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*c = content{{Type: "text", Text: text}}
		return nil
	}
	var blocks []contentBlock
	if err := json.Unmarshal(data, &blocks); err != nil {
		return err
	}
	*c = blocks
	return nil
}

// text returns the texts of the blocks.
func (c content) text() string {
	var parts []string
	for _, b := range c {
		if b.Text != "" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}

type streamEvent struct {
	Type  string `json:"type"`
	Delta struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		Thinking string `json:"thinking"`
	} `json:"delta"`
}

type usage struct {
	Input      int `json:"input_tokens"`
	Output     int `json:"output_tokens"`
	CacheRead  int `json:"cache_read_input_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"`
}

// synthetic is the model of messages that the program writes itself, such as errors.
const synthetic = "<synthetic>"

// outcome returns how a part of a turn ended, by its result line. Only is_error shows whether it
// failed.
func (l *line) outcome() (providers.Outcome, error) {
	switch {
	case l.IsError && strings.HasPrefix(l.Reason, "aborted_"):
		return providers.Interrupted, nil
	case l.IsError:
		text := l.Result
		if text == "" {
			text = strings.Join(append(l.Errors, l.Subtype), ": ")
		}
		return providers.Failed, agent.HTTPFailure(l.APIStatus, text)
	case l.StopWhy == "refusal":
		f := agent.HTTPFailure(0, "the model refuses to answer")
		f.Class = providers.Refused
		return providers.Failed, f
	default:
		return providers.Completed, nil
	}
}
