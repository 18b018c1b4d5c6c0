package providers

import "encoding/json"

// Thread is a conversation that can go on.
type Thread struct {
	// ID is the backend's own name of it, if the backend keeps it.
	ID string
	// Provider is who held it so far.
	Provider string
	// Entries are the conversation as the hub keeps it, oldest first. Every
	// backend that has no memory of its own can go on with them, whoever wrote
	// them.
	Entries []Entry
}

// Entry is one message of a conversation. Its form is the hub's own, so that a
// session can change its provider and go on.
type Entry struct {
	Role Role `json:"role"`
	// Turn is the id of the message that began the turn.
	Turn   string  `json:"turn"`
	Blocks []Block `json:"blocks"`
}

// Role is who says something.
type Role string

// Who says something.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// Block is a part of an entry; exactly one of its kinds.
type Block struct {
	Kind BlockKind `json:"kind"`
	// Origin identifies where the block comes from: the message, for what a user
	// said, and for a tool call whatever its backend recognises it by. It stays when
	// entries are joined, so that a turn that goes on knows which messages are its
	// own and which of their calls were made.
	Origin string `json:"origin,omitempty"`
	// Text is of text, thinking and tool results.
	Text string `json:"text,omitempty"`
	// Signature is what a backend wants back with its thinking, and From which
	// backend that is: no other gets to see the block.
	Signature string `json:"signature,omitempty"`
	From      string `json:"from,omitempty"`
	// Image is of images, Images of tool results.
	Image  *Image  `json:"image,omitempty"`
	Images []Image `json:"images,omitempty"`
	// Call names the tool call, Tool and Input are of the call itself.
	Call    string          `json:"call,omitempty"`
	Tool    string          `json:"tool,omitempty"`
	Input   json.RawMessage `json:"input,omitempty"`
	IsError bool            `json:"isError,omitempty"`
	// Opaque is what only From understands.
	Opaque json.RawMessage `json:"opaque,omitempty"`
}

// BlockKind is what a block is.
type BlockKind string

// What blocks are.
const (
	BlockText       BlockKind = "text"
	BlockThinking   BlockKind = "thinking"
	BlockImage      BlockKind = "image"
	BlockToolCall   BlockKind = "tool_call"
	BlockToolResult BlockKind = "tool_result"
	BlockOpaque     BlockKind = "opaque"
)
