package wire

import (
	"encoding/json"
	"fmt"
	"regexp"
)

// ClientTool is a tool that the program which sends a message executes itself, such as a page that
// can show a form. The agent that answers the message may call it: the call is a prompt with
// clientTool, and the answer to the prompt is the result.
type ClientTool struct {
	// Name has 1 to 48 letters, digits, underscores and hyphens. The agent knows the tool as client_NAME.
	Name        string `json:"name" wire:"max=48"`
	Description string `json:"description,omitempty" wire:"max=4000"`
	// Parameters is the JSON schema of the input, which is an object; absent means any object.
	Parameters json.RawMessage `json:"parameters,omitempty"`
}

// ClientToolCall is the call of a [ClientTool].
type ClientToolCall struct {
	Name string `json:"name"`
	// ToolUseID is the id of the call in TOOL_PROGRESS.
	ToolUseID string          `json:"toolUseId"`
	Input     json.RawMessage `json:"input"`
}

const (
	// maxClientTools bounds the tools of a message, maxClientToolBytes their size together.
	maxClientTools     = 32
	maxClientToolBytes = 32 << 10
)

var clientToolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,48}$`)

// CheckClientTools returns what is wrong with the tools of a message, or nil.
func CheckClientTools(all []ClientTool) error {
	if len(all) > maxClientTools {
		return fmt.Errorf("there are %d tools, at most %d are allowed", len(all), maxClientTools)
	}
	seen := map[string]bool{}
	size := 0
	for i, t := range all {
		size += len(t.Name) + len(t.Description) + len(t.Parameters)
		switch {
		case !clientToolName.MatchString(t.Name):
			return fmt.Errorf("the name of tool %d is not 1 to 48 letters, digits, underscores and hyphens", i)
		case seen[t.Name]:
			return fmt.Errorf("two tools are called %s", t.Name)
		case !isSchema(t.Parameters):
			return fmt.Errorf("the parameters of %s are not the JSON schema of an object", t.Name)
		}
		seen[t.Name] = true
	}
	if size > maxClientToolBytes {
		return fmt.Errorf("the tools have %d bytes, at most %d are allowed", size, maxClientToolBytes)
	}
	return nil
}

// isSchema reports whether a text is absent or may be the schema of an object. Model servers check the rest.
func isSchema(text json.RawMessage) bool {
	if len(text) == 0 || string(text) == "null" {
		return true
	}
	var schema struct {
		Type *string `json:"type"`
	}
	return json.Unmarshal(text, &schema) == nil && (schema.Type == nil || *schema.Type == "object")
}
