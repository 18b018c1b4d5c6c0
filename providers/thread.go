package providers

import "encoding/json"

// Thread is a conversation that can be continued.
type Thread struct {
	// ID is the backend's own id of the conversation, if the backend stores it.
	ID string
	// Provider is the provider of the last turn.
	Provider string
	// Entries are the conversation as the hub stores it, oldest first. Every backend without
	// memory of its own can continue from them, whichever backend wrote them.
	Entries []Entry
}

// Entry is one message of a conversation. Its format is the hub's own, so that a session can
// change its provider.
type Entry struct {
	Role Role `json:"role"`
	// Turn is the id of the message that began the turn.
	Turn   string  `json:"turn"`
	Blocks []Block `json:"blocks"`
}

// Role is the author of an entry.
type Role string

// The roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// Block is a part of an entry, of exactly one kind.
type Block struct {
	Kind BlockKind `json:"kind"`
	// Origin identifies the source of the block: the message, for text of a user, and for a
	// tool call whatever its backend recognises it by. It is kept when entries are joined, so
	// that a turn that continues knows which messages are its own and which of its calls were
	// made.
	Origin string `json:"origin,omitempty"`
	// Text belongs to text, thinking and tool results.
	Text string `json:"text,omitempty"`
	// Signature must be sent back to the backend with its thinking. From names that backend; no
	// other backend receives the block.
	Signature string `json:"signature,omitempty"`
	From      string `json:"from,omitempty"`
	// Image belongs to images, Images to tool results.
	Image  *Image  `json:"image,omitempty"`
	Images []Image `json:"images,omitempty"`
	// Call is the id of the tool call. Tool and Input belong to the call itself.
	Call    string          `json:"call,omitempty"`
	Tool    string          `json:"tool,omitempty"`
	Input   json.RawMessage `json:"input,omitempty"`
	IsError bool            `json:"isError,omitempty"`
	// Opaque is data that only the backend From understands.
	Opaque json.RawMessage `json:"opaque,omitempty"`
}

// BlockKind is the kind of a block.
type BlockKind string

// Kinds of blocks.
const (
	BlockText       BlockKind = "text"
	BlockThinking   BlockKind = "thinking"
	BlockImage      BlockKind = "image"
	BlockToolCall   BlockKind = "tool_call"
	BlockToolResult BlockKind = "tool_result"
	BlockOpaque     BlockKind = "opaque"
)
